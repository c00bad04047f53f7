"""S* schedules for other configurators: which instance comes next, with which seed.

The instances are put in one random order, and the order is gone through again and again: after
every run the counts differ by at most one (Theorem 1).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from truecost.errors import InputError, check_choice
from truecost.stats.random import Rng, generator

Kind = Literal["irace", "paramils", "smac"]
# The seeds of 32-bit solvers, 0 left out: some take it for "draw one".
MOST_SEED = 2**31 - 1
# A schedule is a file to be read by people too.
LONGEST = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """N runs in the order in which they come.

    Attributes
    ----------
    order
        The K instances, each once.
    seeds
        N seeds, all different: run i is on instance i mod K.
    """

    order: tuple[str, ...]
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.order or len(set(self.order)) != len(self.order):
            raise InputError("Expected instances, each once.")
        if len(self.seeds) < len(self.order):
            raise InputError(
                f"Expected a run at least for each of {len(self.order)} instances, got "
                f"{len(self.seeds)}."
            )

    @property
    def runs(self) -> list[tuple[str, int]]:
        """(instance, seed) of every run."""
        return [(self.order[i % len(self.order)], seed) for i, seed in enumerate(self.seeds)]


def draw(names: Iterable[str], *, instances: int, runs: int, rng: Rng = None) -> Schedule:
    """A schedule of `runs` on `instances` of the names, chosen and put in order at random."""
    available = list(names)
    if repeated := len(available) - len(set(available)):
        raise InputError(
            f"Expected every instance once, got {repeated} of {len(available)} names again."
        )
    if not 1 <= instances <= len(available):
        raise InputError(
            f"Expected a plan for 1 to {len(available):,} instances, as many as have names, got "
            f"{instances:,}."
        )
    if not instances <= runs <= LONGEST:
        raise InputError(f"Expected {instances:,} to {LONGEST:,} runs, got {runs:,}.")
    rng = generator(rng)
    chosen = rng.permutation(len(available))[:instances]
    seeds = rng.choice(MOST_SEED - 1, size=runs, replace=False) + 1
    return Schedule(order=tuple(available[i] for i in chosen), seeds=tuple(seeds.tolist()))


def export(schedule: Schedule, kind: Kind) -> str:
    """The schedule as the file that irace, ParamILS or SMAC3 reads."""
    check_choice("the kind", kind, get_args(Kind))
    return {"irace": _irace, "paramils": _paramils, "smac": _smac}[kind](schedule)


def how_to_use(schedule: Schedule, kind: Kind, file: str) -> list[str]:
    """The lines to add on the other side, for a schedule saved as `file`."""
    if kind == "irace":
        return [
            f"trainInstancesFile = {json.dumps(file, ensure_ascii=False)}",
            'trainInstancesDir = ""',
            "sampleInstances = 0",
            "deterministic = 0",
        ]
    if kind == "paramils":
        return [f"instance_seed_file = {file}", "deterministic = 0", f"-N {len(schedule.seeds)}"]
    return [
        f"plan = json.load(open({file!r}))",
        'scenario = Scenario(space, instances=plan["instances"], …)',
        "intensifier = AlgorithmConfigurationFacade.get_intensifier(",
        '    scenario, max_config_calls=plan["max_config_calls"])',
    ]


def _irace(schedule: Schedule) -> str:
    # irace goes through its list in order, again and again, and draws the seeds itself: the file
    # has every instance once.
    for name in schedule.order:
        _refuse(name, "irace", "#", "which begins a comment there")
    rounds = -(-len(schedule.seeds) // len(schedule.order))
    head = [
        f"# S* order of {len(schedule.order)} instances: {len(schedule.seeds)} runs of a "
        f"configuration are {rounds} rounds.",
        "# In the scenario: sampleInstances = 0, else irace shuffles it. The seeds are irace's "
        "own.",
    ]
    return "\n".join([*head, *schedule.order]) + "\n"


def _paramils(schedule: Schedule) -> str:
    for name in schedule.order:
        _refuse(name, "ParamILS")
    return "".join(f"{seed} {name}\n" for name, seed in schedule.runs)


def _smac(schedule: Schedule) -> str:
    # SMAC3 has one seed for every round over the instances.
    size = len(schedule.order)
    runs = [[name, schedule.seeds[i // size]] for i, (name, _) in enumerate(schedule.runs)]
    value = {
        "instances": list(schedule.order),
        "max_config_calls": len(runs),
        "deterministic": False,
        "runs": runs,
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _refuse(name: str, reader: str, more: str = "", why: str = "") -> None:
    """Refuse names that the reader of a line would take for something else."""
    # None can be quoted.
    if not name or any(c.isspace() or not c.isprintable() for c in name):
        raise InputError(
            f"Expected names without blanks and line ends for {reader}, which splits there, got "
            f"{name!r:.80}: rename it."
        )
    if signs := [c for c in more if c in name]:
        raise InputError(
            f"Expected names without {signs[0]!r} for {reader}, {why}, got {name!r}: rename it."
        )
