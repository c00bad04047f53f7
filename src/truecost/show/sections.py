"""The sections of a report, one function each: findings in, sentences, numbers, tables and figures out."""

import math

import numpy as np

from truecost.runs import NO_STATUS, Status
from truecost.show import figures
from truecost.show.content import (
    Block,
    Cell,
    Column,
    Fact,
    Facts,
    Points,
    Section,
    Table,
    Text,
    captioned,
    percent,
)
from truecost.show.content import number as written
from truecost.show.findings import NOTHING, Findings
from truecost.show.numbers import counted

# Rows of the table of configurations: more make a page that nobody scrolls through, and a file that is large for it.
MOST_ROWS = 500
UNKNOWN = (
    "within and across cannot be told apart: no instance has two runs of a configuration. Run some again with other seeds."
)


def what_was_run(found: Findings) -> Section:
    """Sizes, how runs ended, where configurations come from, the picture and the table."""
    matrix = found.matrix
    configurations, instances, each = matrix.shape
    counts = matrix.counts()
    runs, missing = int(counts.sum()), int(matrix.costs.size - counts.sum())
    facts = [
        Fact(term="configuration", label="configurations", value=configurations, shown=f"{configurations:,}"),
        Fact(term="instance", label="instances", value=instances, shown=f"{instances:,}"),
        Fact(term="runs-each", value=each, shown=f"{each:,}", label="runs on an instance"),
        Fact(term="run", label="runs", value=runs, shown=f"{runs:,}"),
        Fact(term="missing", value=missing, shown=f"{missing:,}" if missing else "none"),
        Fact(
            term="range",
            value=[matrix.low, matrix.high],
            shown=f"{matrix.low:,g} to {matrix.high:,g}",
            unit=found.in_unit,
        ),
    ]
    blocks: list[Block] = [Facts(facts=tuple(facts)), Text(text=_origin(found))]
    blocks += [Text(text=note, aside=True) for note in found.notes]
    if found.by_cost:
        share = float((matrix.costs >= matrix.high).sum()) / runs
        blocks.append(
            Text(
                text=f"How runs ended is not known; {percent(share, 1)} of them have the highest possible cost.", aside=True
            )
        )
    else:
        blocks.append(_endings(found, runs))
    picture = figures.matrix_data(matrix)
    chart = figures.matrix_chart(picture, unit=found.unit)
    blocks.append(captioned("matrix", chart, picture, title="Every cost at a glance", wide=False))
    blocks.append(_configurations(found))
    if configurations > MOST_ROWS:
        blocks.append(Text(text=f"The {MOST_ROWS} best of {configurations:,} configurations are listed.", aside=True))
    if found.adjusted:
        text = (
            "Ranks are by the training cost once how hard the instances are is taken out, since not all configurations have "
            "runs on the same ones; the column shows the plain mean of what each was run on."
        )
        blocks.append(Text(text=text, aside=True))
    if found.ranked < configurations:
        text = (
            f"Without a rank: {counted(configurations - found.ranked, 'configuration')} with runs on less than half as many "
            "instances as the one with the most, whose costs cannot be compared."
        )
        blocks.append(Text(text=text, aside=True))
    lead = f"{counted(runs, 'run')} of {counted(configurations, 'configuration')} on {counted(instances, 'instance')}"
    return Section(
        name="run",
        title="What was run",
        lead=f"{lead}; {f'{missing:,}' if missing else 'none'} {'is' if missing < 2 else 'are'} missing.",
        blocks=tuple(blocks),
    )


def _origin(found: Findings) -> str:
    trajectory, test = found.trajectory, found.test
    said = []
    if trajectory is None or trajectory.proposed == "unknown":
        said.append("Nothing in the runs says how the configurations were proposed.")
    elif trajectory.proposed == "beforehand":
        said.append(f"Recorded by {trajectory.tool}; the configurations were fixed before any cost was seen.")
    else:
        said.append(
            f"Recorded by {trajectory.tool}; configurations were proposed adaptively, from the costs of others, so that "
            "these runs certify none of them."
        )
    if trajectory is not None and trajectory.raced:
        said.append("The runs are those of a race: how many a configuration got depended on costs.")
    if test is not None:
        said.append(
            f"Test runs: {int(test.counts().sum()):,} of {counted(len(test.configurations), 'configuration')} on "
            f"{counted(len(test.instances), 'instance')}."
        )
    return " ".join(said)


def _endings(found: Findings, runs: int) -> Table:
    statuses = found.matrix.statuses
    assert statuses is not None  # noqa: S101 - else it is by cost
    there = ~np.isnan(found.matrix.costs)
    seen = [(status.label, int((statuses == status).sum())) for status in Status]
    seen.append(("not known", int(((statuses == NO_STATUS) & there).sum())))
    return Table(
        name="endings",
        title="How runs ended",
        columns=(Column("ended", "ended", numbers=False), Column("runs", "run"), Column("share", "share-of-runs")),
        rows=tuple(
            (Cell(label, label), Cell(count, f"{count:,}"), Cell(count / runs, percent(count / runs, 1)))
            for label, count in seen
            if count
        ),
    )


def _configurations(found: Findings) -> Table:
    costs, noise = found.costs, found.components
    within, across = np.maximum(noise.within, 0), np.maximum(noise.across, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = within / (within + across)
    default = None if found.audit.comparison is None else found.audit.comparison.default
    rows = []
    gaps = bool((found.matrix.counts() == 0).any())
    for rank, place in enumerate(found.order[:MOST_ROWS].tolist(), 1):
        name = found.matrix.configurations[place]
        tags = tuple(tag for tag, whose in (("incumbent", found.audit.incumbent), ("default", default)) if whose == name)
        error = costs.standard_error[place]
        values = (costs.cost[place], 0.0 if error <= NOTHING * found.matrix.width else error, within[place], across[place])
        rows.append(
            (
                Cell(rank, f"{rank:,}") if rank <= found.ranked else Cell(math.nan, "–"),
                Cell(name, name, tags),
                *([Cell(int(costs.instances[place]), f"{costs.instances[place]:,}")] if gaps else []),
                *(
                    Cell(float(value), written(float(value), digits))
                    for value, digits in zip(values, (4, 2, 4, 4), strict=True)
                ),
                Cell(float(share[place]), percent(float(share[place]))),
                Cell(float(found.failed[place]), percent(float(found.failed[place]), 1)),
            )
        )
    failed = Column("at highest cost", "at-highest") if found.by_cost else Column("not solved", "not-solved")
    return Table(
        name="configurations",
        title="Configurations, the least training cost first",
        columns=(
            Column("rank", "rank"),
            Column("configuration", "configuration", numbers=False),
            *([Column("instances", "used")] if gaps else []),
            Column("training cost", "training-cost"),
            Column("s.e.", "standard-error"),
            Column("within", "within"),
            Column("across", "across"),
            Column("share of within", "within-share"),
            failed,
        ),
        rows=tuple(rows),
    )


def how_noisy(found: Findings) -> Section:
    """Variance components, what as many runs again would bring, and every configuration's share."""
    noise, spread, unit = found.audit.noise, found.audit.spread, found.in_unit
    total = noise.within + noise.across
    share = noise.within / total if total > 0 else math.nan
    facts = [
        Fact(term="within", value=noise.within, shown=written(noise.within)),
        Fact(term="across", value=noise.across, shown=written(noise.across)),
        Fact(term="within-share", value=share, shown=percent(share)),
        Fact(
            term="standard-error",
            label="standard error now",
            value=noise.standard_error,
            **_short(noise.standard_error, unit),
        ),
        Fact(term="same-again", value=noise.same_instances_again, **_short(noise.same_instances_again, unit)),
        Fact(term="new-again", value=noise.new_instances, **_short(noise.new_instances, unit)),
        Fact(term="over-even", value=spread.variance_over_even, shown=written(spread.variance_over_even, 3)),
        Fact(term="never-used", value=len(spread.never_used), shown=f"{len(spread.never_used):,}"),
    ]
    blocks: list[Block] = [Facts(facts=tuple(facts))]
    known = np.isfinite(found.components.within)
    if not known.any():
        blocks.append(Text(text=f"{UNKNOWN[0].upper()}{UNKNOWN[1:]} Variance shares are left out.", aside=True))
    else:
        if (found.components.within[known] <= (NOTHING * found.matrix.width) ** 2).all():
            blocks.append(
                Text(
                    text="All runs on an instance cost the same: the target is deterministic, or its seeds were. "
                    "More runs on the same instances bring nothing.",
                    aside=True,
                )
            )
        shares = figures.variance_shares_data(found.matrix)
        if shares["share"].drop_nulls().len():
            chart = figures.variance_shares_chart(shares, unit=found.unit)
            blocks.append(captioned("variance-shares", chart, shares, "Each configuration is a bar. "))
        else:
            blocks.append(Text(text="No configuration varies: there are no shares to draw.", aside=True))
    if (found.components.across < 0).any():
        blocks.append(Text(text="An across shown as 0 came out below 0: it is smaller than its own noise.", aside=True))
    return Section(name="noise", title="How noisy", lead=_noise_lead(found), blocks=tuple(blocks))


def _noise_lead(found: Findings) -> str:
    noise = found.audit.noise
    if noise.bottleneck is None:
        return f"Where the noise in the training cost of {found.audit.incumbent} comes from cannot be said: {UNKNOWN}"
    if found.still:
        return f"All runs of {found.audit.incumbent} cost the same: there is no noise in them."
    error = f"The training cost of {found.audit.incumbent} has a standard error of {written(noise.standard_error, 2)}"
    if noise.bottleneck == "instances":
        return f"{error}, most of it from the choice of instances: new instances help, more seeds on the same ones hardly."
    return f"{error}, most of it from the seeds: more runs on the same instances help as well."


def how_sure(found: Findings) -> Section:
    """The interval from the data alone, the plug-in bounds beside it, what more instances buy, and what it rests on."""
    audit, plug_in = found.audit, found.plug_in
    interval = audit.interval
    rows = []
    if interval is not None:
        shared = f", δ shared out among {interval.configurations:,}" if interval.configurations > 1 else ""
        rows.append(
            _limit_row(
                f"From the runs alone: {interval.method} on {counted(interval.instances, 'instance')}, chosen "
                f"{interval.chosen}{shared}",
                interval.lower,
                interval.upper,
                interval.upper - interval.estimate,
                "valid",
            )
        )
    if plug_in is not None:
        m = f"{plug_in.configurations:,}"
        statements = [("Lemma 4, as if chosen beforehand", plug_in.single)]
        if plug_in.configurations > 1:
            statements.append((f"Theorem 2, as one of {m}", plug_in.selected))
        rows += [
            _limit_row(f"{what} (Bennett)", math.nan, plug_in.training_cost + epsilon, epsilon, "plug-in")
            for what, epsilon in statements
        ]
        if plug_in.configurations > 1:
            rows.append(
                _limit_row(f"Theorem 2, the worst of all {m} (Bennett)", math.nan, math.nan, plug_in.worst, "plug-in")
            )
    blocks: list[Block] = []
    if rows:
        columns = (
            Column("statement", "", numbers=False),
            Column("true cost at least", "limit-low"),
            Column("at most", "limit-high"),
            Column("limit − estimate", "width"),
            Column("worth", "standing", numbers=False),
        )
        title = f"What may be said of {audit.incumbent}, each with {percent(1 - audit.delta, 0)} confidence"
        blocks.append(Table(name="limits", title=title, columns=columns, rows=tuple(rows)))
    if plug_in is None:
        blocks.append(Text(text=found.no_plug_in, aside=True))
    elif plug_in.worst >= found.matrix.width:
        blocks.append(
            Text(text="A bound as wide as the cost range says nothing: more instances are needed.", aside=True),
        )
    blocks += _width(found)
    if interval is not None:
        blocks.append(Points(title="The interval rests on", points=interval.rests_on))
    if plug_in is not None:
        blocks.append(
            Points(title=f"The bounds are {plug_in.caveat.partition(':')[0]}, and rest on", points=plug_in.rests_on)
        )
    lead = f"{interval.statement}." if interval is not None else f"No valid interval of its true cost: {audit.no_interval}."
    return Section(name="sure", title="How sure", lead=lead, blocks=tuple(blocks))


def _width(found: Findings) -> list[Block]:
    """Limits against K on the instances and with the part of δ that the valid interval has; nothing where there is none."""
    audit, evidence = found.audit, found.evidence
    if audit.interval is None or evidence is None:
        return []
    left_out = "What more instances would buy is not drawn: "
    if evidence.stopped:
        text = f"{left_out}in a race their number depended on costs, and these limits are for a number fixed beforehand."
        return [Text(text=text, aside=True)]
    if audit.interval.instances < 2:
        return [Text(text=f"{left_out}the incumbent has runs on one only.", aside=True)]
    share = audit.delta * evidence.share
    data = figures.certificate_width_data(evidence.runs, audit.incumbent, rng=found.rng(), delta=share)
    chart = figures.certificate_width_chart(data, delta=audit.delta, unit=found.unit)
    first = ""
    if evidence.configurations > 1:
        first = f"One of {evidence.configurations:,} configurations: δ shared out among {evidence.configurations:,}. "
    elif evidence.chosen == "on-half":
        first = "On the half of the instances that it was not chosen by. "
    elif evidence.runs is not found.matrix:
        first = "On the test runs. "
    return [captioned("certificate-width", chart, data, first)]


def _limit_row(statement: str, low: float, high: float, width: float, worth: str) -> tuple[Cell, ...]:
    numbers = (Cell(value, written(value)) for value in (low, high, width))
    return (Cell(statement, statement), *numbers, Cell(worth, worth))


def how_made(found: Findings, version: str) -> Section:
    """What another person needs to make the same page."""
    audit = found.audit
    facts = (
        Fact(term="version", value=version, shown=version),
        Fact(term="splits", value=audit.splits, shown=f"{audit.splits:,}"),
        Fact(term="seed", value=found.seed, shown=f"{found.seed}"),
        Fact(term="delta", value=audit.delta, shown=f"{audit.delta:g}"),
    )
    points = (
        "Training cost: the mean of a configuration's instance means; where all have the same number of runs, the plain "
        "mean.",
        f"Corrected cost: over {audit.splits:,} random halves of the instances, each taken both ways, the held-out − "
        "training cost of what has the least training cost on one half; divided by √2, since choosing on all instances errs "
        "less; added to the training cost. Where configurations were proposed adaptively it says too little.",
        "Intervals: betting on instance means (STaR-Bets), valid for any number of instances and any distribution in the "
        "cost range.",
        "Bounds: Lemma 4 and Theorem 2 of Liu, Tang, Lei and Yao, On Performance Estimation in Automatic Algorithm "
        "Configuration (AAAI 2020), in Bennett's form, with estimated variances.",
        "Optimism and over-tuning are told apart as by Schneider, Bischl and Feurer, Overtuning in Hyperparameter "
        "Optimization (2025).",
        "The same runs, options and version give the same page, byte for byte.",
    )
    blocks = (Facts(facts=facts), Points(title="Methods", points=points))
    lead = "Everything above was computed from the runs alone; nothing was fetched, and nothing is sent."
    return Section(name="made", title="How these numbers were made", lead=lead, blocks=blocks)


def _short(value: float, unit: str) -> dict[str, str]:
    return {"shown": written(value, 2), "unit": unit}
