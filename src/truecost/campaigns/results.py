"""What campaigns return: small records, with the verdict read from the journal on demand."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.campaigns.budget import Budget
from truecost.journal.journal import Journal

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.matrix.log import Log
    from truecost.space.space import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {**asdict(self), "journal": str(self.journal)}


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
class Validated:
    """What `validate` found.

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
        return {
            **_plain(self, ("scenario", "runs", "cpu", "spent", "instances", "left_out")),
            "candidates": [assessment.to_dict() for assessment in self.assessments],
            "exit_code": self.exit_code,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What `configure` found.

    `recommended` is the default unless the incumbent is better on new instances by more than
    noise; `origin` is where the incumbent came from; `training_cost` is its mean on training
    instances, too good as a rule, with a `standard_error`; `reason` is why the search ended,
    `stop` how the test did (None: there was none). `test_runs` are on held-out instances;
    `censored` runs were stopped at a cap.
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
    censored: int
    cpu: float
    spent: float
    budget: Budget

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        numbers = (
            "scenario", "origin", "configurations", "training_cost", "standard_error", "reason",
            "runs", "test_runs", "censored", "cpu", "spent",
        )  # fmt: skip
        chosen = {name: getattr(self, name) for name in ("incumbent", "recommended", "default")}
        return {
            **_plain(self, numbers),
            **{
                name: {"name": one.name, "values": dict(one.values)} for name, one in chosen.items()
            },
            "assessment": self.assessment.to_dict(),
        }


def _plain(result: Validated | Configured, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        **{name: getattr(result, name) for name in names},
        "journal": str(result.journal),
        "budget": asdict(result.budget),
        "stop": None if result.stop is None else asdict(result.stop),
    }
