"""The verdict on a log as records: every number that the terminal, the page and JSON show."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from math import isfinite, isinf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truecost.errors import Refusal
from truecost.judge.evidence import Evidence
from truecost.judge.question import Question
from truecost.matrix import CostMatrix, Log
from truecost.runs import Caveat

if TYPE_CHECKING:
    import pandas as pd

    from truecost.stats.variance import VarianceComponents

Grade = Literal[
    "better",
    "probably better",
    "undecided",
    "probably worse",
    "worse",
    "no relevant difference",
    "not testable",
]
SCHEMA = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one quantity is on new instances.

    Attributes
    ----------
    quantity
        "mean", "difference" (configuration − default), "wins", "solved", "solved difference",
        "median speed-up", "geometric speed-up", or "margin" ((1 + x)·default − configuration).
    observed
        Its value in the runs that count, every unit weighed equally.
    lower, upper
        Guaranteed limits: each is wrong with probability `delta` at most. Infinite where the range
        of the cost is unknown.
    approximate
        The two-sided 1 − δ interval that is only approximate; `no_approximate` says why there is
        none.
    probably
        Whether the approximate interval excludes `no_difference`.
    proven
        −1: proven to be below `no_difference`; 1: above; 0: neither.
    penalty
        A failed run costs this many cutoffs in it; inf: only failures count; None: no penalty.
    shift
        Of a geometric speed-up: the seconds added to both times. Of a median speed-up: the least
        time told apart.
    """

    quantity: str
    configuration: str
    default: str | None = None
    observed: float
    lower: float
    upper: float
    approximate: tuple[float, float] | None = None
    no_approximate: str = ""
    probably: bool = False
    proven: int = 0
    delta: float
    no_difference: float | None = None
    smaller_is_better: bool = True
    units: int
    penalty: float | None = None
    shift: float | None = None

    @property
    def grade(self) -> Grade:
        """How the configuration compares with the default in this quantity."""
        if self.no_difference is None:
            return "undecided"
        good = -1 if self.smaller_is_better else 1
        if self.proven:
            return "better" if self.proven == good else "worse"
        if self.probably and self.approximate is not None:
            side = 1 if self.approximate[0] >= self.no_difference else -1
            return "probably better" if side == good else "probably worse"
        return "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class SameInstances:
    """Winner and default on the same instances: the block that every verdict starts with.

    Attributes
    ----------
    units, unit
        How many units both were run on, and what a unit is.
    winner_cost, default_cost
        Mean costs on these units, each unit weighed equally.
    difference
        winner − default. Where no statement is possible, limits are infinite and there is no
        interval.
    won, tied, lost
        How many pairs of runs the winner won, tied and lost.
    wins
        The share of runs won, with its limits; None where no statement is possible.
    solved_both, solved_only_winner, solved_only_default, solved_neither
        Pairs of runs by who solved; None where runs cannot fail.
    time_ratio
        The default's total time over the winner's on pairs that both solved; None where costs are
        not running times or there is no such pair.
    positive
        Whether no cost can be negative, so that per cent mean something.
    training_instances, training_difference
        Where these are test runs: on how many training instances both were run, too, and the
        difference of their means there, which tuning flatters; None where there are none.
    """

    winner: str
    default: str
    units: int
    unit: str
    instances: int
    source: Literal["test", "training"]
    winner_cost: float
    default_cost: float
    difference: Statement
    won: int
    tied: int
    lost: int
    wins: Statement | None
    solved_both: int | None = None
    solved_only_winner: int | None = None
    solved_only_default: int | None = None
    solved_neither: int | None = None
    time_ratio: float | None = None
    positive: bool = True
    training_instances: int | None = None
    training_difference: float | None = None

    @property
    def runs(self) -> int:
        """How many pairs of runs there are."""
        return self.won + self.tied + self.lost

    @property
    def change(self) -> float | None:
        """The winner's cost relative to the default's, −0.15 for 15 % less; None where costs may be
        negative or are near 0.
        """
        return relative_change(self.winner_cost, self.default_cost) if self.positive else None


def relative_change(new: float, old: float) -> float | None:
    """(new − old) / old where a per cent means something: both positive and not near 0."""
    if not (new >= 0 and old > 0 and isfinite(new) and isfinite(old)):
        return None
    change = (new - old) / old
    return change if change <= 10 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """For which penalties, in cutoffs, the winner is proven better or worse on average."""

    tried: tuple[float, ...]  # ascending; inf: only failures count
    statements: tuple[Statement, ...]  # the difference at each of them
    # The lowest and highest penalty at which it is proven; None where it is at none.
    better: tuple[float, float] | None
    worse: tuple[float, float] | None
    declared: float
    # Proven in one direction at some penalty, observed in the other at the declared one: faster,
    # but failed more often, or slower and failed less often.
    mixed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Incumbent:
    """The best configuration so far at some time of a search, on training and on test instances."""

    runs: int | None  # after how many training runs; None where they were not counted
    configuration: str
    # Mean costs, NaN without runs. One is no measure of the other.
    training: float
    test: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The earlier incumbent that is most surely better than the winner on the test runs."""

    configuration: str
    difference: float  # mean of winner − this one on the test units of both
    lower: float  # its guaranteed limit, at δ/(k − 1) for k incumbents
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Over-tuning: how much better the winner looked in training than it is."""

    # Of a list: the mean of test cost − training cost of the configuration that half of the units
    # chooses, carried over to all units; None where there is no list.
    error: float | None
    held_out: float | None  # mean cost of those configurations on the other half, for scale
    splits: int
    incumbents: tuple[Incumbent, ...] = ()  # where there are test runs of them
    earlier: Earlier | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A row of the ranking."""

    configuration: str
    cost: float  # in training: the plain mean of its runs (of its families where these are units)
    runs: int
    instances: int
    test_cost: float  # NaN where it was not tested
    maybe_best: bool | None  # in the set that contains the best of the list; None: not compared


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Assessment:
    """What can be said about a winner on instances nobody has seen.

    Attributes
    ----------
    evidence
        Which runs count and why, or why none do.
    grade
        The one judgement, by the primary criterion.
    green
        Whether it is "better" without a condition.
    same
        Winner and default on the same instances; None without a default or common instances.
    statements
        All statements about new instances, the primary one first.
    ladder
        For which penalties better or worse is proven; None where costs have none.
    selection
        Over-tuning, as far as it can be measured.
    best_set
        The configurations of the list of which one is the best with probability 1 − δ.
    ranking
        All configurations, the best first. Where configurations were run on different instances,
        the order adjusts for their difficulty; the costs printed never do.
    noise
        Variance within and across instances.
    """

    log: Log
    question: Question
    evidence: Evidence | Refusal
    winner: str
    default: str | None
    grade: Grade
    green: bool
    same: SameInstances | None
    statements: tuple[Statement, ...]
    ladder: Ladder | None
    selection: Selection | None
    best_set: tuple[str, ...] | None
    ranking: tuple[Ranked, ...]
    noise: "VarianceComponents | None"
    caveats: tuple[Caveat, ...]

    def statement(self, quantity: str, configuration: str | None = None) -> Statement | None:
        """The statement on this quantity (about the winner, unless told otherwise), if any."""
        wanted = (quantity, configuration or self.winner)
        return next(
            (one for one in self.statements if (one.quantity, one.configuration) == wanted), None
        )

    @property
    def condition(self) -> str | None:
        """The assumption behind the statements that the log does not confirm."""
        return self.evidence.condition if isinstance(self.evidence, Evidence) else None

    @property
    def margin_kept(self) -> bool | None:
        """Whether it is proven that the winner costs at most the margin more; None without one."""
        if self.question.margin is None:
            return None
        margin = self.statement("margin")
        return margin is not None and margin.proven > 0 and self.condition is None

    @property
    def exit_code(self) -> int:
        """0: better (with a margin: proven at most that much worse), unconditionally; else 1."""
        return int(not (self.green if self.margin_kept is None else self.margin_kept))

    def summary(self) -> str:
        """The verdict as text, as the terminal shows it."""
        return str(import_module("truecost.show.verdict").text(self))

    def to_frame(self) -> "pd.DataFrame":
        """The statements as a table, one row each."""
        import pandas as pd

        return pd.DataFrame([plain(one) for one in self.statements])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the runs, and the verdict in words, ready for JSON: non-finite numbers are
        None, an infinite penalty is "inf".
        """
        return {
            "schema": SCHEMA,
            "grade": self.grade,
            "green": self.green,
            "exit_code": self.exit_code,
            "verdict": import_module("truecost.show.verdict").to_dict(self),
            **plain(replace(self, log=self._log_of_two())),
        }

    def _log_of_two(self) -> Log:
        """The log with the parameter values of winner and default only: others would fill pages."""
        known = self.log.parameters
        shown = {name: known[name] for name in (self.winner, self.default or "") if name in known}
        return self.log.replace(parameters=shown)

    def __repr__(self) -> str:
        rival = "" if self.default is None else f" against {self.default!r}"
        return f"<Assessment: {self.winner!r}{rival}: {self.grade}>"


def plain(value: Any, name: str = "") -> Any:
    """A record as dictionaries, lists and numbers, without matrices and parameter values."""
    if isinstance(value, CostMatrix):
        configurations, instances, runs = value.shape
        return {"configurations": configurations, "instances": instances, "runs": runs}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if is_dataclass(value) and not isinstance(value, type):
        record = {entry.name: plain(getattr(value, entry.name), entry.name)
                  for entry in fields(value)}  # fmt: skip
        if isinstance(value, Statement):
            record["grade"] = None if value.no_difference is None else value.grade
        return record
    if isinstance(value, Mapping):
        return {str(key): plain(item, str(key)) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item, name) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not isfinite(value):
        return "inf" if name in ("penalty", "tried", "better", "worse") and isinf(value) else None
    return value
