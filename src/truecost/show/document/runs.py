"""What was run, and how noisy: sizes, how runs ended, where configurations come from, the table of
all, and where the error of the training cost comes from.
"""

import math
from typing import Any

import numpy as np

from truecost.errors import Refusal
from truecost.judge.assessment import Assessment
from truecost.judge.costs import NOTHING
from truecost.matrix import CostMatrix
from truecost.runs import NO_STATUS, status_counts
from truecost.show.blocks import Block, Cell, Column, Fact, Facts, Figure, Section, Table, Text
from truecost.show.document.about import between_families
from truecost.show.document.context import Case
from truecost.show.numbers import counted, ends, given, number, percent, percents, plural

# Rows of the table of configurations: more make a large file that nobody scrolls through.
MOST_ROWS = 500
SINGLE = (
    "Variance between seeds and between instances cannot be separated: no configuration has two "
    "runs on two instances. Run some again."
)


def what_was_run(case: Case, top: int = 10) -> Section:
    """Return sizes, origins, outcomes and configurations; a terminal shows the `top` ones."""
    assessment, noun = case.assessment, case.mean_scale.noun
    matrix, utility = assessment.log.matrix, assessment.log.utility
    configurations, instances, repeats = matrix.shape
    runs, censored = int(assessment.costs.runs.sum()), int(assessment.censored.sum())
    missing = matrix.costs.size - runs
    span, unit, costs = "unknown", "", f"{noun} range unknown"
    if math.isfinite(matrix.width):
        low, high = map(given, case.mean_scale.range(matrix.low, matrix.high))
        span, unit = f"{low} to {high}", case.context.in_unit
        costs = f"{plural(noun)} in [{low}, {high}]"
    facts = (
        Fact("configuration", configurations, f"{configurations:,}", "configurations"),
        Fact("instance", instances, f"{instances:,}", "instances"),
        Fact("runs-each", repeats, f"{repeats:,}"),
        Fact("run", runs, f"{runs:,}", "runs"),
        Fact("missing", missing, f"{missing:,}" if missing else "none"),
        *([Fact("censored", censored, f"{censored:,}")] if censored else []),
        Fact("range", [matrix.low, matrix.high], span, f"{noun} range", unit),
    )
    title, notes = f"Every {noun} at a glance", tuple(_marks(assessment, missing))

    def picture() -> dict[str, Any]:
        shift = case.mean_scale.origin
        parts = {name: getattr(matrix, name) - shift for name in ("costs", "low", "high")}
        return {"matrix": matrix.replace(**parts), "order": assessment.costs.order.tolist()}

    blocks: list[Block] = [
        Facts(facts, page_only=True),
        Text(origin(case)),
        *map(Text, filter(None, (utility and worth(utility), between_families(case)))),
        *(Text(text, aside=True) for text in left_out(assessment)),
        _endings(assessment, runs),
        *map(Text, filter(None, (stopped_early(matrix),))),
        case.figure("matrix", title, notes, picture, means=True, wide=False),
    ]
    # With guaranteed sets of the best, their own section has the ranking.
    unsure = isinstance(assessment.beside.whole_list, Refusal)
    if unsure and int(assessment.costs.ranked.sum()) > 1:
        blocks.append(_ranking(case))
    blocks.append(_configurations(case, top))
    blocks += [Text(text, aside=True) for text in _notes(case, top)]
    sizes = f"{counted(configurations, 'configuration')} on {counted(instances, 'instance')}"
    gaps = f"{missing:,} missing" if missing else "none missing"
    lead = f"{counted(runs, 'run')} of {sizes}, up to {repeats:,} each, {gaps}; {costs}."
    return Section("run", "What was run?", lead, tuple(blocks))


def _marks(assessment: Assessment, missing: int) -> list[str]:
    """Return what the picture shows besides colours."""
    notes = []
    if missing:
        raced = ": a race stops those that fall behind" if assessment.trajectory.raced else ""
        notes.append(f"Grey cells have no run{raced}.")
    if assessment.failed.any() and assessment.failed_known:
        failed = "failed runs" if assessment.matrix.has_statuses else "runs with the highest cost"
        notes.append(f"White dots: {failed}.")
    if assessment.censored.any():
        notes.append("Censored runs are coloured as charged.")
    return notes


def origin(case: Case) -> str:
    """Return where the configurations come from."""
    assessment = case.assessment
    trajectory, test = assessment.trajectory, assessment.test
    tool = trajectory.tool
    text = {
        "unknown": "How the configurations were chosen is unknown.",
        "beforehand": f"Recorded by {tool}; the configurations were fixed before any run.",
        "adaptively": f"Recorded by {tool}, which tuned on these instances: they cannot certify "
        "its winner.",
    }[trajectory.proposed]
    # Without instances there are none to be tuned on.
    if case.nowhere and trajectory.proposed == "adaptively":
        text = f"Recorded by {tool}, without instances."
    if trajectory.raced:
        text += " It raced: the number of runs depended on observed costs."
    if trajectory.unfinished and trajectory.raced:
        text += " The search had not finished."
    elif trajectory.unfinished:
        text += " More runs are planned: bounds remain valid while runs are added."
    if test is not None:
        sizes = counted(len(test.configurations), "configuration")
        total, where = int(test.counts().sum()), counted(len(test.instances), "instance")
        text += f" Test runs: {total:,} of {sizes} on {where}."
    return text


def worth(utility: str) -> str:
    """Return what costs mean if they are computed from a utility."""
    kind, _, rest = utility.partition("=")
    at, _, shape = rest.partition(",")
    value = {
        "step": f"1 if it is solved within {at} s, otherwise 0",
        "linear": f"1 at once, falling linearly to 0 at {at} s",
        "half-life": f"1 at once, and half as much after every {at} s",
        "log-laplace": f"1 at once, ½ at {at} s, and falls as 1/t{f'^{shape}' if shape else ''} "
        "after that",
    }[kind]
    return f"Costs are 1 − utility ({utility}): the value of a run is {value}; 0 if never solved."


def sizes_of(case: Case) -> str:
    """Return how many runs of what there are; a product only if it is their number."""
    matrix, sampled = case.assessment.log.matrix, case.assessment.scope.sampled
    names = ("configuration", "fold" if sampled == "fold" else "instance", "run")
    runs = int(case.assessment.costs.runs.sum())
    configurations, instances, repeats = map(counted, matrix.shape, names)
    if case.nowhere:
        return f"{counted(runs, 'run')} of {configurations}, without instances"
    if sampled == "family" and matrix.families is not None:
        instances += f" of {counted(len(set(matrix.families)), 'family')}"
    if runs == math.prod(matrix.shape):
        return f"{configurations} × {instances} × {repeats}"
    return f"{counted(runs, 'run')} of {configurations} on {instances}"


def how_read(case: Case) -> Section | None:
    """Return what was left out or assumed when the runs were read; None if nothing was."""
    if not (lines := left_out(case.assessment)):
        return None
    return Section("read", "How were the runs read?", lines[0], tuple(map(Text, lines[1:])))


def left_out(assessment: Assessment) -> list[str]:
    """Return what was left out or assumed when the runs were read."""
    log = assessment.log
    return [*log.omissions, *_trained_on(assessment), *log.notes]


def _trained_on(assessment: Assessment) -> list[str]:
    """Return how many test instances are not new."""
    if assessment.test is None:
        return []
    total = len(assessment.test.instances)
    known = total - (0 if assessment.fresh is None else len(assessment.fresh.instances))
    if not known:
        return []
    used = f"{known:,} of the {counted(total, 'test instance')}"
    if assessment.scope.unit == "family":
        used = f"the families of {used}"
    return [f"Training used {used}: runs on these do not count as test runs."]


def stopped_early(matrix: CostMatrix) -> str | None:
    """Return how censored runs count; None if there are none."""
    censored = int(matrix.censored.sum())
    if not censored:
        return None
    most, charge = f"at most {given(matrix.high)}", given(matrix.high)
    if not math.isfinite(matrix.high):
        most = "without a known maximum (give `high`)"
        charge = f"the largest observed cost, {number(float(np.nanmax(matrix.costs)))}"
    were, they = ("was", "it") if censored == 1 else ("were", "they")
    runs = f"{counted(censored, 'run')} {were} stopped at a cap before {they} finished (censored)"
    return (
        f"{runs}: the true cost is at least the cap, {most}. Rankings and estimates charge "
        f"{charge}; guarantees use the conservative value."
    )


def _endings(assessment: Assessment, runs: int) -> Block:
    matrix, statuses = assessment.log.matrix, assessment.log.matrix.statuses
    unknown = "How runs ended is unknown"
    if not assessment.failed_known:
        return Text(f"{unknown}.", aside=True)
    if statuses is None or not matrix.has_statuses:
        share = percent(float(matrix.failed.sum()) / runs, 1)
        return Text(f"{unknown}; {share} have the highest possible cost.", aside=True)
    missing = np.isnan(matrix.costs)
    counts = status_counts(statuses)
    counts["unknown"] = int(((statuses == NO_STATUS) & ~missing).sum())
    shares = [f"{label} {percent(count / runs, 1)}" for label, count in counts.items() if count]
    return Text(f"Runs: {', '.join(shares)}.")


def _ranking(case: Case) -> Figure:
    """Return the best configurations with the uncertainty of their costs."""
    assessment = case.assessment

    def inputs() -> dict[str, Any]:
        costs, names = assessment.costs, assessment.matrix.configurations
        ranked = np.where(costs.ranked, costs.training, np.nan)
        tags = {assessment.incumbent: "winner"}
        if assessment.default is not None:
            tags[assessment.default] = "default"
        errors = {"costs": ranked - case.mean_scale.origin, "standard_errors": costs.standard_error}
        return {"configurations": names, **errors, "tags": tags}

    note = "Bars are two standard errors either way; where they overlap, the order is uncertain."
    return case.figure("ranking", "The best configurations", note, inputs, means=True)


def _configurations(case: Case, top: int) -> Table:
    assessment = case.assessment
    costs, failed, scale = assessment.costs, assessment.failed, case.mean_scale
    within, across = (np.maximum(v, 0) for v in (costs.components.within, costs.components.across))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = within / (within + across)
    # A column with the same number in every row would say nothing.
    partial = bool((costs.instances < len(assessment.matrix.instances)).any())
    rows, values = [], ((costs.standard_error, 2), (within, 4), (across, 4))
    limits = assessment.beside.shown_better
    lower = f"shown to have a {case.mean_scale.lower} mean"
    better = {"difference": lower, "wins": "shown to win more often"}
    for rank, place in enumerate(costs.order[:MOST_ROWS].tolist(), 1):
        name, training = assessment.matrix.configurations[place], float(costs.training[place])
        roles = {"incumbent": assessment.incumbent, "default": assessment.default}
        tags = [role for role, configuration in roles.items() if configuration == name]
        # Each at level δ: "better" by either of them would be wrong with up to twice that.
        tags += [tag for quantity, tag in better.items() if name in limits.get(quantity, ())]
        if assessment.censored[place]:
            tags.append(f"{assessment.censored[place]:,} censored")
        instances, unsolved = int(costs.instances[place]), float(failed[place])
        rows.append(
            (
                Cell(rank, f"{rank:,}") if costs.ranked[place] else Cell(math.nan, "–"),
                Cell(name, name, tuple(tags)),
                *([Cell(instances, f"{instances:,}")] if partial else []),
                Cell(training, ends(*scale.range(float(costs.lowest[place]), training), 4)),
                *(Cell(float(v[place]), number(float(v[place]), digits)) for v, digits in values),
                Cell(float(share[place]), percent(float(share[place]))),
                *([Cell(unsolved, percent(unsolved, 1))] if assessment.failed_known else []),
            )
        )
    failing = Column("at highest cost", "at-highest")
    if assessment.log.matrix.has_statuses:
        failing = Column("not solved", "not-solved")
    columns = (
        Column("", "rank"),
        Column("configuration", "configuration", numbers=False),
        *([Column("instances", "used")] if partial else []),
        Column(f"training {scale.noun}", "training-cost"),
        Column("s.e.", "standard-error"),
        Column("within", "within"),
        Column("across", "across"),
        Column("share of within", "within-share"),
        *([failing] if assessment.failed_known else []),
    )
    best = "lowest" if scale.sign > 0 else "highest"
    title = f"Configurations, the {best} training {scale.noun} first"
    return Table("configurations", title, columns, tuple(rows), top)


def _notes(case: Case, top: int) -> list[str]:
    costs, notes, matrix = case.assessment.costs, [], case.assessment.matrix
    configurations = len(matrix.configurations)
    if configurations > MOST_ROWS:
        notes.append(f"The {MOST_ROWS} best of {configurations:,} configurations are listed.")
    if costs.adjusted:
        notes.append(
            "Configurations have runs on different instances: training "
            f"{plural(case.mean_scale.noun)} are adjusted for instance difficulty, as if all had "
            "been run on all."
        )
    listed = costs.order[: max(top, 1)]
    if (costs.lowest[listed] < costs.training[listed]).any():
        notes.append(
            "A range of a training cost: with censored runs at their caps, and at the maximum."
        )
    # The two reasons for which judge.costs.comparable leaves a configuration without a rank.
    failing = ~costs.ranked & (matrix.failed | np.isnan(matrix.costs)).all(axis=(1, 2))
    few = "with runs on fewer than half as many instances as the one with the most"
    for unranked, reason in (
        (failing, "none of whose runs was solved"),
        (~costs.ranked & ~failing, few),
    ):
        if number := int(unranked.sum()):
            notes.append(f"Without a rank: {counted(number, 'configuration')} {reason}.")
    if not np.isfinite(costs.components.within).any():
        notes.append(SINGLE)
    elif (costs.components.across[costs.order[: max(top, 1)]] < 0).any():
        notes.append("An across of 0 was estimated below 0: it is smaller than its own noise.")
    notes.append(
        "In the table: s.e. is the standard error over instances, within the variance between runs "
        "on one instance, across the variance between instances."
    )
    return notes


def how_noisy(case: Case) -> Section:
    """Return the standard error, the variances, and the shares of all configurations."""
    assessment = case.assessment
    noise, spread, unit = assessment.noise, assessment.spread, case.context.in_unit
    total = noise.within + noise.across
    share = noise.within / total if total > 0 else math.nan
    unused = len(spread.never_used)
    errors = {
        "standard-error": noise.standard_error,
        "same-again": noise.same_instances_again,
        "new-again": noise.new_instances,
    }
    values = {"within": noise.within, "across": noise.across}
    facts = (
        *(Fact(term, error, number(error, 2), unit=unit) for term, error in errors.items()),
        *(Fact(term, variance, number(variance)) for term, variance in values.items()),
        Fact("within-share", share, percent(share)),
        Fact("over-even", spread.variance_over_even, number(spread.variance_over_even)),
        Fact("never-used", unused, f"{unused:,}"),
    )
    blocks: list[Block] = [Facts(facts), *_shares(case)]
    if censored := int(assessment.censored[assessment.place]):
        runs = f"{counted(censored, 'run')} of it stopped at a cap"
        most = "maximum" if math.isfinite(assessment.matrix.high) else "largest cost seen"
        charged = f"{runs} {'is' if censored == 1 else 'are'} charged the {most} here."
        blocks.append(Text(charged, aside=True))
    if others := spread.on_other_instances:
        were = f"{counted(others, 'configuration')} {'was' if others == 1 else 'were'}"
        blocks.append(Text(f"{were} run on different {assessment.scope.plural}.", aside=True))
    return Section("noise", "How noisy are the runs?", _noise_lead(case), tuple(blocks))


def _shares(case: Case) -> list[Block]:
    assessment = case.assessment
    components = assessment.costs.components
    within, across = components.within, components.across
    known = np.isfinite(within)
    if not known.any():
        seeds = assessment.scope.sampled == "seed"
        return [] if seeds else [Text(SINGLE, aside=True)]
    blocks: list[Block] = []
    scale = float(np.abs(assessment.costs.means).max())
    if (within[known] <= (NOTHING * scale) ** 2).all():
        text = (
            "All runs on an instance cost the same: the target is deterministic, or its seeds are "
            "fixed. More runs on the same instances add nothing."
        )
        blocks.append(Text(text, aside=True))
    known &= assessment.costs.ranked
    if not (np.maximum(within, 0) + np.maximum(across, 0))[known].any():
        return [*blocks, Text("No configuration varies: there are no shares to draw.", aside=True)]

    def inputs() -> dict[str, Any]:
        # A race leaves most configurations with too few runs for a share that means anything.
        kept = np.flatnonzero(assessment.costs.ranked & known)
        names = [assessment.matrix.configurations[place] for place in kept]
        variances = {"within": within, "across": across, "share": components.within_share}
        columns = {"costs": assessment.costs.training, **variances}
        return {"configurations": names, **{name: v[kept] for name, v in columns.items()}}

    title = "Where each configuration's noise comes from"
    note = "Each bar is a configuration: its variance, divided between seeds and instances."
    if left := int((~known).sum()):
        note += f" {counted(left, 'configuration')} with too few runs left out."
    return [*blocks, case.figure("variance_shares", title, note, inputs)]


def _noise_lead(case: Case) -> str:
    assessment = case.assessment
    noise, spread, scope = assessment.noise, assessment.spread, assessment.scope
    on = counted(spread.runs, "run")
    if not case.nowhere:
        place = assessment.log.matrix.configurations.index(assessment.incumbent)
        instances = int((assessment.log.matrix.counts()[place] > 0).sum())
        on += f" on {counted(instances, 'fold' if scope.sampled == 'fold' else 'instance')}"
        on += f" of {counted(spread.instances, 'family')}" if scope.unit == "family" else ""
    if noise.constant:
        return f"All {on} of {case.winner} cost the same: there is no noise."
    what = "comes from" if assessment.costs.adjusted else "is the mean of"
    start = f"The training {case.mean_scale.noun} of {case.winner} {what} {on}"
    if not math.isfinite(noise.standard_error):
        return f"{start}; its standard error is unknown."
    error = f"{start}; its standard error is {case.cost(number(noise.standard_error, 2))}"
    if scope.sampled == "seed":
        return f"{error}, all from the seeds."
    if noise.bottleneck is None and math.isfinite(noise.share_low):
        shares = percents(noise.share_low, noise.share_high)
        return (
            f"{error}. Whether seeds or {scope.plural} matter more is unclear: {shares} of a run's "
            f"variance is between {scope.plural}."
        )
    if noise.bottleneck is None:
        repeated = {0: "none of its instances has", 1: "only one of its instances has"}
        few = repeated.get(spread.repeated, f"only {spread.repeated:,} of its instances have")
        why = f"{few} two runs"
        if spread.repeated == spread.instances:
            why = "almost all of its runs cost the same"
        return f"{error}. How much of it comes from the seeds is unknown: {why}."
    if noise.bottleneck == "instances":
        return (
            f"{error}, mostly from the choice of {scope.plural}: add {scope.plural}; more "
            f"{'instances of the same ones' if scope.unit == 'family' else 'seeds'} barely help."
        )
    if scope.unit == "family":
        return f"{error}, mostly from differences within families: more instances of them help."
    return f"{error}, mostly from the seeds: more runs on the same instances help as well."
