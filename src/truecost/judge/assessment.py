"""The verdict on a log as records: every number that the terminal, the page and JSON show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from math import isfinite, isinf
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from truecost.errors import Refusal
from truecost.judge.evidence import Evidence
from truecost.judge.pairs import SameInstances
from truecost.judge.question import Question
from truecost.matrix import CostMatrix, Log
from truecost.runs import Caveat

if TYPE_CHECKING:
    import pandas as pd

    from truecost.stats.selection import Selection
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
# Quantities of which less is better.
COSTS: Final = ("mean", "difference")


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
        of costs is unknown.
    proven
        −1: proven to be below `no_difference`; 1: above; 0: neither.
    approximate
        The two-sided 1 − δ interval that is only approximate; `no_approximate` says why there is
        none.
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
    proven: int = 0
    approximate: tuple[float, float] | None = None
    no_approximate: str = ""
    delta: float
    no_difference: float | None = None
    penalty: float | None = None
    shift: float | None = None

    @property
    def grade(self) -> Grade:
        """How the configuration compares with the default in this quantity."""
        good = -1 if self.quantity in COSTS else 1
        if self.proven:
            return "better" if self.proven == good else "worse"
        if self.approximate is None or self.no_difference is None:
            return "undecided"
        low, high = self.approximate
        side = int(low > self.no_difference) - int(high < self.no_difference)
        if not side:
            return "undecided"
        return "probably better" if side == good else "probably worse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """For which penalties, in cutoffs, the winner is proven better or worse on average."""

    statements: tuple[Statement, ...]  # the difference at each penalty tried; inf: failures only
    # The lowest and highest penalty at which it is proven; None where it is at none.
    better: tuple[float, float] | None
    worse: tuple[float, float] | None
    # Proven in one direction at some penalty, observed in the other at the declared one: faster,
    # but failed more often, or slower and failed less often.
    mixed: bool

    @property
    def proven(self) -> tuple[Grade, float, float] | None:
        """The direction that is proven, from the lowest to the highest penalty."""
        if self.better is not None:
            return ("better", *self.better)
        return None if self.worse is None else ("worse", *self.worse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A row of the ranking; costs are plain means, over families where these are units."""

    configuration: str
    cost: float  # in training
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
    same
        Winner and default on the same instances; None without a default or common instances.
    training
        The same of the training runs, where `same` is about test runs.
    statements
        All statements about new instances, the primary one first.
    ladder
        For which penalties better or worse is proven; None where costs have none.
    selection
        Of a list: by how much the configuration that looks best looks better than it is.
    ranking
        All configurations, the best in training first. Where configurations were run on different
        instances, the order adjusts for their difficulty; the costs printed never do.
    noise
        Variance within and across instances, of the winner.
    caveats
        One line each; those on which the guarantees depend come first.
    """

    log: Log
    question: Question
    evidence: Evidence | Refusal
    winner: str
    default: str | None
    same: SameInstances | None
    training: SameInstances | None
    statements: tuple[Statement, ...]
    ladder: Ladder | None
    selection: "Selection | None"
    ranking: tuple[Ranked, ...]
    noise: "VarianceComponents | None"
    caveats: tuple[Caveat, ...]

    def statement(self, quantity: str) -> Statement | None:
        """The winner's statement on this quantity, if any."""
        wanted = (quantity, self.winner)
        return next(
            (one for one in self.statements if (one.quantity, one.configuration) == wanted), None
        )

    @property
    def grade(self) -> Grade:
        """The one judgement, by the primary criterion."""
        return grade_of(self.statements)

    @property
    def green(self) -> bool:
        """Whether it is "better" without a condition."""
        return self.grade == "better" and self.condition is None

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
        return str(import_module("truecost.show.terminal").screen(self))

    def to_frame(self) -> "pd.DataFrame":
        """The statements as a table, one row each."""
        import pandas as pd

        return pd.DataFrame([plain(one) for one in self.statements])

    def to_dict(self) -> dict[str, Any]:
        """Everything but the runs, and the verdict in words, ready for JSON: non-finite numbers are
        None, an infinite penalty is "inf".
        """
        values = self.log.parameters
        # Of all configurations they would fill pages.
        two = {name: values[name] for name in (self.winner, self.default or "") if name in values}
        return {
            "schema": SCHEMA,
            "grade": self.grade,
            "green": self.green,
            "exit_code": self.exit_code,
            "verdict": import_module("truecost.show.verdict").to_dict(self),
            **plain(replace(self, log=self.log.replace(parameters=two))),
        }

    def __repr__(self) -> str:
        rival = "" if self.default is None else f" against {self.default!r}"
        return f"<Assessment: {self.winner!r}{rival}: {self.grade}>"


def grade_of(statements: Sequence[Statement]) -> Grade:
    """The grade of the first statement; with a margin that both sides keep, no relevant
    difference unless it is proven.
    """
    if not statements or statements[0].no_difference is None:
        return "not testable"
    grade = statements[0].grade
    kept = [one.proven > 0 for one in statements if one.quantity == "margin"]
    if grade not in ("better", "worse") and kept and all(kept):
        return "no relevant difference"
    return grade


def plain(value: Any, name: str = "") -> Any:
    """A record as dictionaries, lists and numbers; of a matrix its size."""
    if isinstance(value, CostMatrix):
        return dict(zip(("configurations", "instances", "runs"), value.shape, strict=True))
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
        return "inf" if name in ("penalty", "better", "worse") and isinf(value) else None
    return value
