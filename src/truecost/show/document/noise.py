"""How noisy: where the error of the training cost comes from, and what more runs would change."""

import math
from typing import Any

import numpy as np

from truecost.judge.assessment import Assessment
from truecost.judge.costs import NOTHING
from truecost.runs import NO_INSTANCE
from truecost.show.blocks import Block, Fact, Facts, Figure, Section, Text
from truecost.show.document.context import Context, called, drawing
from truecost.show.document.runs import SINGLE
from truecost.show.numbers import counted, number, percent


def how_noisy(assessment: Assessment, context: Context) -> Section:
    """Return the standard error, the variances, and the shares of all configurations."""
    noise, spread, unit = assessment.noise, assessment.spread, context.in_unit
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
    blocks: list[Block] = [Facts(facts), *_shares(assessment, context)]
    if censored := int(assessment.censored[assessment.own]):
        runs = f"{counted(censored, 'run')} of it stopped at a cap"
        charged = f"{runs} {'is' if censored == 1 else 'are'} charged the maximum here."
        blocks.append(Text(charged, aside=True))
    if spread.on_other_instances:
        other = counted(spread.on_other_instances, "configuration")
        blocks.append(Text(f"{other} were run on different instances.", aside=True))
    lead = _lead(assessment, context)
    return Section("noise", "How noisy are the runs?", lead, tuple(blocks))


def _shares(assessment: Assessment, context: Context) -> list[Block]:
    components = assessment.costs.components
    within, across = components.within, components.across
    known = np.isfinite(within)
    if not known.any():
        return [Text(SINGLE, aside=True)]
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
    draw = drawing("variance_shares", inputs, unit=context.unit)
    return [*blocks, Figure("variance-shares", title, (note,), draw, where="page")]


def _lead(assessment: Assessment, context: Context) -> str:
    noise, spread = assessment.noise, assessment.spread
    incumbent = called(assessment, assessment.incumbent)
    on = f"{counted(spread.runs, 'run')} on {counted(spread.instances, 'instance')}"
    if assessment.log.matrix.instances == (NO_INSTANCE,):
        on = counted(spread.runs, "run")
    if still(assessment):
        return f"All {on} of {incumbent} cost the same: there is no noise."
    what = "comes from" if assessment.costs.adjusted else "is the mean of"
    start = f"The training cost of {incumbent} {what} {on}"
    if not math.isfinite(noise.standard_error):
        return f"{start}; its standard error is unknown."
    error = f"{start}; its standard error is {context.cost(number(noise.standard_error, 2))}"
    if noise.bottleneck is None and math.isfinite(noise.share_low):
        low, high = percent(noise.share_low), percent(noise.share_high)
        return (
            f"{error}. Whether seeds or instances matter more is unclear: {low} to {high} of a "
            "run's variance is between instances."
        )
    if noise.bottleneck is None:
        repeated = {0: "none of its instances has", 1: "only one of its instances has"}
        few = repeated.get(spread.repeated, f"only {spread.repeated:,} of its instances have")
        return f"{error}. How much of it comes from the seeds is unknown: {few} two runs."
    if noise.bottleneck == "instances":
        return (
            f"{error}, mostly from the choice of instances: add instances; more seeds barely help."
        )
    return f"{error}, mostly from the seeds: more runs on the same instances help as well."


def still(assessment: Assessment) -> bool:
    """Whether all runs of the incumbent cost the same, up to rounding."""
    return assessment.noise.constant
