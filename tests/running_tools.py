"""What tests of runs share: solvers that are scripts, tasks and what they must come to, waiting."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import scenarios

from truecost.running.pools import Finished, Pool, Task
from truecost.running.scenario import Scenario
from truecost.running.slots import ProcessResult, Slot
from truecost.running.tables import Limits

# Limits that nothing comes near except what never ends, so that no outcome depends on the machine.
FAR: dict[str, Any] = {"cpu": 600.0, "wall": 600.0}
ANSWER = 'echo "Result for SMAC: SUCCESS, 0.01, 0, 5, $5"'


def until(state: Callable[[], object], what: object = "") -> None:
    """Wait for a state of things, on a busy machine for long."""
    end = time.monotonic() + 300
    while not state():
        assert time.monotonic() < end, f"waited in vain {what}"
        time.sleep(0.01)


def run_until_ready(slot: Slot, words: list[str], limits: Limits) -> ProcessResult:
    """The end of a command that goes on for good, with enough wall time to say that it is ready."""
    wall = 0.1
    while True:
        changed = limits.model_copy(update={"wall": wall})
        ended = slot.run(words, folder=Path("/"), limits=changed)
        if b"ready" in ended.stdout:
            return ended
        assert ended.exceeded == "wall"
        wall *= 2


def script(folder: Path, text: str = ANSWER, **tables: Any) -> Scenario:
    """A scenario whose solver is this script."""
    path = scenarios.write(folder, **{"limits": FAR, **tables})
    (folder / "solver.sh").write_text(f"#!/bin/sh\n{text}\n")
    return Scenario.read(path)


def tasks(scenario: Scenario, configurations: int = 1, runs: int = 1) -> list[Task]:
    """Runs of a scenario on its instances."""
    return [
        Task(
            configuration=scenario.space.configuration({"alpha": str(alpha), "beta": "2"}),
            instance=instance,
            number=number,
            seed=scenario.run_seed(instance.name, number),
        )
        for alpha in range(1, configurations + 1)
        for instance in scenario.instances
        for number in range(runs)
    ]


def finish(
    pool: Pool, given: Sequence[Task], meanwhile: Callable[[int], object] = int
) -> list[Finished]:
    """Make these runs, two per worker under way; `meanwhile` is told how many are done."""
    waiting, done, out = [*given], list[Finished](), 0
    while waiting or out:
        while waiting and out < 2 * pool.workers:
            pool.submit(waiting.pop(0))
            out += 1
        finished = pool.wait()
        assert finished
        done += finished
        out -= len(finished)
        meanwhile(len(done))
    return done


def check_cells(finished: Sequence[Finished], given: Sequence[Task]) -> None:
    """See that each task was run once, and came to what it must by arithmetic."""
    made = [
        (
            run.task.configuration.name,
            run.task.instance.name,
            run.task.number,
            run.task.seed,
            run.outcome.status,
            run.outcome.exit_code,
            run.outcome.time,
            run.outcome.value,
            run.outcome.detail,
        )
        for run in finished
    ]
    assert sorted(made) == sorted(
        scenarios.cell(task.configuration, task.instance, task.number, task.seed) for task in given
    )
