"""`truecost bound` and `truecost plan`."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from truecost.cli.asking import assessed, context
from truecost.cli.command import declared
from truecost.cli.options import (
    ASSUMED,
    BUDGET,
    Across,
    Configurations,
    Instances,
    Json,
    Question,
    Within,
    asked,
    out_option,
)
from truecost.cli.printing import answer, print_line
from truecost.cli.reading import Source, check_out, names_in
from truecost.errors import InputError

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment
    from truecost.judge.bounds import Subject
    from truecost.plan.answers import Pilot, PlanAnswer


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
        subject = _assumed_subject(source, assumptions)
    else:
        for flag in assumptions.given:
            raise InputError(f"Expected either runs or {flag}, got both: the runs have their own.")
        assessment = assessed(source, question)
        subject = subject_of(assessment.matrix, assessment.incumbent, scores=assessment.log.scores)
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


def _assumed_subject(source: Source, assumptions: Assumptions) -> "Subject":
    from truecost.judge.bounds import assumed_subject

    names = ("within", "across", "instances")
    known = _in_place_of_runs(
        **{name: getattr(assumptions, name) for name in names}, high=source.high
    )
    return assumed_subject(**known, runs=assumptions.total_runs, low=source.low or 0.0)


def _in_place_of_runs(**assumptions: float | None) -> dict[str, Any]:
    """The assumptions, all of which are needed where there are no runs."""
    if missing := [f"--{name}" for name, value in assumptions.items() if value is None]:
        needed = ", ".join(f"--{name}" for name in assumptions)
        raise InputError(f"Expected runs, or {needed}: {', '.join(missing)} missing.")
    return assumptions


# Headings of the help: the options of a question would be lost in one list.
GOAL = "What is wanted"
PRICES = "Prices and limits"
APART = "Two configurations"
EXPORT = "A schedule for other configurators"


ExportKind = Literal["irace", "paramils", "smac"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is to be reached, or spent: one of these."""

    error: float | None = asked("The cheapest K and N with this standard error.", panel=GOAL)
    bound: float | None = asked(
        "The cheapest K and N with which true − training cost is below this.", panel=GOAL
    )
    budget: str | None = asked(f"{BUDGET}; times are CPU time.", panel=GOAL)
    show: str | None = asked(
        "New instances to show a statement: mean, wins, wins=0.6, speed-up=1.5 or solved=0.95.",
        panel=GOAL,
    )

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [f"--{name}" for name, value in asdict(self).items() if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What runs and instances cost, and how many there are."""

    configurations: Configurations = None
    within: Within = None
    across: Across = None
    price_run: float = asked("Price of a run, in any unit.", panel=PRICES, default=1.0)
    price_instance: float = asked("Price of a new instance, paid once.", panel=PRICES, default=0.0)
    instances: Instances = None
    seconds_per_run: float | None = asked(
        "CPU seconds per run; not needed for a journal.", panel=PRICES
    )

    @property
    def paid(self) -> dict[str, Any]:
        """What every plan takes into account."""
        return {name: getattr(self, name) for name in ("price_run", "price_instance", "instances")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two configurations to distinguish."""

    apart: tuple[str, str] | None = asked(
        "How many runs a paired t-test needs to distinguish two configurations; default and "
        "winner name those of the log.",
        panel=APART,
    )
    difference: float | None = asked(
        "The difference of true costs worth detecting; the pilot's if not given.", panel=APART
    )
    sd: float | None = asked(
        "Standard deviation of the difference on an instance, if assumed.", panel=APART
    )
    power: float = asked("Probability of detecting the difference.", panel=APART, default=0.8)
    level: float = asked("Probability of a false positive.", panel=APART, default=0.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A file that makes another configurator run what was planned."""

    export: ExportKind | None = asked("The configurator to write the order for.", panel=EXPORT)
    out: Annotated[Path | None, out_option("standard output if not given", EXPORT)] = None
    names: Path | None = asked(
        "A file with names of instances, one per line; else those of the runs.", panel=EXPORT
    )


@declared
def plan(
    source: Annotated[Source, "else assume --within and --across"],
    goal: Goal,
    question: Question,
    prices: Prices,
    pair: Pair,
    schedule: Schedule,
    json: Json = False,
) -> None:
    """How many runs on how many instances: to reach a precision, to spend a budget, or to
    distinguish two configurations.

    Prints the cheapest plan with runs spread evenly (S*), alternatives to it, and what the pilot's
    own allocation wastes. Variances from a pilot are estimates, and so is the plan.

    For instance: truecost plan pilot.npz --error 0.5, truecost plan pilot.npz --budget 5000runs
    --price-instance 10, truecost plan pilot.npz --apart default winner, truecost plan pilot.npz
    --budget 500runs --export irace --out order.txt.
    """
    check_out(schedule.out, source.runs, schedule.names)
    if pair.apart is not None or pair.sd is not None:
        if goal.given:
            raise InputError(
                f"Expected either {goal.given[0]} or two configurations to distinguish, got both."
            )
        if schedule.export is not None:
            raise InputError("Expected no --export with --apart.")
        _tell_apart(source, question, pair, prices, json)
        return
    if len(goal.given) != 1:
        raise InputError(
            "Expected one of --error, --bound, --budget, --show, or --apart A B: what is to be "
            "reached, or spent."
        )
    assessment = None if source.runs is None else assessed(source, question)
    if goal.show is not None:
        if assessment is None or schedule.export is not None:
            raise InputError("Expected runs to show something by with --show, and no --export.")
        _show(assessment, goal.show, pair.power, json)
        return
    if assessment is not None and (prices.within is not None or prices.across is not None):
        raise InputError(
            "Expected either runs or --within and --across, got both: the runs have their own."
        )
    pilot = _assumed(source, prices) if assessment is None else _pilot(source, assessment)
    planned, names = _planned(pilot, goal, question, prices, schedule)
    known = {} if assessment is None else assessment.to_dict()
    data = {**known, "plan": planned.to_dict()}
    if schedule.export is not None:
        if assessment is not None and assessment.scope.unit == "family":
            raise InputError("Expected no --export with --sampled family: it lists instances.")
        _export(planned, data, names, schedule.export, schedule.out, question.seed or 0, json)
        return
    from truecost.show.document import plan_section

    unit = "instance" if assessment is None else assessment.scope.unit
    answer(json, data, lambda: plan_section(planned, context(source, question), unit))


def _planned(
    pilot: "Pilot", goal: Goal, question: Question, prices: Prices, schedule: Schedule
) -> "tuple[PlanAnswer, tuple[str, ...]]":
    """The plan from a pilot, and the names of the instances to choose from."""
    from truecost.plan.answers import answer as planned_for
    from truecost.plan.answers import with_seconds

    pilot = with_seconds(pilot, prices.seconds_per_run)
    names = pilot.names if schedule.names is None else tuple(names_in(schedule.names))
    paid = prices.paid
    if schedule.export is not None:
        if not names:
            raise InputError(
                "Expected names of instances to export: runs, or --names FILE with one per line."
            )
        # A schedule needs a name for every instance it plans with.
        paid["instances"] = min(len(names), prices.instances or len(names))
    budget = goal.budget
    planned = planned_for(
        pilot,
        error=goal.error,
        bound=goal.bound,
        budget=None if budget is None else _price(budget, prices.price_run, pilot.seconds),
        delta=question.delta,
        configurations=prices.configurations or 1,
        **paid,
    )
    return planned, names


def _show(assessment: "Assessment", what: str, power: float, json: bool) -> None:
    from truecost.show.document import Case, Context, show_section

    forecast = assessment.forecast(what, power=power)
    comparison, default = assessment.comparison, assessment.default
    case = Case(assessment, Context())
    name = assessment.incumbent if comparison is None else comparison.configuration
    # The same runs that the comparison is made from.
    counts = assessment.compared.select(configurations=[name]).counts()
    answer(
        json,
        lambda: {**assessment.to_dict(), "plan": {"show": what, **asdict(forecast.forecast)}},
        lambda: show_section(
            forecast,
            case.called(name),
            None if default is None else case.called(default),
            float(counts[counts > 0].mean()),
            case.scale,
        ),
    )


def _pilot(source: Source, assessment: "Assessment") -> "Pilot":
    from truecost.plan.answers import Pilot
    from truecost.stats.allocation import Allocation

    matrix = assessment.matrix
    return Pilot(
        components=assessment.costs.components[assessment.place],
        # Without a range there is no bound, but still a standard error.
        width=matrix.width if matrix.width < float("inf") else None,
        configuration=assessment.incumbent,
        allocation=Allocation.of(matrix.counts()[assessment.place]),
        names=matrix.instances,
        seconds=_seconds(source, assessment.incumbent),
    )


def _seconds(source: Source, configuration: str) -> float | None:
    """The mean CPU time of its runs, which a journal has."""
    from truecost.journal.file import is_journal

    if source.place is None or not is_journal(source.place, marked=True):
        return None
    from truecost.journal.journal import Journal

    with Journal.read(source.place) as journal:
        table = journal.table()
    if configuration not in table.configurations:
        return None
    # Runs ahead of slower ones are no sample of all; the matrix leaves them out too.
    cpu = table.cpu[
        ~table.ahead & (table.configuration == table.configurations.index(configuration))
    ]
    return float(cpu.mean()) if cpu.size and cpu.mean() > 0 else None


def _assumed(source: Source, prices: Prices) -> "Pilot":
    from truecost.plan.answers import Pilot
    from truecost.stats.variance import VarianceComponents

    variances = _in_place_of_runs(within=prices.within, across=prices.across)
    width = None if source.high is None else source.high - (source.low or 0.0)
    return Pilot(components=VarianceComponents.known(**variances), width=width)


def _price(text: str, price_run: float, seconds: float | None) -> float:
    """A budget in the unit of the prices."""
    from truecost.campaigns.budget import Budget

    budget = Budget.parse(text)
    if budget.unit == "runs":
        return budget.amount * price_run
    if seconds is None:
        raise InputError(
            f"Expected --seconds-per-run with a --budget of {text}: only a journal knows how long "
            "runs take."
        )
    return budget.amount / seconds * price_run


def _export(
    planned: "PlanAnswer",
    data: dict[str, Any],
    names: tuple[str, ...],
    kind: Any,
    out: Path | None,
    seed: int,
    json: bool,
) -> None:
    from truecost.matrix.files import whole_file
    from truecost.plan import schedules
    from truecost.show.document import Context, plan_section

    best = planned.best
    drawn = schedules.draw(names, instances=best.instances, runs=best.runs, rng=seed)
    content = schedules.export(drawn, kind)
    use = schedules.how_to_use(drawn, kind, str(out or "FILE"))
    if out is not None:
        with whole_file(out) as file:
            file.write(content.encode())
    exported = {"kind": kind, "file": out, "content": content, "use": use}

    def lines() -> None:
        if out is None:
            sys.stdout.write(content)
            return
        answer(False, dict, lambda: plan_section(planned, Context()))
        print_line(
            f"{out}: {best.runs:,} runs on {best.instances:,} instances in S* order for {kind}. "
            "Use it with"
        )
        for line in use:
            print_line(f"    {line}", wrap=False)

    answer(json, {**data, "export": exported}, lines)


def _tell_apart(source: Source, question: Question, pair: Pair, prices: Prices, json: bool) -> None:
    from truecost.matrix.cost_matrix import LARGEST, SMALLEST
    from truecost.plan.power import paired_differences, runs_to_tell_apart
    from truecost.show.document import power_section
    from truecost.stats.variance import VarianceComponents, variance_components

    observed, known, unit = None, {}, "instance"
    if pair.sd is not None:
        if source.runs is not None or pair.apart is not None:
            raise InputError("Expected either --sd or runs with --apart A B, got both.")
        if pair.difference is None:
            raise InputError("Expected --difference with --sd: the difference worth finding.")
        if pair.sd != 0 and not SMALLEST <= pair.sd <= LARGEST:
            least = f"0, or from {SMALLEST:g} to {LARGEST:g}"
            raise InputError(f"Expected --sd of {least}, got {pair.sd}.")
        # The deviation that is assumed is that of an instance, whatever it comes from.
        components = VarianceComponents.known(within=0, across=pair.sd**2)
    else:
        if source.runs is None or pair.apart is None:
            raise InputError("Expected runs with --apart A B, or --sd and --difference.")
        from truecost.stats.estimate import training_cost

        assessment = assessed(source, question)
        # A configuration that is called so goes before the role.
        roles = {"default": assessment.default, "winner": assessment.incumbent}
        known_names = assessment.matrix.configurations
        first, second = (
            name if name in known_names else roles.get(name) or name for name in pair.apart
        )
        differences = paired_differences(assessment.matrix, first, second)
        known, unit = assessment.to_dict(), assessment.scope.unit
        components = variance_components(differences)
        costs = training_cost(differences, weights="instances")
        observed = (costs.cost.item(), costs.standard_error.item())
    target = pair.difference
    if target is None:
        target = 0.0 if observed is None else observed[0]
        if target == 0:
            raise InputError("Expected --difference: in the pilot the two cost the same.")
    needed = runs_to_tell_apart(
        components=components, difference=target, power=pair.power, level=pair.level, **prices.paid
    )
    difference, standard_error = observed or (None, None)
    answer(
        json,
        lambda: {
            **known,
            "tell_apart": {
                "configurations": pair.apart,
                "observed_difference": difference,
                "observed_standard_error": standard_error,
                "within": components.within.item(),
                "across": components.across.item(),
                **asdict(needed),
            },
        },
        lambda: power_section(
            needed, pair.apart, observed, observed=pair.difference is None, sampled=unit
        ),
    )
