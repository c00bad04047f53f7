"""`truecost bound`."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

from truecost.cli.asking import assessed
from truecost.cli.command import declared
from truecost.cli.options import (
    ASSUMED,
    Across,
    Configurations,
    Instances,
    Json,
    Question,
    Within,
    asked,
)
from truecost.cli.printing import answer
from truecost.cli.reading import Source
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.judge.bounds import Subject

SPACE = "A whole parameter space (Theorem 3)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What stands in for runs."""

    within: Within = None
    across: Across = None
    instances: Instances = None
    total_runs: int | None = asked(
        "N, the number of runs, spread evenly; one per instance if not given.", panel=ASSUMED, min=1
    )

    @property
    def given(self) -> dict[str, float]:
        """The options that were given, with their values."""
        return {
            f"--{name.replace('_', '-')}": value
            for name, value in asdict(self).items()
            if value is not None
        }


@declared
def bound(
    source: Annotated[Source, "else say what to assume, with the options below"],
    question: Question,
    assumptions: Assumptions,
    configurations: Configurations = None,
    epsilon: float | None = asked(
        "Also say at which δ, m, N and K the bound reaches this ε (runs spread evenly)."
    ),
    dimension: int | None = asked("h, the number of parameters.", panel=SPACE, min=1),
    radius: float = asked("R of the ball that holds the space.", panel=SPACE, default=1.0),
    lipschitz: float | None = asked(
        "L_f: the most a cost can change per unit of distance.", panel=SPACE
    ),
    json: Json = False,
) -> None:
    """How far the true cost can lie above the mean of the runs, by the bounds of the paper: for one
    configuration, for all at once, for a whole space.

    The bounds assume independent instances and seeds, numbers of runs that do not depend on costs,
    configurations fixed before any cost was seen, and known variances. With variances estimated
    from runs they are a guide, not a guarantee; `certify` gives guarantees.
    """
    from truecost.judge.bounds import paper_bounds, subject_of
    from truecost.show.document import bounds_section

    known = {}
    if source.runs is None:
        subject = _assumed(source, assumptions)
    else:
        for flag in assumptions.given:
            raise InputError(f"Expected either runs or {flag}, got both: the runs have their own.")
        assessment = assessed(source, question)
        subject = subject_of(assessment.matrix, assessment.incumbent)
        known = assessment.to_dict()
    if (dimension is None) != (lipschitz is None):
        raise InputError("Expected --dimension and --lipschitz together: Theorem 3 needs both.")
    several = subject.components.within.size
    if configurations is not None and configurations < several and question.configuration is None:
        raise InputError(
            f"Expected at least {several} --configurations, as many as there are in the runs, got "
            f"{configurations}: the best of them is chosen by its costs. Name the --configuration "
            "if it was chosen beforehand."
        )
    bounds = paper_bounds(
        subject,
        delta=question.delta,
        configurations=configurations,
        space=None if dimension is None or lipschitz is None else (dimension, radius, lipschitz),
        epsilon=epsilon,
    )
    answer(json, {**known, "bounds": bounds}, lambda: bounds_section(bounds), details=True)


def _assumed(source: Source, assumptions: Assumptions) -> "Subject":
    from truecost.judge.bounds import assumed_subject

    within, across, instances = assumptions.within, assumptions.across, assumptions.instances
    if within is None or across is None or instances is None or source.high is None:
        needed = ("--within", "--across", "--instances", "--high")
        given = {*assumptions.given, *([] if source.high is None else ["--high"])}
        missing = [flag for flag in needed if flag not in given]
        raise InputError(f"Expected runs, or {', '.join(needed)}: {', '.join(missing)} missing.")
    return assumed_subject(
        within=within,
        across=across,
        instances=instances,
        runs=assumptions.total_runs,
        low=source.low or 0.0,
        high=source.high,
    )
