"""The winner against the default, instance by instance."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from truecost.errors import InputError
from truecost.show import numbers, theme
from truecost.show.theme import Chart, ScaledAxis, Series, Style, labelled, tip

SIDES = Series(
    {
        "incumbent": Style("the winner costs less", theme.BLUE),
        "default": Style("the default costs less", theme.AMBER),
        "neither": Style("both cost the same", theme.GREY),
    }
)
# More bars could not be distinguished.
MOST_INSTANCES = 500


def paired_differences_data(
    incumbent: str,
    default: str,
    *,
    instances: Sequence[str],
    costs: ArrayLike,
    lower: float | None = None,
    upper: float | None = None,
    most: int = MOST_INSTANCES,
) -> pl.DataFrame:
    """Cost of the incumbent − cost of the default on every common instance, the largest gain first.

    Parameters
    ----------
    incumbent, default
        The names of two configurations.
    instances, costs
        The instances both have runs on, and their mean costs there: (2, K), the incumbent's first.
    lower, upper
        Limits of the difference of their true costs; None if no valid ones are known.
    most
        The largest number of instances to keep, evenly along the order; mean and counts are of all.

    Returns
    -------
    DataFrame
        `place` (from 1), `instance`, `incumbent_cost`, `default_cost`, `difference`, `better`
        ("incumbent", "default" or "neither"); and, the same in every row, the names `incumbent` and
        `default`, `mean`, `lower` and `upper`, the number of `instances`, and the numbers of
        `gains` and `losses` of the incumbent.
    """
    if incumbent == default:
        raise InputError(f"Expected two configurations to compare, got {incumbent!r} twice.")
    if most < 2:
        raise InputError(f"Expected at least 2 instances to be shown, got {most}.")
    if not instances:
        raise InputError("Expected at least one instance on which both have runs, got none.")
    ours, theirs = np.asarray(costs, dtype=np.float64)
    difference = ours - theirs
    order = np.argsort(difference, kind="stable")
    kept = np.unique(np.rint(np.linspace(0, order.size - 1, min(most, order.size))).astype(int))
    rows = order[kept]
    better = np.where(difference < 0, "incumbent", np.where(difference > 0, "default", "neither"))
    columns = {
        "place": kept + 1,
        "instance": [instances[row] for row in rows],
        "incumbent_cost": ours[rows],
        "default_cost": theirs[rows],
        "difference": difference[rows],
        "better": better[rows].tolist(),
        "incumbent": incumbent,
        "default": default,
        "mean": float(difference.mean()),
        "lower": lower,
        "upper": upper,
        "instances": int(difference.size),
        "gains": int((difference < 0).sum()),
        "losses": int((difference > 0).sum()),
    }
    return pl.DataFrame(columns, schema_overrides={"lower": pl.Float64, "upper": pl.Float64})


@theme.figure
def paired_differences_chart(
    data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost"
) -> Chart:
    """A bar for every instance, below 0 where the incumbent costs less.

    The mean is dashed and its interval shaded; limits that are null are not drawn.
    """
    one = data.row(0, named=True)
    limited = one["lower"] is not None and one["upper"] is not None
    size = one["instances"]
    shown = [0.0, *([one["lower"], one["upper"]] if limited else []), *data["difference"]]
    room = 0.05 * (max(shown) - min(shown))
    domain = [min(shown) - room, max(shown) + room]
    scale = alt.Scale(domain=domain, nice=False, reverse=theme.scores())
    turned: dict[str, Any] = {"labelExpr": theme.NEGATED} if theme.scores() else {}
    fit = theme.ScaledAxis(scale, alt.Axis(tickCount=6, **turned))
    across = theme.span(size, grid=False, format=",d")
    zero = theme.rule(0.0, color=theme.BLACK, strokeWidth=0.8).encode(y=fit.y("at"))
    row = data.head(1).select("mean", "lower", "upper", left=0.5, right=pl.col("instances") + 0.5)
    tooltip = [tip("mean:Q", "mean difference over all common instances")]
    lines = [f"Mean {numbers.signed(theme.shown(one['mean']))} (dashed)"]
    if limited:
        limits = numbers.limits(*sorted(theme.shown(one[end]) for end in ("lower", "upper")))
        level = numbers.confidence(delta)
        # Each end alone is wrong with probability delta, so the two together with up to 2 delta.
        lines.append(f"{numbers.confidence(2 * delta)} interval {limits} (shaded)")
        tooltip.append(tip("lower:Q", f"true costs differ by at least ({level} confidence)"))
        tooltip.append(tip("upper:Q", f"and by at most ({level} confidence)"))
    base = theme.plot(row).encode(x=across.x("left"), x2="right:Q", tooltip=tooltip)
    mean = base.mark_rule(**theme.MEAN).encode(y=fit.y("mean"))
    shaded = base.mark_rect(color=theme.BLACK, opacity=0.15)
    band = [shaded.encode(y=fit.y("lower"), y2="upper:Q")] if limited else []
    thinned = f" {data.height:,} of them are shown." if data.height < size else ""
    return theme.layered(
        [*band, _bars(data, across, fit, unit), zero, mean],
        f"{one['incumbent']} against {one['default']}, instance by instance",
        f"The winner costs less on {one['gains']:,} and more on {one['losses']:,} of {size:,} "
        f"instances.{thinned}",
        f"{', '.join(lines)}.",
    )


def _bars(data: pl.DataFrame, across: ScaledAxis, fit: ScaledAxis, unit: str) -> alt.Chart:
    # A bar of a thinned order reaches to the next one.
    places = data["place"].to_numpy()
    edges = np.concatenate([[0.5], (places[:-1] + places[1:]) / 2, across.ends[1:]])
    sides, table = SIDES.of(data, "better")
    columns = ("place", "instance", "incumbent_cost", "default_cost", "difference", "what")
    left, right = pl.Series("left", edges[:-1]), pl.Series("right", edges[1:])
    # Descriptions for screen readers in 500 bars would be most of the file: the page has a table.
    bars = theme.plot(table.select(*columns, left, right, zero=0.0)).mark_rect(aria=False)
    drawn: alt.Chart = bars.encode(
        x=across.x("left", "instances, from the largest gain to the largest loss of the winner"),
        x2="right:Q",
        y=fit.y("zero", labelled("cost of the winner − cost of the default", unit)),
        y2="difference:Q",
        color=sides.color(),
        tooltip=[
            tip("instance:N"),
            tip("incumbent_cost:Q", "winner: mean cost of its runs there"),
            tip("default_cost:Q", "default: mean cost of its runs there"),
            tip("difference:Q", labelled("winner − default", unit)),
            tip("place:Q", "place, by the difference", ",d"),
        ],
    )
    return drawn
