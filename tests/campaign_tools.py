"""A pool without processes, and scenarios for it: the same run costs the same anywhere."""

import hashlib
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scenarios

from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Instance, Machine, Outcome, Status

MACHINE = Machine(host="here", cpu="cpu", system="linux", solver="1.0", truecost="0.4")
# Running times up to 1 s, with PAR10.
PAR: dict[str, Any] = {
    "limits": {"cpu": 1.0, "wall": 5.0},
    "metric": {"kind": "par", "factor": 10},
}
# A toy space: x is good, the default has none of it.
SPACE = "x {0,1,2,3,4,5,6,7,8,9} [0]\ny {0,1,2,3,4,5,6,7,8,9} [0]\n"
Work = Callable[[Task], Outcome]


def outcome(cost: float, status: Status = Status.SOLVED, **more: Any) -> Outcome:
    """A run with this CPU time and value."""
    known = {"cpu": cost, "wall": cost, "memory": 1, "exit_code": 0, "value": cost, **more}
    return Outcome(status=status, **known)


def uniform(*names: object) -> float:
    """A number in [0, 1) from these names."""
    digest = hashlib.sha256("|".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def value_of(task: Task, name: str = "x") -> float:
    """A parameter of the run's configuration."""
    value: Any = task.configuration.values[name]
    return float(value)


def better_by_x(task: Task) -> Outcome:
    """0.9 s at x = 0 down to 0.09 s at x = 9, times a half to one."""
    level = (10 - value_of(task)) / 10
    return outcome(0.9 * level * (0.5 + 0.5 * uniform(task.instance.name, task.seed)))


def no_difference(task: Task) -> Outcome:
    """Noise."""
    return outcome(uniform(task.instance.name, task.seed, task.configuration.name))


class Pool:
    """Makes runs when it is waited for, in an order of its own; records what it was asked."""

    def __init__(self, work: Work = better_by_x, workers: int = 2, at_once: int = 1) -> None:
        self.work, self.workers, self.at_once = work, workers, at_once
        self.tasks: deque[Task] = deque()
        self.submitted: list[Task] = []
        self.made: list[Task] = []
        self.most = 0

    def submit(self, task: Task) -> None:
        """Take a task."""
        self.tasks.append(task)
        self.submitted.append(task)
        self.most = max(self.most, len(self.tasks))

    def wait(self) -> list[Finished]:
        """Some runs, not in the order of their tasks."""
        finished = []
        for _ in range(min(self.at_once, len(self.tasks))):
            place = int(uniform(len(self.made)) * min(2, len(self.tasks)))
            task = self.tasks[place]
            del self.tasks[place]
            result = self.work(task)
            if task.cap is not None and result.cpu > task.cap:
                result = outcome(task.cap, Status.CENSORED, cap=task.cap, value=None)
            self.made.append(task)
            finished.append(Finished(task=task, outcome=result, machine=MACHINE))
        return finished

    def cancel(self) -> list[Task]:
        """Drop the tasks that have not started; the first ones have."""
        started = [self.tasks.popleft() for _ in range(min(self.workers, len(self.tasks)))]
        dropped = list(self.tasks)
        self.tasks = deque(started)
        return dropped


class Interrupted(Pool):
    """Ctrl-C after so many runs."""

    def __init__(self, after: int, work: Work = better_by_x, **how: Any) -> None:
        super().__init__(work, **how)
        self.after = after

    def wait(self) -> list[Finished]:
        """Some runs."""
        if len(self.made) >= self.after:
            raise KeyboardInterrupt
        return super().wait()


def scenario(folder: Path, instances: int = 8, **tables: Any) -> Scenario:
    """A scenario of running times with so many instances; `tables` as in `scenarios.write`."""
    path = scenarios.write(folder, **{**PAR, **tables})
    (folder / "space.pcs").write_text(SPACE)
    for place in range(instances):
        (folder / "instances" / f"i {place}.txt").write_text(f"{place}\n")
    for file in (folder / "instances").iterdir():
        if int(file.stem.split()[1]) >= instances:
            file.unlink()
    return Scenario.read(path)


def new_instances(folder: Path, number: int, first: int = 100) -> list[Instance]:
    """New instance files, with names that do not depend on the folder."""
    (folder / "new").mkdir(exist_ok=True)
    instances = []
    for place in range(first, first + number):
        path = folder / "new" / f"n {place}.txt"
        path.write_text(f"{place}\n")
        instances.append(Instance(name=f"new/{path.name}", argument=str(path), extras={}))
    return instances
