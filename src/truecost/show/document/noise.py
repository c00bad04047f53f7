"""How noisy: where the error of the training cost comes from, and what more runs would change."""

import math
from typing import Any

import numpy as np

from truecost.judge.costs import NOTHING
from truecost.show.blocks import Block, Fact, Facts, Section, Text
from truecost.show.document.context import Case
from truecost.show.document.runs import SINGLE
from truecost.show.numbers import counted, number, percent, percents


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
    return Section("noise", "How noisy are the runs?", _lead(case), tuple(blocks))


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


def _lead(case: Case) -> str:
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
    start = f"The training {case.scale.noun} of {case.winner} {what} {on}"
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
        return f"{error}. How much of it comes from the seeds is unknown: {few} two runs."
    if noise.bottleneck == "instances":
        return (
            f"{error}, mostly from the choice of {scope.plural}: add {scope.plural}; more "
            f"{'instances of the same ones' if scope.unit == 'family' else 'seeds'} barely help."
        )
    if scope.unit == "family":
        return f"{error}, mostly from differences within families: more instances of them help."
    return f"{error}, mostly from the seeds: more runs on the same instances help as well."
