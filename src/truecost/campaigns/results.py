"""What campaigns return: small records, with the verdict read from the journal on demand."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecost.campaigns.budget import Budget
from truecost.journal.journal import Journal

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.matrix.log import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What `gather` did.

    Attributes
    ----------
    scenario, journal
        The name of the scenario, and the file with the runs.
    runs, planned
        Runs in the journal, and in the design.
    cpu, spent
        CPU seconds of all runs; what they took of the budget, in runs.
    configurations, instances
        The size of the design.
    stop
        Why it ended.
    """

    scenario: str
    journal: Path
    runs: int
    planned: int
    cpu: float
    spent: float
    configurations: int
    instances: int
    stop: str = "finished"

    @property
    def log(self) -> "Log":
        """The runs."""
        return log_of(self.journal)

    @property
    def assessment(self) -> "Assessment":
        """The verdict on the best configuration of the list."""
        from truecost.judge.assess import assess

        return assess(self.log)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "scenario": self.scenario,
            "journal": str(self.journal),
            "runs": self.runs,
            "planned": self.planned,
            "cpu": self.cpu,
            "configurations": self.configurations,
            "instances": self.instances,
            "stop": self.stop,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Where a test ended for now.

    `why`: "decided", "forecast" (the rest of the budget has a chance of less than 1 % to decide;
    `chance`), "budget", "instances" (all are run). `units`: how many units are complete.
    """

    why: str
    units: int
    chance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """What `validate` found.

    Attributes
    ----------
    scenario, journal
        The name of the scenario, and the file with the runs.
    assessments
        The verdict on each candidate, in the order they were named.
    stop
        Why it ended.
    runs, cpu, spent, budget
        Test runs, their CPU seconds, and what was spent of the budget, in its unit.
    instances, left_out
        Instances that could be used; and how many were left out, since the log has runs on them.
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

    Attributes
    ----------
    scenario, journal
        The name of the scenario, and the file with the runs.
    assessment
        The verdict on the incumbent, from runs on instances it was not trained on.
    incumbent, recommended, default
        The best configuration found; what to use (the default unless the incumbent's mean on new
        instances is lower); each with its values.
    origin, configurations, training_cost, standard_error, reason
        Where the incumbent came from, how many configurations were tried, its mean on training
        instances (too good, as a rule), and why the search ended.
    stop
        How the test ended; None where there was no test.
    runs, test_runs, censored, cpu, spent, budget
        Runs in all, on held-out instances, stopped at a cap; CPU seconds; what was spent of the
        budget, in its unit.
    """

    scenario: str
    journal: Path
    assessment: "Assessment"
    incumbent: Any
    recommended: Any
    default: Any
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
        named = ("incumbent", "recommended", "default")
        numbers = (
            "scenario", "origin", "configurations", "training_cost", "standard_error", "reason",
            "runs", "test_runs", "censored", "cpu", "spent",
        )  # fmt: skip
        return {
            **_plain(self, numbers),
            **{
                name: {"name": chosen.name, "values": dict(chosen.values)}
                for name in named
                if (chosen := getattr(self, name)) is not None
            },
            "assessment": self.assessment.to_dict(),
        }


def _plain(result: "Validated | Configured", names: tuple[str, ...]) -> dict[str, Any]:
    stop = result.stop
    return {
        **{name: getattr(result, name) for name in names},
        "journal": str(result.journal),
        "budget": {"amount": result.budget.amount, "unit": result.budget.unit},
        "stop": None if stop is None else {"why": stop.why, "units": stop.units,
                                           "chance": stop.chance},
    }  # fmt: skip


def log_of(path: Path) -> "Log":
    """The log of a journal."""
    with Journal.read(path) as journal:
        return journal.log()
