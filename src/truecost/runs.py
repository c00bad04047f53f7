"""Records of runs that everything below shares."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from truecost.errors import InputError, check_choice


class Status(IntEnum):
    """How a run ended.

    The numbers are what a `CostMatrix` stores; files carry the names. CENSORED: stopped at a cap
    below the cutoff, since more could not matter to whoever ran it; all that is known is that it
    would have cost the cap at least.

    Examples
    --------
    >>> tc.Status.TIMEOUT.name
    'TIMEOUT'
    """

    SOLVED = 0
    TIMEOUT = 1
    MEMORY = 2
    CRASHED = 3
    VETOED = 4
    ABORTED = 5
    CENSORED = 6

    @property
    def label(self) -> str:
        """The name used in files and tables, `"timeout"` for instance."""
        return self.name.lower()


# Nothing is known of how the run ended; and what stands for the seed of a run that is not there.
NO_STATUS: Final = -1
NO_SEED: Final = -1
# The name in the place of an instance's where a log has none, as for a function that is minimised.
NO_INSTANCE: Final = "(no instance)"


def status_counts(statuses: Any) -> dict[str, int]:
    """How many in an array of statuses there are of each, by their labels."""
    return {status.label: int((statuses == status).sum()) for status in Status}


def number_or_nan(value: Any) -> float:
    """A number that may be anything in a file; what is not one is NaN."""
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was observed of a run; docs/fields.md defines every field and says what it does not
    mean.

    Parameters
    ----------
    status
        How the run ended.
    cpu, wall
        Seconds used by the whole process tree, and seconds passed.
    memory
        The largest resident size of the tree, in bytes, that was seen.
    exit_code
        Of the target's first process; minus the number of the signal that ended it.
    time, value
        The running time and the number that the target reported, where it did.
    method
        How CPU time was measured and the tree was held together.
    detail
        In a few words, why the run was not solved.
    cap
        Of a run that is CENSORED: at how many seconds it was stopped.
    stdout, stderr, command
        Of a run that failed: the end of what it printed, and a command line that repeats it.
    files
        What the scenario asked to keep of the run's folder.

    Examples
    --------
    >>> tc.Outcome(status=tc.Status.SOLVED, cpu=0.4, wall=0.5, memory=0, exit_code=0).wall
    0.5
    """

    status: Status
    cpu: float
    wall: float
    memory: int
    exit_code: int
    time: float | None = None
    value: float | None = None
    method: str = ""
    detail: str = ""
    cap: float | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    command: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One configuration on one instance with one seed, the instance's run number `number` from 0.

    Examples
    --------
    >>> solved = tc.Outcome(status=tc.Status.SOLVED, cpu=0.4, wall=0.5, memory=0, exit_code=0)
    >>> tc.Run(configuration="a", instance="i", number=0, seed=7, outcome=solved).seed
    7
    """

    configuration: str
    instance: str
    number: int
    seed: int
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How an instance is made: a command, in which {file} stands for what it writes, started in a
    folder.
    """

    command: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance: its name, what is passed to the target (usually a path), and what else is known
    of it; `number` is its place in the list it came from, from 1, for conventions that want one.
    """

    name: str
    argument: str
    extras: Mapping[str, str]
    is_file: bool = True
    recipe: Recipe | None = None
    number: int | None = None

    def digest(self) -> str:
        """A hash of the content, or of how that is made: the same name with another content is
        another instance.
        """
        hashed = hashlib.sha256(
            json.dumps(dict(self.extras), sort_keys=True).encode("utf-8", "surrogatepass")
        )
        if self.recipe is not None:
            # The name of the folder it is made in stands for generator and program.
            hashed.update(Path(self.argument).parent.name.encode())
        elif self.is_file:
            with Path(self.argument).open("rb") as file:
                while part := file.read(1 << 20):
                    hashed.update(part)
        return hashed.hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where and how runs were executed: what makes their times comparable."""

    host: str
    cpu: str
    system: str
    method: str
    solver: str
    truecost: str
    # A JSON text: load, governor, turbo and throttling, which change while the machine stays.
    conditions: str = field(default="", compare=False)


# The origin of configurations, in a Trajectory.
PROPOSED: Final = ("beforehand", "adaptively", "unknown")


class Step(NamedTuple):
    """The configurations taken for the best, the best first, after `runs` finished runs; None if
    they were not counted.
    """

    runs: int | None
    configurations: tuple[str, ...]


def is_usual(terms: "Watched | Fixed") -> bool:
    """Whether statements are about new instances like these."""
    return (terms.sampled, terms.about) == ("instance", "new")


class Watched(NamedTuple):
    """Test runs of a validation; what was fixed beforehand.

    The most runs on an instance, what was to decide (with a margin of non-inferiority, if any), for
    how many sampling units limits were planned, and what statements are about, as
    `truecost.judge.scope` has it.
    """

    rounds: int
    primary: str
    planned: int
    margin: str | None = None
    sampled: Literal["instance", "family"] = "instance"
    about: Literal["new", "these"] = "new"
    population: int | None = None


class Fixed(NamedTuple):
    """What a search fixed beforehand, as in `Watched`."""

    margin: str | None = None
    sampled: Literal["instance", "family"] = "instance"
    about: Literal["new", "these"] = "new"
    population: int | None = None


class RunPlan(NamedTuple):
    """What was to be run, as recorded before the first of these runs: every configuration on every
    instance so many times. A later one extends it, in the same order. `families` are those of its
    instances; 0 where they have none.
    """

    configurations: int
    instances: int
    runs: int
    families: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """Where configurations come from, and which were the best meanwhile: what decides which
    statements can be made.

    Parameters
    ----------
    tool
        What made the runs, `"irace 4.4.0"` for instance.
    proposed
        `"beforehand"`: every configuration was fixed before any cost was seen. `"adaptively"`: some
        were made from the costs of others. `"unknown"`: nothing says.
    raced
        Whether the number of runs of a configuration depended on costs, as in a race; None if
        nothing says.
    default, incumbent
        The default configuration and the one the tool chose in the end, where known.
    steps
        The best so far, in the order of time.
    unfinished
        Whether more runs were planned when these were looked at.
    watched
        Where test runs were looked at while they came in, and costs may have said when to stop:
        what was fixed beforehand.
    fixed
        Of a search: what its statements are to be about.
    looks
        Of a search that can go on with more budget: how often its test costs were looked at. 0
        where they are for one look.
    plans
        Of runs in a recorded order, which may be looked at meanwhile and extended: what was
        planned at first, and with each extension.
    order_seed
        A random number drawn when the runs were imported, before anybody looked at them.
    maximised
        Whether costs are minus a score, of which more is better.

    Examples
    --------
    >>> tc.Trajectory(tool="my search", default="a", incumbent="b").incumbent
    'b'
    """

    tool: str
    proposed: str = "unknown"
    raced: bool | None = None
    default: str | None = None
    incumbent: str | None = None
    steps: tuple[Step, ...] = ()
    unfinished: bool = False
    watched: Watched | None = None
    fixed: Fixed | None = None
    looks: int = 0
    plans: tuple[RunPlan, ...] = ()
    order_seed: int | None = None
    maximised: bool = False

    def __post_init__(self) -> None:
        check_choice("proposed", self.proposed, PROPOSED)
        if not isinstance(self.tool, str) or not self.tool:
            raise InputError(f"Expected the name of a tool, got {self.tool!r}.")
        if not (self.raced is None or isinstance(self.raced, bool)):
            raise InputError(f"Expected raced to be true, false or None, got {self.raced!r}.")
        for key in ("unfinished", "maximised"):
            if not isinstance(value := getattr(self, key), bool):
                raise InputError(f"Expected {key} to be true or false, got {value!r}.")
        numbers = (1, 1) if self.watched is None else (self.watched.rounds, self.watched.planned)
        if not all(type(number) is int and number >= 1 for number in numbers):
            raise InputError(
                "Expected numbers of rounds and instances of watched runs, got "
                f"{self.watched!r:.60}."
            )
        if not all(
            type(n) is int and n >= (k < 3) for plan in self.plans for k, n in enumerate(plan)
        ):
            raise InputError(f"Expected sizes of plans of runs, got {self.plans!r:.60}.")
        if not (self.order_seed is None or 0 <= self.order_seed < 2**63):
            raise InputError(f"Expected a seed from 0 to 2^63 − 1, got {self.order_seed!r:.60}.")
        if not (isinstance(self.looks, int) and self.looks >= 0):
            raise InputError(f"Expected 0 looks or more, got {self.looks!r}.")
        for name in (
            self.default,
            self.incumbent,
            *(name for step in self.steps for name in step.configurations),
        ):
            if not (name is None or isinstance(name, str)):
                raise InputError(
                    f"Expected names of configurations in a trajectory, got {name!r:.60}."
                )
        for step in self.steps:
            if not (step.runs is None or (isinstance(step.runs, int) and step.runs >= 0)):
                raise InputError(
                    f"Expected numbers of runs in a trajectory, got {step.runs!r:.60}."
                )
