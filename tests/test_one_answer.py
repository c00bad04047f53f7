"""Whatever command speaks of the same runs names the same incumbent and the same costs."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import validations
from commands import Run

from truecost.matrix import CostMatrix
from truecost.runs import Step, Trajectory

COMMANDS: dict[str, tuple[object, ...]] = {
    "info": (),
    "audit": (),
    "certify": (),
    "bound": (),
    "plan": ("--error", 0.5),
    "report": ("-o", "page.html"),
}


def raced(seed: int) -> tuple[CostMatrix, Trajectory]:
    """A race: configurations drop out as costs tell, so that they have runs on different instances."""
    rng = np.random.default_rng(seed)
    configurations, instances, runs = (
        int(rng.integers(4, 12)),
        int(rng.integers(8, 20)),
        int(rng.integers(1, 4)),
    )
    hard = rng.gamma(1.0, 3.0, instances)
    costs = rng.gamma(2.0, 1.0, (configurations, instances, runs)) + hard[np.newaxis, :, np.newaxis]
    alive = list(range(configurations))
    for instance in range(instances):
        if instance >= 4 and len(alive) > 2 and rng.random() < 0.5:
            worst = max(alive, key=lambda c: float(np.nanmean(costs[c, :instance])))
            alive.remove(worst)
        out = [c for c in range(configurations) if c not in alive]
        costs[out, instance] = np.nan
    names = [f"c{i}" for i in range(configurations)]
    origin = ("beforehand", "adaptively", "unknown")[seed % 3]
    chosen = None if seed % 2 else names[alive[-1]]
    steps = (Step(5, (names[0],)), Step(20, (names[alive[0]],)))
    trajectory = Trajectory(
        tool="a race 1",
        proposed=origin,
        raced=True,
        default=names[0],
        incumbent=chosen,
        steps=steps if seed % 2 else (),
    )
    matrix = CostMatrix(np.clip(costs, 0, 50), names, [f"i{i}" for i in range(instances)], 0, 50)
    return matrix, trajectory


def answers(run: Run, *runs: object) -> dict[str, Any]:
    """What each command says of these runs."""
    told: dict[str, Any] = {}
    for command, words in COMMANDS.items():
        ended = run(command, *runs, *words, "--json")
        if ended.returncode == 2:
            # Only the paper's bounds and plans may have nothing to say of some runs.
            assert command in ("bound", "plan"), ended.stderr
            continue
        told[command] = json.loads(ended.stdout)
    assert {"info", "audit", "certify", "report"} <= set(told)
    return told


def check(told: dict[str, Any]) -> None:
    """All name the same, and what two of them have a key for is the same."""
    for command, answer in told.items():
        for key in ("incumbent", "default", "runs", "chosen"):
            assert answer[key] == told["info"][key], (command, key)
        for key in set(answer) & set(told["report"]):
            if key != "asked":
                assert answer[key] == told["report"][key], (command, key)


@pytest.mark.parametrize("seed", range(12))
def test_all_commands_give_one_answer(
    seed: int, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two commands would take different configurations for the best, or print different costs of
    the same one.
    """
    monkeypatch.chdir(tmp_path)
    matrix, trajectory = raced(seed)
    matrix.save("runs.npz", trajectory=trajectory)
    named: tuple[object, ...] = (
        ("--configuration", matrix.configurations[-1]) if seed % 5 == 4 else ()
    )
    told = answers(run, "runs.npz", *named)
    check(told)
    first = told["info"]
    costs = {row["configuration"]: row for row in told["report"]["configurations"]}
    own = first["incumbent"]
    assert costs[own["configuration"]]["training_cost"] == own["training_cost"]
    if own["true_cost"] is not None:
        assert told["audit"]["optimism"]["true_cost"] == own["true_cost"]
    ranked = [
        row["training_cost"] for row in told["report"]["configurations"] if row["rank"] is not None
    ]
    assert ranked == sorted(ranked)


FAST = ("--workers", 2, "--no-pin", "--quiet", "--json")


@pytest.mark.usefixtures("own_locks")
def test_a_validation_is_told_as_it_was(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `validate` printed would not be what other commands say of its journal."""
    monkeypatch.chdir(tmp_path)
    validations.irace_folder(tmp_path)
    words = (
        "irace.Rdata",
        "--low",
        0,
        "--high",
        12,
        "--instances",
        "t*/*.txt",
        "--budget",
        "120runs",
    )
    ended = run("validate", *words, *FAST, "--yes")
    assert ended.returncode == 0, ended.stderr
    told = answers(run, "irace-validate.db")
    assert {"bound", "plan"} <= set(told)
    check({**told, "validate": json.loads(ended.stdout)})


@pytest.mark.usefixtures("own_locks")
def test_a_search_is_told_as_it_was(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `configure` printed would not be what other commands say of its journal."""
    monkeypatch.chdir(tmp_path)
    validations.written(tmp_path)
    ended = run("configure", "scenario.toml", "--budget", "60runs", "--journal", "search.db", *FAST)
    assert ended.returncode == 0, ended.stderr
    check({**answers(run, "search.db"), "configure": json.loads(ended.stdout)})
