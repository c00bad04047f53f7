"""What was run: sizes, how runs ended, where configurations come from, the picture and the table."""

import math
from typing import Any

import numpy as np

from truecost.judge.assessment import Assessment
from truecost.matrix import CostMatrix
from truecost.runs import NO_STATUS, Status
from truecost.show.blocks import Block, Cell, Column, Fact, Facts, Figure, Section, Table, Text
from truecost.show.document.context import Context, opening
from truecost.show.numbers import counted, ends, given, number, percent

# Rows of the table of configurations: more make a page that nobody scrolls through, and a file that
# is large for it.
MOST_ROWS = 500
SINGLE = "The two variances cannot be told apart: no configuration has two runs on two instances. Run some again."


def what_was_run(found: Assessment, setting: Context, top: int = 10) -> Section:
    """The section; a terminal shows the `top` configurations."""
    matrix, costs = found.matrix, found.costs
    configurations, instances, each = matrix.shape
    runs = int(costs.runs.sum())
    missing = matrix.costs.size - runs
    stopped = int(found.censored.sum())
    known = math.isfinite(matrix.width)
    shown = f"{matrix.low:,g} to {matrix.high:,g}" if known else "not known"
    facts = (
        Fact(
            term="configuration",
            label="configurations",
            value=configurations,
            shown=f"{configurations:,}",
        ),
        Fact(term="instance", label="instances", value=instances, shown=f"{instances:,}"),
        Fact(term="runs-each", value=each, shown=f"{each:,}", label="runs on an instance"),
        Fact(term="run", label="runs", value=runs, shown=f"{runs:,}"),
        Fact(term="missing", value=missing, shown=f"{missing:,}" if missing else "none"),
        *([Fact(term="censored", value=stopped, shown=f"{stopped:,}")] if stopped else []),
        Fact(
            term="range",
            value=[matrix.low, matrix.high],
            shown=shown,
            unit=setting.in_unit if known else "",
        ),
    )
    blocks: list[Block] = [Facts(facts=facts, where="page"), Text(text=origin(found))]
    if found.log.utility is not None:
        blocks.append(Text(text=worth(found.log.utility)))
    blocks += [Text(text=text, aside=True) for text in left_out(found)]
    blocks.append(_endings(found, runs))
    if (censored := stopped_early(matrix)) is not None:
        blocks.append(Text(text=censored))
    blocks.append(
        Figure(
            name="matrix",
            title="Every cost at a glance",
            notes=tuple(_marks(found, missing)),
            draw=lambda: _picture(found, setting),
            wide=False,
        )
    )
    blocks.append(_configurations(found, top))
    blocks += [Text(text=text, aside=True) for text in _notes(found, top)]
    lead = f"{counted(runs, 'run')} of {counted(configurations, 'configuration')} on {counted(instances, 'instance')}"
    gaps = f"{missing:,} missing" if missing else "none missing"
    costs_in = (
        f"; costs in [{matrix.low:g}, {matrix.high:g}]"
        if known
        else "; what a run can cost at most is not known"
    )
    lead = f"{lead}, up to {each:,} each, {gaps}{costs_in}."
    return Section(name="run", title="What was run?", lead=lead, blocks=tuple(blocks))


def _marks(found: Assessment, missing: int) -> list[str]:
    """What the picture shows besides colours."""
    said = []
    if missing:
        why = ": a race gives no more to those that fall behind" if found.trajectory.raced else ""
        said.append(f"White squares have no run{why}.")
    if found.failed.any():
        said.append(
            "White dots: runs with the highest cost."
            if not found.matrix.has_statuses
            else "White dots: failed runs."
        )
    if found.censored.any():
        said.append("Censored runs are coloured as charged.")
    return said


def _picture(found: Assessment, setting: Context) -> Any:
    from truecost.show import figures

    data = figures.matrix_data(found.matrix)
    return data, figures.matrix_chart(data, unit=setting.unit)


def origin(found: Assessment) -> str:
    """Where the configurations come from."""
    trajectory, test = found.trajectory, found.test
    said = {
        "unknown": "Nothing in these runs says how the configurations were chosen.",
        "beforehand": f"Recorded by {trajectory.tool}; the configurations were fixed before any cost was seen.",
        "adaptively": f"Recorded by {trajectory.tool}, which tuned on these instances: they cannot certify its winner.",
    }[trajectory.proposed]
    if trajectory.raced:
        said += " It raced: costs decided who got how many runs."
    if trajectory.unfinished:
        said += " More runs are planned: limits hold at whatever moment one looks."
    if test is not None:
        tested = (
            f"{int(test.counts().sum()):,} of {counted(len(test.configurations), 'configuration')}"
        )
        said += f" Test runs: {tested} on {counted(len(test.instances), 'instance')}."
        fresh = 0 if found.fresh is None else len(found.fresh.instances)
        if seen := len(test.instances) - fresh:
            said += f" Training had seen {seen:,} of these instances: runs on them do not count as test runs."
    return said


def worth(utility: str) -> str:
    """What costs are where they are a utility's."""
    kind, _, rest = utility.partition("=")
    at, _, shape = rest.partition(",")
    said = {
        "step": f"1 if it is solved within {at} s, 0 else",
        "linear": f"1 at once, falling evenly to 0 at {at} s",
        "half-life": f"1 at once, and half as much after every {at} s",
        "log-laplace": f"1 at once, a half at {at} s, and falls as 1/t{f'^{shape}' if shape else ''} after that",
    }[kind]
    return f"Costs are 1 − utility ({utility}): what a run is worth is {said}; 0 if it is never solved."


def left_out(found: Assessment) -> list[str]:
    """What was left out or assumed when the runs were read."""
    gone = [
        f"{counted(count, 'run')} left out: {reason}."
        for reason, count in found.log.left_out.items()
    ]
    return [*gone, *found.log.notes]


def stopped_early(matrix: CostMatrix) -> str | None:
    """What censored runs are, and how they count; None where there are none."""
    censored = int(matrix.censored.sum())
    if not censored:
        return None
    known = math.isfinite(matrix.high)
    most = f"up to {given(matrix.high)}" if known else "nobody knows how much more (give `high`)"
    charge = (
        given(matrix.high)
        if known
        else f"the largest cost seen, {number(float(np.nanmax(matrix.costs)))}"
    )
    one = censored == 1
    return (
        f"{counted(censored, 'run')} {'was' if one else 'were'} stopped at a cap before {'it' if one else 'they'} had "
        f"finished (censored): {'it' if one else 'each'} would have cost its cap or more, {most}. Rankings and estimates "
        f"charge {charge}; guarantees take the end that keeps them true."
    )


def _endings(found: Assessment, runs: int) -> Block:
    statuses = found.matrix.statuses
    if not found.failed_known:
        return Text(text="How runs ended is not known.", aside=True)
    if statuses is None or not found.matrix.has_statuses:
        share = float(found.matrix.failed.sum()) / runs
        return Text(
            text=f"How runs ended is not known; {percent(share, 1)} have the highest possible cost.",
            aside=True,
        )
    there = ~np.isnan(found.matrix.costs)
    seen = [(status.label, int((statuses == status).sum())) for status in Status]
    seen.append(("not known", int(((statuses == NO_STATUS) & there).sum())))
    return Text(
        text=f"Runs: {', '.join(f'{label} {percent(count / runs, 1)}' for label, count in seen if count)}."
    )


def _configurations(found: Assessment, top: int) -> Table:
    costs = found.costs
    within, across = np.maximum(costs.components.within, 0), np.maximum(costs.components.across, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = within / (within + across)
    gaps = bool((costs.instances < len(found.matrix.instances)).any())
    failed = [
        Column("at highest cost", "at-highest")
        if not found.matrix.has_statuses
        else Column("not solved", "not-solved")
    ]
    failed = failed if found.failed_known else []
    rows = []
    for rank, place in enumerate(costs.order[:MOST_ROWS].tolist(), 1):
        name = found.matrix.configurations[place]
        tags = [
            tag
            for tag, whose in (("incumbent", found.incumbent), ("default", found.default))
            if whose == name
        ]
        tags += [f"{found.censored[place]:,} censored"] if found.censored[place] else []
        values = (
            (costs.standard_error[place], 2),
            (within[place], 4),
            (across[place], 4),
        )
        rows.append(
            (
                Cell(rank, f"{rank:,}") if costs.ranked[place] else Cell(math.nan, "–"),
                Cell(name, name, tuple(tags)),
                *(
                    [Cell(int(costs.instances[place]), f"{costs.instances[place]:,}")]
                    if gaps
                    else []
                ),
                Cell(
                    float(costs.training[place]),
                    ends(costs.lowest[place], costs.training[place], 4),
                ),
                *(Cell(float(value), number(float(value), digits)) for value, digits in values),
                Cell(float(share[place]), percent(float(share[place]))),
                *(
                    [Cell(float(found.failed[place]), percent(float(found.failed[place]), 1))]
                    if failed
                    else []
                ),
            )
        )
    return Table(
        name="configurations",
        title="Configurations, the lowest training cost first",
        columns=(
            Column("", "rank"),
            Column("configuration", "configuration", numbers=False),
            *([Column("instances", "used")] if gaps else []),
            Column("training cost", "training-cost"),
            Column("s.e.", "standard-error"),
            Column("within", "within"),
            Column("across", "across"),
            Column("share of within", "within-share"),
            *failed,
        ),
        rows=tuple(rows),
        most=top,
    )


def _notes(found: Assessment, top: int) -> list[str]:
    costs, said = found.costs, []
    configurations = len(found.matrix.configurations)
    if configurations > MOST_ROWS:
        said.append(f"The {MOST_ROWS} best of {configurations:,} configurations are listed.")
    if costs.adjusted:
        said.append(
            "Configurations have runs on different instances: training costs are adjusted for instance difficulty, as if "
            "all had been run on all."
        )
    if found.censored.any():
        said.append(
            "Two ends of a training cost: with censored runs at their caps, and charged the most."
        )
    if unranked := int((~costs.ranked).sum()):
        said.append(
            f"Without a rank: {counted(unranked, 'configuration')} with runs on less than half as many instances as the one "
            "with the most."
        )
    shown = costs.order[: max(top, 1)]
    if not np.isfinite(costs.components.within).any():
        said.append(SINGLE)
    elif (costs.components.across[shown] < 0).any():
        said.append("An across shown as 0 came out below 0: it is smaller than its own noise.")
    said.append(
        "In the table: s.e. is the standard error over instances, within the variance between runs on one instance, across "
        "the variance between instances."
    )
    return [opening(text) for text in said]
