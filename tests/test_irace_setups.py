"""Ten set-ups of irace, from its log to a validated winner: what truecost runs is what irace runs."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from commands import run

from truecost import import_runs
from truecost.runs import Status

PARAMETERS = """x "--x " r (0,1)
kind "--kind=" c (a,"b c",d)
n "--n " i (1,100) | kind %in% c("a", "d")
tiny "--tiny " r,log (0.0001, 1)
"""
DEFAULT = "x kind n tiny\n0.9 d 50 0.01\n"
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
PLAIN = "print cost"
CAPPED = "cost = 20 * cost; if (cost > 5) cost = 5; print cost, cost"
OWN_PAR10 = "cost = 20 * cost; if (cost >= 5) print 50, 5; else print cost, cost"
STRINGS = ["--size 5 --kind x", "--size 6 --name 'two words'", '--size 7 --q "a b"', "--size 8"]
FRESH = ["--size 15 --kind x", "--size 16 --name 'two words'", '--size 17 --q "a b"', "--size 18"]
FUNCTION = """
targetRunner <- function(experiment, scenario) {
    words <- c(getwd(), experiment$id.configuration, experiment$id.instance, experiment$seed,
               experiment$instance, unlist(lapply(experiment$configuration, format, digits = 15)))
    cat(paste0(words, collapse = "\\037"), "\\n", sep = "\\037", file = "calls.txt", append = TRUE)
    cat("progress that is no answer 17\\n")
    list(cost = (experiment$configuration$x - 0.3)^2 + experiment$seed %% 100 / 1000)
}
"""
REPAIR = """
repairConfiguration <- function(configuration, parameters, digits) {
    if (configuration[["x"]] > 0.95) configuration[["x"]] <- 0.95
    configuration
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """How irace is set up: lines of its scenario, the answer of the runner, and the instances."""

    lines: tuple[str, ...] = ()
    answer: str = PLAIN
    train: tuple[str, ...] = tuple(STRINGS)
    fresh: tuple[str, ...] = tuple(FRESH)
    options: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


FILES = {f"inst/{kind}{number}.txt": f"{kind} {number}" for kind in "ab" for number in range(4)}
CAP = ("capping = 1", "boundMax = 5", "testType = 't-test'")
SET_UPS = {
    "strings": SetUp(),
    "instance files": SetUp(
        lines=('trainInstancesDir = "inst"',),
        train=tuple(f"a{number}.txt" for number in range(4)),
        fresh=tuple(f"b{number}.txt" for number in range(4)),
        files=FILES,
    ),
    "capping, PAR10": SetUp(lines=(*CAP, "boundPar = 10"), answer=CAPPED),
    "capping, bounds are no timeouts": SetUp(
        lines=(*CAP, "boundPar = 1", "boundAsTimeout = 0"), answer=CAPPED
    ),
    "capping, the runner's own PAR10": SetUp(lines=CAP, answer=OWN_PAR10),
    "repair": SetUp(lines=('source("repair.R", local = TRUE)',), files={"repair.R": REPAIR}),
    "not elitist": SetUp(lines=("elitist = 0",)),
    "function of R": SetUp(
        lines=('source("function.R", local = TRUE)',), files={"function.R": FUNCTION}
    ),
    "launcher": SetUp(
        lines=(
            'targetRunnerLauncher = "/bin/bash"',
            'targetRunnerLauncherArgs = "--norc {targetRunner} {targetRunnerArgs}"',
        )
    ),
    "deterministic": SetUp(lines=("deterministic = 1", "firstTest = 4")),
}
SCENARIO = """
trainInstancesFile = "train.txt"
trainInstancesDir = ""
parameterFile = "parameters.txt"
configurationsFile = "default.txt"
maxExperiments = 200
seed = 7
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
    """A folder that runs share with us: what they write into /tmp is theirs alone."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def calls(folder: Path) -> list[list[str]]:
    """The calls since the last look: where, and with which words."""
    path = folder / "calls.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line.split("\037")[:-1] for line in lines]


def without_seed(call: list[str]) -> tuple[str, ...]:
    """A call without its seed; irace counts test instances 1t, 2t, …"""
    where, configuration, instance, _, *words = call
    return where, configuration, instance.removesuffix("t"), *words


def irace(folder: Path, script: str) -> str:
    """What R prints."""
    words = ["Rscript", "--vanilla", "-e", script]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


@pytest.mark.tools
@pytest.mark.usefixtures("own_locks")
@pytest.mark.parametrize("name", SET_UPS)
def test_from_log_to_validated_winner(name: str, folder: Path) -> None:
    """The validation would run something else than irace does, or count timeouts differently."""
    assert shutil.which("Rscript"), "install r-cran-irace"
    setup = SET_UPS[name]
    lines = [SCENARIO, *setup.lines]
    if not any("function.R" in line for line in setup.lines):
        lines.append('targetRunner = "./runner.sh"')
        (folder / "runner.sh").write_text(RUNNER.replace("ANSWER", setup.answer))
        (folder / "runner.sh").chmod(0o755)
    texts = {
        "scenario.txt": "\n".join(lines) + "\n",
        "parameters.txt": PARAMETERS,
        "default.txt": DEFAULT,
        "train.txt": "\n".join(["# training", *setup.train, ""]),
        "fresh.txt": "\n".join(["  # new ones", *setup.fresh, ""]),
        **setup.files,
    }
    for path, text in texts.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    irace(folder, 'library(irace); irace.cmdline("--scenario scenario.txt")')
    training = calls(folder)
    irace(folder, TESTING)
    expected = {without_seed(call) for call in calls(folder)}
    assert len(expected) == 2 * len(setup.fresh)
    answer = run(
        "validate", "irace.Rdata", "--instances", "fresh.txt", "--budget", "16runs", "--json", "--yes",
        cwd=folder,
    )  # fmt: skip
    assert answer.returncode in (0, 1), answer.stderr
    made = calls(folder)
    # Whoever stops early has run a part of the same calls, and nothing else.
    assert {without_seed(call) for call in made} <= expected
    assert {call[1] for call in made} == {call[1] for call in expected}
    assert all(0 < int(call[3]) < 2**31 for call in [*made, *training])
    log, validation = import_runs(folder / "irace.Rdata"), json.loads(answer.stdout)
    assert validation["validation"]["all_runs"] == len(made)
    journal = import_runs(folder / "irace-validate.db")
    assert journal.test is not None
    assert (journal.test.low, journal.test.high) == (
        (log.matrix.low, log.matrix.high) if "capping" in name else (-float("inf"), float("inf"))
    )
    if "capping" in name:
        penalty = {"capping, bounds are no timeouts": 5}.get(name, 50)
        assert journal.test.statuses is not None
        timeouts = journal.test.statuses == Status.TIMEOUT
        assert timeouts.any()
        assert set(journal.test.costs[timeouts].tolist()) == {penalty}
        assert log.matrix.high == penalty


# Answers within R, and writes down what it was asked and what it answered.
ANSWERING = """
targetRunner <- function(experiment, scenario) {
    cost <- (experiment$configuration[[1]] - 0.3)^2 + experiment$seed %% 100 / 1000
    bound <- if (is.null(experiment$bound)) NA else experiment$bound
    COST
    words <- c(experiment$id.configuration, experiment$instance, format(experiment$seed, digits = 15),
               format(bound, digits = 15), format(cost, digits = 17))
    cat(paste0(words, collapse = "\\037"), "\\n", sep = "", file = "calls.txt", append = TRUE)
    list(cost = cost, time = if (is.na(bound)) NULL else min(cost, bound))
}
"""
ODD = 'x.1 "" r (-1,1)\nab "" c (NA, "NULL", "1e5", "é", "TRUE")\nk "" o (low, mid, high)\nbig "" i,log (1, 1000000)\n'
BOUNDED = "cost <- min(20 * cost, bound)"
# What the runner does to its cost, lines of the scenario, and the parameters.
RECORDED = {
    "odd names": ("", (), ODD),
    "negative costs": ("cost <- -100 * (1 - cost)", (), PARAMETERS),
    "rejected": ("if (isTRUE(experiment$configuration$n > 60)) cost <- Inf", (), PARAMETERS),
    "capping": (BOUNDED, (*CAP, "boundPar = 10"), PARAMETERS),
    "capping, best": (BOUNDED, (*CAP, "boundPar = 2", 'cappingType = "best"'), PARAMETERS),
    "not elitist": ("", ("elitist = 0", "maxExperiments = 250"), PARAMETERS),
    "time": ("", ("maxExperiments = 0", "maxTime = 100", "budgetEstimation = 0.02"), PARAMETERS),
}


@pytest.mark.tools
@pytest.mark.parametrize("name", RECORDED)
def test_every_cell_is_what_the_runner_answered(name: str, folder: Path) -> None:
    """A cell would have another cost than the runner printed, or stand at another instance or
    seed; a run that was stopped at a cap would pass for a solved one.
    """
    assert shutil.which("Rscript"), "install r-cran-irace"
    cost, lines, parameters = RECORDED[name]
    if name == "time":
        cost = "bound <- 10"
    texts = {
        "parameters.txt": parameters,
        "default.txt": DEFAULT if parameters is PARAMETERS else 'x.1 ab k big\n0.5 "é" mid 1000\n',
        "train.txt": "\n".join([*STRINGS, "dir with blanks/é.cnf", ""]),
        "answering.R": ANSWERING.replace("COST", cost),
    }
    scenario = [SCENARIO, 'source("answering.R", local = TRUE)', *lines, ""]
    for path, text in {**texts, "scenario.txt": "\n".join(scenario)}.items():
        (folder / path).write_text(text)
    irace(folder, 'library(irace); irace.main(scenario = readScenario("scenario.txt"))')
    answers = [line.split("\037") for line in (folder / "calls.txt").read_text().splitlines()]
    log = import_runs(folder / "irace.Rdata")
    matrix, seen = log.matrix, set()
    assert matrix.seeds is not None
    for configuration, instance, seed, bound, answer in answers:
        cell = (matrix.configurations.index(configuration), matrix.instances.index(instance))
        (place,) = (matrix.seeds[cell] == int(seed)).nonzero()[0]
        value, where = float(answer), (*cell, place)
        seen.add(where)
        status = None if matrix.statuses is None else int(matrix.statuses[where])
        if value == float("inf"):
            assert status == Status.CRASHED
        elif "capping" in name and value >= 5:
            assert (status, matrix.costs[where]) == (Status.TIMEOUT, matrix.high)
        else:
            assert matrix.costs[where] == pytest.approx(value, rel=1e-12)
            if "capping" in name:
                expected = Status.CENSORED if value >= float(bound) else Status.SOLVED
                assert status == expected
    assert len(seen) == int(matrix.counts().sum())
    assert log.trajectory.default == "1"
