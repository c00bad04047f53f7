"""What campaigns return: small records, with the verdict read from the journal."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.campaigns.budget import Budget
from truecost.journal.journal import Journal

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.matrix.log import Log
    from truecost.space.space import Configuration


class _Result:
    """A record with plain data for JSON."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered(_Result):
    """What `gather` did: `configurations` × `instances`, `planned` runs; CPU seconds of all."""

    scenario: str
    journal: Path
    runs: int
    planned: int
    cpu: float
    configurations: int
    instances: int

    @property
    def log(self) -> "Log":
        """The runs."""
        with Journal.read(self.journal) as journal:
            return journal.log()

    @property
    def assessment(self) -> "Assessment":
        """The verdict on the best configuration of the list."""
        from truecost.judge.assess import assess

        return assess(self.log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Where a test ended for now.

    `why`: "decided", "forecast" (the rest has a `chance` of less than 1 % to prove the candidate
    better), "budget", "instances" (all are run). `units`: how many units are complete, in how many
    `runs`; `decided`: how many it took to decide the question, None while it is open.
    """

    why: str
    units: int
    runs: int
    decided: int | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated(_Result):
    """The outcome of `validate`.

    `assessments` are in the order in which the candidates were named. `runs` and `cpu` are those of
    the test; `spent` is in the budget's unit; `left_out` counts instances that the log has runs on,
    or with the content of another one.
    """

    scenario: str
    journal: Path
    assessments: "tuple[Assessment, ...]"
    stop: Stop
    runs: int
    cpu: float
    spent: float
    budget: Budget
    instances: int
    left_out: int = 0

    @property
    def assessment(self) -> "Assessment":
        """The verdict on the first candidate."""
        return self.assessments[0]

    @property
    def exit_code(self) -> int:
        """0 if every candidate is proven better (with a margin: at most that much worse)."""
        return max(assessment.exit_code for assessment in self.assessments)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**_Result.to_dict(self), "exit_code": self.exit_code}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured(_Result):
    """The outcome of `configure`.

    `recommended` is the default unless the incumbent is better on new instances by more than
    noise; `origin` is where the incumbent came from; `training_cost` is its mean on training
    instances, too good as a rule, with a `standard_error`; `reason` is why the search ended,
    `stop` how the test did (None: there was none). `test_runs` are on held-out instances.
    """

    scenario: str
    journal: Path
    assessment: "Assessment"
    incumbent: "Configuration"
    recommended: "Configuration"
    default: "Configuration"
    origin: str
    configurations: int
    training_cost: float
    standard_error: float
    reason: str
    stop: Stop | None
    runs: int
    test_runs: int
    cpu: float
    spent: float
    budget: Budget
