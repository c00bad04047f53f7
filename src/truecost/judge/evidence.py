"""Which runs count for statements about new instances, and why."""

from dataclasses import dataclass
from typing import Literal

from truecost.errors import Refusal
from truecost.judge.question import Basis, Question
from truecost.matrix import CostMatrix, Log
from truecost.matrix.log import Sampled


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The runs that count, and on which terms.

    Attributes
    ----------
    runs
        Winner and default (and for a list all candidates that have them) on the instances that
        count, in betting order where one was recorded.
    source
        Whether these are test runs or training runs.
    basis
        Why they may be used: fresh instances, a configuration fixed before, or a fixed list.
    candidates
        The length of the list, discarded candidates included; 1 unless `basis` is "list".
    rivals
        By how much δ is divided where the default is compared with: `candidates`, less the default
        where it is on the list.
    sampled
        The unit: what was sampled independently.
    units
        How many units there are.
    planned
        How many units the first plan had.
    watched
        Whether somebody may have looked after every unit.
    share
        The share of δ that these runs may use.
    condition
        An assumption that the log does not confirm; None: unconditional.
    """

    runs: CostMatrix
    source: Literal["test", "training"]
    basis: Basis
    candidates: int
    rivals: int
    sampled: Sampled
    units: int
    planned: int
    watched: bool
    share: float
    condition: str | None = None


def gather_evidence(
    log: Log, question: Question, winner: str, default: str | None
) -> Evidence | Refusal:
    """Decide which runs of a log can be used to judge the winner, and why."""
    raise NotImplementedError
