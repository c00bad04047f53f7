"""The tools themselves: what irace and SMAC3 write today is read as they mean it."""

import logging
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from imports import load, statuses, write

from truecost.campaigns.validate import validate
from truecost.importers import scenario_from_log
from truecost.runs import Status

pytestmark = pytest.mark.slow

PARAMETERS = """x "--x " r (0,1)
kind "--kind=" c (a,"b c",d)
n "--n " i (1,100) | kind %in% c("a", "d")
tiny "--tiny " r,log (0.0001, 1)
"""
DEFAULT = "x kind n tiny\n0.9 d 50 0.01\n"
ODD = (
    'x.1 "" r (-1,1)\nab "" c (NA, "NULL", "1e5", "é", "TRUE")\nk "" o (low, mid, high)\n'
    'big "" i,log (1, 1000000)\n'
)
STRINGS = ["--size 5 --kind x", "--size 6 --name 'two words'", '--size 7 --q "a b"', "--size 8"]
FRESH = ["--size 15 --kind x", "--size 16 --name 'two words'", '--size 17 --q "a b"', "--size 18"]
CAP = ("capping = 1", "boundMax = 5", "testType = 't-test'")
SCENARIO = """
trainInstancesFile = "train.txt"
trainInstancesDir = ""
parameterFile = "parameters.txt"
configurationsFile = "default.txt"
maxExperiments = 200
seed = 7
"""
# Answers within R, and writes down what it was asked and what it answered.
ANSWERING = """
targetRunner <- function(experiment, scenario) {
    cost <- (experiment$configuration[[1]] - 0.3)^2 + experiment$seed %% 100 / 1000
    bound <- if (is.null(experiment$bound)) NA else experiment$bound
    COST
    words <- c(experiment$id.configuration, experiment$instance,
               format(experiment$seed, digits = 15), format(bound, digits = 15),
               format(cost, digits = 17))
    cat(paste0(words, collapse = "\\037"), "\\n", sep = "", file = "calls.txt", append = TRUE)
    list(cost = cost, time = if (is.na(bound)) NULL else min(cost, bound))
}
"""
BOUNDED = "cost <- min(20 * cost, bound)"
# What the runner does to its cost, lines of the scenario, and the parameters.
RECORDED = {
    "odd names": ("", (), ODD),
    "rejected": ("if (isTRUE(experiment$configuration$n > 60)) cost <- Inf", (), PARAMETERS),
    "capping": (BOUNDED, (*CAP, "boundPar = 10"), PARAMETERS),
    "not elitist": ("", ("elitist = 0", "maxExperiments = 250"), PARAMETERS),
}
# Writes down where it was started and with which arguments, and prints a cost between 0 and 2.
RUNNER = """#!/bin/bash
line=$(printf '%s\\037' "$PWD" "$@")
printf '%s\\n' "$line" >> "$(dirname "$0")/calls.txt"  # at once: others write, too
awk -v seed="$3" -v words="$*" 'BEGIN {
    count = split(words, word, " "); size = 1
    for (i = 1; i <= count; i++) {
        if (word[i] == "--x") x = word[i + 1]
        if (word[i] == "--size") size = word[i + 1]
    }
    cost = (x - 0.3) ^ 2 + size / 100 + (seed % 100) / 1000
    ANSWER
}'
"""
# irace itself, on the fresh instances, with the winner and the default.
TESTING = """
library(irace)
load("irace.Rdata")
scenario <- iraceResults$scenario
folder <- scenario$trainInstancesDir
scenario$testInstances <- irace:::readInstances(instancesDir = folder, instancesFile = "fresh.txt")
names(scenario$testInstances) <- paste0(seq_along(scenario$testInstances), "t")
all <- iraceResults$allConfigurations
winner <- iraceResults$iterationElites[length(iraceResults$iterationElites)]
irace:::testConfigurations(all[all$.ID. %in% c(1, winner), ], scenario, iraceResults$parameters)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that programs started from here share with us."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def irace(folder: Path, script: str) -> None:
    """Run R in a folder."""
    assert shutil.which("Rscript"), "install r-cran-irace"
    words = ["Rscript", "--vanilla", "-e", f"library(irace); {script}"]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]


@pytest.mark.parametrize("name", RECORDED)
def test_every_cell_is_what_the_runner_answered(name: str, folder: Path) -> None:
    """A cell would have another cost than the runner printed, or stand at another instance or
    seed; a run that was stopped at a cap would pass for a solved one.
    """
    cost, lines, parameters = RECORDED[name]
    default = DEFAULT if parameters is PARAMETERS else 'x.1 ab k big\n0.5 "é" mid 1000\n'
    write(folder / "parameters.txt", parameters)
    write(folder / "default.txt", default)
    write(folder / "train.txt", "\n".join([*STRINGS, "dir with blanks/é.cnf", ""]))
    write(folder / "answering.R", ANSWERING.replace("COST", cost))
    source = 'source("answering.R", local = TRUE)'
    write(folder / "scenario.txt", "\n".join([SCENARIO, source, *lines, ""]))
    irace(folder, 'irace.main(scenario = readScenario("scenario.txt"))')
    log, seen = load(folder / "irace.Rdata"), set()
    matrix = log.runs
    assert matrix.seeds is not None
    for line in (folder / "calls.txt").read_text().splitlines():
        configuration, instance, seed, bound, answer = line.split("\037")
        cell = (matrix.configurations.index(configuration), matrix.instances.index(instance))
        (place,) = (matrix.seeds[cell] == int(seed)).nonzero()[0]
        value, where = float(answer), (*cell, place)
        seen.add(where)
        status = None if matrix.statuses is None else int(matrix.statuses[where])
        if value == float("inf"):
            assert status == Status.CRASHED
        elif name == "capping" and value >= 5:
            assert (status, matrix.costs[where]) == (Status.TIMEOUT, matrix.high)
        else:
            assert matrix.costs[where] == pytest.approx(value, rel=1e-12)
            if name == "capping":
                capped = value >= float(bound)
                assert status == (Status.CENSORED if capped else Status.SOLVED)
    assert len(seen) == int(matrix.counts().sum())
    assert log.default == "1"


# Lines of the scenario, and the answer of the runner.
SET_UPS = {
    "strings": ((), "print cost"),
    "instance files": (('trainInstancesDir = "inst"',), "print cost"),
    "capping": (
        (*CAP, "boundPar = 10"),
        "cost = 20 * cost; if (cost > 5) cost = 5; print cost, cost",
    ),
}


def calls(folder: Path) -> set[tuple[str, ...]]:
    """Where the runner was started since the last look and with which words, without its seed and
    the numbers of its configuration and instance, which are irace's.
    """
    path = folder / "calls.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    words = (line.split("\037")[:-1] for line in lines)
    return {(call[0], *call[4:]) for call in words}


@pytest.mark.usefixtures("own_locks")
@pytest.mark.parametrize("name", SET_UPS)
def test_from_log_to_validated_winner(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A validation by the scenario of a log would run something else than irace does."""
    lines, answer = SET_UPS[name]
    train, fresh = STRINGS, FRESH
    if name == "instance files":
        train, fresh = ([f"{kind}{number}.txt" for number in range(4)] for kind in "ab")
        for file in (*train, *fresh):
            write(folder / "inst" / file, file)
    monkeypatch.chdir(folder)
    write(folder / "runner.sh", RUNNER.replace("ANSWER", answer)).chmod(0o755)
    for file, content in {
        "scenario.txt": [SCENARIO, *lines, 'targetRunner = "./runner.sh"'],
        "parameters.txt": [PARAMETERS],
        "default.txt": [DEFAULT],
        "train.txt": ["# training", *train],
        "fresh.txt": ["  # new ones", *fresh],
    }.items():
        write(folder / file, "\n".join([*content, ""]))
    irace(folder, 'irace.cmdline("--scenario scenario.txt")')
    calls(folder)
    irace(folder, TESTING)
    expected = calls(folder)
    assert len(expected) == 2 * len(fresh)
    ends = {} if name == "capping" else {"low": 0.0, "high": 3.0}
    log = load("irace.Rdata", **ends)
    made = scenario_from_log("irace.Rdata", log, folder / "new", instances="fresh.txt")
    validate(log, made.path, folder / "v.db", budget=16, complete=True)
    assert calls(folder) == expected
    test = load(folder / "v.db").test
    assert test is not None
    if name == "capping":
        assert (test.low, test.high) == (log.runs.low, log.runs.high)
        assert (statuses(test) == Status.TIMEOUT).any()


INSTANCES = [f"i{number}" for number in range(12)]


def target(config: Any, instance: str, seed: int = 0) -> float:
    """Costs in [0, 2.1] that crash for a part of the space."""
    if config["x"] > 0.8:
        raise ValueError("x is too large")
    return float((config["x"] - int(instance[1:]) / 12) ** 2 + (seed % 7) / 10)


def test_a_real_run_of_smac(tmp_path: Path) -> None:
    """A real run history would give other runs, costs, seeds or statuses than SMAC itself holds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SMAC's own, and those of what it imports
        from ConfigSpace import Categorical, Configuration, ConfigurationSpace
        from smac import AlgorithmConfigurationFacade as Facade
        from smac import Scenario

        space = ConfigurationSpace({"x": (0.0, 1.0)}, seed=1)
        space.add(Categorical("c", ["a", "b"]))
        scenario = Scenario(
            space,
            n_trials=48,
            instances=INSTANCES,
            instance_features={name: [place] for place, name in enumerate(INSTANCES)},
            output_directory=tmp_path,
            name="run",
            seed=3,
            crash_cost=3.0,
        )
        bad = Configuration(space, values={"x": 0.9, "c": "b"})
        design = Facade.get_initial_design(scenario, additional_configs=[bad])
        smac = Facade(
            scenario, target, overwrite=True, logging_level=logging.ERROR, initial_design=design
        )
        smac.optimize()
    found = load(tmp_path, low=0.0, high=3.0)
    matrix = found.runs
    assert matrix.seeds is not None
    assert int(matrix.counts().sum()) == len(smac.runhistory) >= 40
    for key, value in smac.runhistory.items():
        i, j = matrix.configurations.index(str(key.config_id)), matrix.instances.index(key.instance)
        run = matrix.seeds[i, j].tolist().index(key.seed)
        assert matrix.costs[i, j, run] == value.cost
        expected = Status.SOLVED if value.status == 1 else Status.CRASHED
        assert statuses(matrix)[i, j, run] == expected
    assert np.any(statuses(matrix) == Status.CRASHED)
    assert found.tool.startswith("SMAC3 2.")
    assert found.default == "1"
    assert found.incumbent == found.steps[-1].configuration
    assert found.parameters["1"] == {"x": 0.5, "c": "a"}
    assert found.adaptive
