"""The section on over-tuning: what the training cost hides, what the search lost, and the default instance by instance."""

import math

import polars as pl

from truecost.show import figures
from truecost.show.content import Block, Cell, Column, Fact, Facts, Figure, Section, Table, Text, captioned, percent, signed
from truecost.show.content import number as written
from truecost.show.findings import Findings


def over_tuned(found: Findings) -> Section:
    """Optimism and over-tuning, the winner among all, the incumbents on the way, and the default instance by instance."""
    audit, unit = found.audit, found.in_unit
    costs = [
        ("training-cost", audit.training_cost),
        ("selection-error", audit.selection_error),
        ("corrected-cost", audit.corrected_cost),
        ("held-out-cost", audit.held_out_cost),
        ("test-cost", audit.test_cost),
    ]
    facts = [
        Fact(term=term, value=value, shown=written(found.rounded(value)), unit=unit)
        for term, value in costs
        if term != "test-cost" or audit.true_from == "test runs"
    ]
    facts.append(
        Fact(
            term="optimism",
            value=audit.gap,
            shown=signed(found.rounded(audit.gap)),
            unit=unit,
            note=f"{written(audit.gap_percent, 3)} %"
            if found.rounded(audit.gap) and math.isfinite(audit.gap_percent)
            else "",
        )
    )
    if len(audit.along) > 1:
        facts.append(
            Fact(term="over-tuning", value=audit.over_tuning, shown=written(found.rounded(audit.over_tuning)), unit=unit)
        )
        facts.append(
            Fact(term="relative-over-tuning", value=audit.relative_over_tuning, shown=percent(audit.relative_over_tuning))
        )
    blocks: list[Block] = [Facts(facts=tuple(facts)), *_split(found), *_along(found), *_against_default(found)]
    if found.sweeps:
        data = figures.error_curves_data(found.sweeps, "selection")
        chart = figures.error_curves_chart(data, error="selection", unit=found.unit)
        blocks.append(
            Figure(
                name="selection-error",
                title="What the winner errs by, against the number of runs and of instances",
                notes=("Mean over random splits in training and test instances, half each; both scales logarithmic.",),
                chart=chart,
                data=data,
            )
        )
    else:
        blocks.append(Text(text=found.no_sweeps, aside=True))
    return Section(name="over-tuned", title="Over-tuned or not", lead=_tuned_lead(found), blocks=tuple(blocks))


def _tuned_lead(found: Findings) -> str:
    audit = found.audit
    said = [optimism(found)]
    if math.isfinite(audit.over_tuning) and audit.true_from == "splits":
        # Corrections that differ from one incumbent to the next are too rough to name a better one by.
        said.append("Whether the search went past something better takes test runs to say; below is a rough estimate.")
    elif math.isfinite(audit.over_tuning):
        best = min((point for point in audit.along if math.isfinite(point.true)), key=lambda point: point.true)
        if found.rounded(audit.over_tuning) > 0:
            said.append(
                f"{best.configuration}, an incumbent on the way, has a test cost that is lower by "
                f"{written(audit.over_tuning, 3)}."
            )
        else:
            said.append("No incumbent on the way has a lower test cost.")
    elif audit.true_from == "test runs" and len(audit.along) > 1:
        said.append("Whether the search went past something better is not known: the other incumbents have no test runs.")
    elif len(audit.along) < 2:
        said.append("Whether the search went past something better is not known: no other incumbents are.")
    return " ".join(said)


def optimism(found: Findings) -> str:
    """What the training cost hides, in a sentence."""
    audit = found.audit
    training, unit = written(audit.training_cost), f" {found.in_unit}" if found.in_unit else ""
    if audit.true_from == "test runs":
        how = f"On fresh instances it costs {written(audit.test_cost)}{unit} on average, in training it did {training}"
        return f"{how}: {_looked(found.rounded(audit.gap), audit.gap_percent)}."
    if not math.isfinite(audit.gap):
        return f"Its training cost is {training}{unit}; with one instance nothing can be said of others."
    expected = f"corrected for having been chosen by it, expect {written(audit.corrected_cost)}{unit}"
    return f"Its training cost is {training}{unit}; {expected}: {_looked(found.rounded(audit.gap), audit.gap_percent)}."


def _looked(gap: float, gap_percent: float) -> str:
    if gap <= 0:
        return "training did not look too good"
    share = f" by {written(gap_percent, 2)} %" if math.isfinite(gap_percent) else ""
    return f"training looked too good{share}"


def _split(found: Findings) -> list[Block]:
    matrix = found.matrix
    left_out = "Training against test cost on one split is not drawn: "
    if matrix.shape[0] < 2 or matrix.shape[1] < 2:
        return [Text(text=f"{left_out}that takes two configurations and two instances.", aside=True)]
    if matrix.counts().min() == 0:
        return [Text(text=f"{left_out}some configurations have no run on some instances.", aside=True)]
    data = figures.overtuning_data(matrix, rng=found.rng())
    return [
        Figure(
            name="split",
            title="One random split: training against test cost",
            notes=(
                "Each point is a configuration. Above the diagonal training looked too good; who is chosen for a low "
                "training cost mostly stands there, the more so the fewer the runs.",
            ),
            chart=figures.overtuning_chart(data, unit=found.unit),
            data=data,
        )
    ]


def _along(found: Findings) -> list[Block]:
    if len(found.audit.along) < 2 or not any(math.isfinite(point.true) for point in found.audit.along):
        return []
    data = figures.overtuning_along_data(found.audit)
    return [captioned("along", figures.overtuning_along_chart(data, unit=found.unit), data)]


def _against_default(found: Findings) -> list[Block]:
    audit = found.audit
    comparison = audit.comparison
    if comparison is None:
        return [Text(text="No default is known, so that there is nothing to compare with (--default NAME).", aside=True)]
    if comparison.default == audit.incumbent:
        return [Text(text="The incumbent is the default: there is nothing to compare.", aside=True)]
    if comparison.instances < 2:
        return [Text(text="The two have no two common instances: they are not compared instance by instance.", aside=True)]
    where = found.test if comparison.on == "test" and found.test is not None else found.matrix
    data = figures.paired_differences_data(where, audit.incumbent, comparison.default, rng=found.rng(), delta=audit.delta)
    # The figure's own limits are for two configurations fixed beforehand; the audit knows how this one was chosen.
    limits = {"lower": comparison.lower, "upper": comparison.upper}
    data = data.with_columns(pl.lit(value, dtype=pl.Float64).alias(name) for name, value in limits.items())
    one = data.row(0, named=True)
    notes = [
        f"The incumbent costs less on {one['gains']:,} and more on {one['losses']:,} of {one['instances']:,} "
        f"{comparison.on} instances; mean difference {signed(comparison.estimate, 3)} (dashed)."
    ]
    if comparison.lower is None or comparison.upper is None:
        notes.append(f"No valid interval of the difference: {comparison.reason}.")
    else:
        sure = percent(1 - audit.delta)
        notes.append(f"Shaded: {sure} interval, {written(comparison.lower, 3)} to {written(comparison.upper, 3)}.")
    figure = Figure(
        name="paired",
        title=f"{audit.incumbent} against {comparison.default}, instance by instance",
        notes=tuple(notes),
        chart=figures.paired_differences_chart(data, delta=audit.delta, unit=found.unit),
        data=data,
    )
    rows = tuple(
        (
            Cell(part.instance, part.instance),
            Cell(part.difference, signed(part.difference)),
            Cell(part.share, percent(part.share)),
        )
        for part in comparison.deciding
    )
    columns = (
        Column("instance", "instance", numbers=False),
        Column("incumbent − default", "difference"),
        Column("share", "share"),
    )
    flips = Fact(
        term="flips",
        value=comparison.flips,
        shown=f"{comparison.flips:,}",
        note=f"of {comparison.instances:,}",
    )
    table = Table(name="deciding", title="Instances that add the most to the difference", columns=columns, rows=rows)
    return [figure, Facts(facts=(flips,)), *([table] if rows else [])]
