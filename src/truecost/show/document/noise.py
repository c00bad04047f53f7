"""How noisy: where the error of the training cost comes from, and what as many runs again would
bring.
"""

import math
from typing import Any

import numpy as np

from truecost.judge.assessment import Assessment
from truecost.judge.costs import NOTHING
from truecost.show.blocks import Block, Fact, Facts, Figure, Section, Text
from truecost.show.document.context import Context, called
from truecost.show.document.runs import SINGLE
from truecost.show.numbers import counted, number, percent


def how_noisy(found: Assessment, setting: Context) -> Section:
    """The section."""
    noise, spread, unit = found.noise, found.spread, setting.in_unit
    total = noise.within + noise.across
    share = noise.within / total if total > 0 else math.nan
    errors = (
        ("standard-error", "standard error now", noise.standard_error),
        ("same-again", "", noise.same_instances_again),
        ("new-again", "", noise.new_instances),
    )
    facts = (
        *(
            Fact(term=term, label=label, value=value, shown=number(value, 2), unit=unit)
            for term, label, value in errors
        ),
        Fact(term="within", value=noise.within, shown=number(noise.within)),
        Fact(term="across", value=noise.across, shown=number(noise.across)),
        Fact(term="within-share", value=share, shown=percent(share)),
        Fact(
            term="over-even",
            value=spread.variance_over_even,
            shown=number(spread.variance_over_even),
        ),
        Fact(term="never-used", value=len(spread.never_used), shown=f"{len(spread.never_used):,}"),
    )
    blocks: list[Block] = [Facts(facts=facts), *_shares(found, setting)]
    if censored := int(found.censored[found.own]):
        text = f"{counted(censored, 'run')} of it stopped at a cap {'is' if censored == 1 else 'are'} charged the most here."
        blocks.append(Text(text=text, aside=True))
    if spread.on_other_instances:
        other = (
            f"{counted(spread.on_other_instances, 'configuration')} ran on other instances than it."
        )
        blocks.append(Text(text=other, aside=True))
    return Section(
        name="noise",
        title="How noisy are the runs?",
        lead=_lead(found, setting),
        blocks=tuple(blocks),
    )


def _shares(found: Assessment, setting: Context) -> list[Block]:
    within = found.costs.components.within
    known = np.isfinite(within)
    if not known.any():
        return [Text(text=SINGLE, aside=True)]
    blocks: list[Block] = []
    scale = float(np.abs(found.costs.means).max())
    if (within[known] <= (NOTHING * scale) ** 2).all():
        text = (
            "All runs on an instance cost the same: the target is deterministic, or its seeds were. More runs on the same "
            "instances bring nothing."
        )
        blocks.append(Text(text=text, aside=True))
    if (np.maximum(within, 0) + np.maximum(found.costs.components.across, 0))[known].any():
        note = "Each configuration is a bar: how much of its variance comes from seeds, how much from instances."
        blocks.append(
            Figure(
                name="variance-shares",
                title="Where each configuration's noise comes from",
                notes=(note,),
                draw=lambda: _picture(found, setting),
                where="page",
            )
        )
    else:
        blocks.append(
            Text(text="No configuration varies: there are no shares to draw.", aside=True)
        )
    return blocks


def _picture(found: Assessment, setting: Context) -> Any:
    from truecost.show import figures

    parts = found.costs.components
    shown = {"within": parts.within, "across": parts.across, "share": parts.within_share}
    data = figures.variance_shares_data(
        found.matrix.configurations, costs=found.costs.training, **shown
    )
    return data, figures.variance_shares_chart(data, unit=setting.unit)


def _lead(found: Assessment, setting: Context) -> str:
    noise, spread = found.noise, found.spread
    incumbent = called(found, found.incumbent)
    on = f"{counted(spread.runs, 'run')} on {counted(spread.instances, 'instance')}"
    if still(found):
        return f"All {on} of {incumbent} cost the same: there is no noise in them."
    error = f"The training cost of {incumbent} comes from {on}; its standard error is "
    if not math.isfinite(noise.standard_error):
        return f"{error}not known."
    error += setting.cost(number(noise.standard_error, 2))
    if noise.bottleneck is None:
        twice = (
            f"{spread.repeated:,} of its instances have"
            if spread.repeated != 1
            else "one of its instances has"
        )
        none = "none of its instances has" if not spread.repeated else twice
        return f"{error}. How much of that is the seeds' is unknown: {none} two runs."
    if noise.bottleneck == "instances":
        return f"{error}, most of it from the choice of instances: new instances help, more seeds on the same ones hardly."
    return f"{error}, most of it from the seeds: more runs on the same instances help as well."


def still(found: Assessment) -> bool:
    """Whether all runs of the incumbent cost the same, but for rounding."""
    return found.noise.constant
