"""Figures of how sure one can be: what instances buy a certificate, and where two configurations
differ.
"""

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from truecost.errors import InputError
from truecost.show import numbers, theme
from truecost.show.theme import (
    Chart,
    Look,
    Plot,
    Series,
    axis,
    checked_whole,
    labelled,
    records,
    themed,
    tip,
    whole_ticks,
)

METHODS = {
    "star-bets": Look("star-bets: STaR-Bets, the default", theme.BLUE, theme.SOLID),
    "betting": Look("betting: hedged capital", theme.ORANGE, theme.DASHED),
    "empirical-bernstein": Look(
        "empirical-bernstein: from the sample variance", theme.GREEN, theme.DOTTED
    ),
    "hoeffding": Look("hoeffding: from the cost range alone", theme.PURPLE, theme.DASH_DOTTED),
}
SIDES = Series(
    {
        "incumbent": Look("the incumbent costs less", theme.BLUE),
        "default": Look("the default costs less", theme.AMBER),
        "neither": Look("both cost the same", theme.GREY),
    }
)
GLANCE = Series(
    {
        "default": Look("default", theme.GREY, shape="square"),
        "training": Look("in training", theme.ORANGE, shape="diamond"),
        "true": Look("new instances", theme.BLUE),
    }
)
# Pixels of a row of the picture beside the verdict.
GLANCE_ROW = 34
# Instances of a comparison that are drawn: more would not be seen.
MOST_INSTANCES = 500
# How much of a name a title shows, in pixels.
TITLE_LIMIT = 600


def glance_data(
    training: float,
    *,
    default: float | None = None,
    true: float | None = None,
    upper: float | None = None,
) -> pl.DataFrame:
    """What a verdict speaks of: the default, the winner in training, and the winner on new
    instances.

    Returns
    -------
    DataFrame
        `row`, `cost` (null where it is unknown), `upper` (null where nothing is guaranteed),
        `shown` (what is written beside them).
    """
    rows: list[tuple[str, float | None, float | None]] = [
        ("training", training, None),
        ("true", true, upper),
    ]
    if default is not None:
        rows.insert(0, ("default", default, None))
    shown = [
        ("unknown" if cost is None else numbers.number(cost))
        + ("" if limit is None else f", at most {numbers.at_most(limit)}")
        for _, cost, limit in rows
    ]
    kinds = {"row": pl.String, "cost": pl.Float64, "upper": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row").with_columns(shown=pl.Series(shown))


@checked_whole
def glance_chart(data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost") -> Chart:
    """Three costs on one line, the guarantee as a bar that ends at it; what is unknown says so."""
    ends = [value for name in ("cost", "upper") for value in data[name].drop_nulls().to_list()]
    x_scale, x_axis = axis([*ends, *([0.0] if min(ends) >= 0 else [])], log=False)
    # Beside the mark that lies farthest right in its row; what is unknown stands at the least cost
    # that is drawn.
    beside = pl.max_horizontal("cost", "upper").fill_null(min(ends))
    drawn = data.with_columns(
        GLANCE.labels("row"), beside=beside, left=beside > (min(0.0, *ends) + max(ends)) / 2
    )
    shown = [str(label) for label in drawn["what"]]
    base = Plot(records(drawn)).encode(
        y=alt.Y(
            "what:N",
            title=None,
            sort=shown,
            axis=alt.Axis(labelLimit=200, grid=False, ticks=False, domain=False),
        )
    )
    title = labelled("mean cost", unit) if unit != "cost" else "mean cost"
    x = alt.X("cost:Q", title=title, scale=x_scale, axis=x_axis)
    known = [
        tip("what:N"),
        tip("cost:Q", title),
        tip("upper:Q", f"at most ({numbers.confidence(delta)} sure)"),
    ]
    look, shape = GLANCE.color().legend(None), GLANCE.shape().legend(None)
    bars = (
        base.transform_filter("isValid(datum.upper)")
        .mark_rule(strokeWidth=6, opacity=0.35)
        .encode(x=x, x2=alt.X2("upper:Q"), color=look, tooltip=known)
    )
    points = (
        base.transform_filter("isValid(datum.cost)")
        .mark_point(filled=True, size=110, opacity=1)
        .encode(x=x, color=look, shape=shape, tooltip=known)
    )
    texts = [
        base.transform_filter(f"datum.left === {str(left).lower()}")
        .mark_text(
            align="right" if left else "left",
            dx=-10 if left else 10,
            dy=-11 if left else 0,
            fontSize=12,
        )
        .encode(x=alt.X("beside:Q", scale=x_scale, title=title), text=alt.Text("shown:N"))
        for left in (False, True)
    ]
    return themed(
        alt.layer(bars, points, *texts, view=alt.ViewConfig(stroke=None)).properties(
            width=560, height=GLANCE_ROW * data.height, title="What the winner costs"
        )
    )


def certificate_width_data(
    configuration: str, instances: ArrayLike, estimate: ArrayLike, upper: Mapping[str, ArrayLike]
) -> pl.DataFrame:
    """What each method certifies of one configuration from the first K instances, as
    `confidence.upper_by_size` finds it.

    Returns
    -------
    DataFrame
        `configuration`, `instances` (K), `method`, `estimate`, `upper`, `width` (upper − estimate).
    """
    points = {"configuration": configuration, "instances": instances, "estimate": estimate, **upper}
    table = pl.DataFrame(points).unpivot(
        list(upper),
        index=["configuration", "instances", "estimate"],
        variable_name="method",
        value_name="upper",
    )
    table = table.select("configuration", "instances", "method", "estimate", "upper").sort(
        "instances", maintain_order=True
    )
    return table.with_columns(width=pl.col("upper") - pl.col("estimate"))


@checked_whole
def certificate_width_chart(
    data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost"
) -> Chart:
    """How far the certified limit lies above the estimate against K, a line for every method."""
    series = Series({method: look for method, look in METHODS.items() if method in data["method"]})
    widths = data["width"].to_list()
    x_scale, x_axis = axis(data["instances"].to_list(), log=True)
    y_scale, y_axis = axis(widths, log=min(widths) > 0)
    base = Plot(records(data.with_columns(series.labels("method")))).encode(
        x=alt.X("instances:Q", title="K, the number of instances", scale=x_scale, axis=x_axis),
        y=alt.Y(
            "width:Q",
            title=labelled("certified limit − estimate", unit),
            scale=y_scale,
            axis=y_axis,
        ),
        color=series.color(symbolType="stroke", symbolSize=400, columns=2),
    )
    lines = base.mark_line(strokeWidth=2).encode(strokeDash=series.dash())
    points = base.mark_point(**theme.UNSEEN).encode(
        tooltip=[
            tip("configuration:N"),
            tip("what:N", "method"),
            tip("instances:Q", "K, the number of instances", ",d"),
            tip("estimate:Q", "estimate: mean of the instance means"),
            tip("upper:Q", f"the true cost is at most ({numbers.confidence(delta)} sure)"),
            tip("width:Q", labelled("width: that limit − estimate", unit)),
        ]
    )
    title = alt.TitleParams(
        f"{numbers.confidence(delta)} certificates of {data['configuration'][0]}",
        subtitle=[
            "Growing parts of one random order of the instances; each limit is for one look, at K fixed beforehand.",
            "No limit exceeds the highest possible cost: a line is flat where its method knows no better.",
        ],
        limit=TITLE_LIMIT,
    )
    return themed(alt.layer(lines, points).properties(width=600, height=320, title=title))


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
        On which both have runs, and their mean costs there: (2, K), the incumbent's first.
    lower, upper
        Limits of the difference of their true costs; None where no valid ones are known.
    most
        Of more instances so many are kept, evenly along the order; mean and counts are of all.

    Returns
    -------
    DataFrame
        `place` (from 1), `instance`, `incumbent_cost`, `default_cost`, `difference`, `better`
        ("incumbent", "default" or "neither"); and, the same in every row, the names `incumbent` and
        `default`, `mean`, `lower` and `upper`, and how many `instances` there are, `gains` and
        `losses` of the incumbent.
    """
    if incumbent == default:
        raise InputError(f"Expected two configurations to compare, got {incumbent!r} twice.")
    if most < 2:
        raise InputError(f"Expected at least 2 instances to be shown, got {most}.")
    if not instances:
        raise InputError("Expected at least one instance on which both have runs, got none.")
    ours, theirs = np.asarray(costs, dtype=np.float64)
    apart = ours - theirs
    order = np.argsort(apart, kind="stable")
    kept = np.unique(np.rint(np.linspace(0, order.size - 1, min(most, order.size))).astype(int))
    rows = order[kept]
    better = np.where(apart < 0, "incumbent", np.where(apart > 0, "default", "neither"))
    table = {
        "place": kept + 1,
        "instance": [instances[i] for i in rows],
        "incumbent_cost": ours[rows],
        "default_cost": theirs[rows],
        "difference": apart[rows],
        "better": better[rows].tolist(),
        "incumbent": incumbent,
        "default": default,
        "mean": float(apart.mean()),
        "lower": lower,
        "upper": upper,
        "instances": int(apart.size),
        "gains": int((apart < 0).sum()),
        "losses": int((apart > 0).sum()),
    }
    return pl.DataFrame(table, schema_overrides={"lower": pl.Float64, "upper": pl.Float64})


@checked_whole
def paired_differences_chart(
    data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost"
) -> Chart:
    """A bar for every instance, down where the incumbent costs less; the mean dashed, its interval
    shaded.

    Limits that are null, since no valid ones are known, are neither drawn nor spoken of.
    """
    one = data.row(0, named=True)
    limited = one["lower"] is not None and one["upper"] is not None
    size = one["instances"]
    # Bars of a thinned order reach as far as the next one.
    places = data["place"].to_numpy()
    edges = np.concatenate([[0.5], (places[:-1] + places[1:]) / 2, [size + 0.5]])
    bars_of = data.select(
        "place",
        "instance",
        "incumbent_cost",
        "default_cost",
        "difference",
        SIDES.labels("better"),
        pl.Series("left", edges[:-1]),
        pl.Series("right", edges[1:]),
    )
    shown = [0.0, *([one["lower"], one["upper"]] if limited else []), *data["difference"]]
    room = 0.05 * (max(shown) - min(shown))
    y_scale = alt.Scale(domain=[min(shown) - room, max(shown) + room], nice=False)
    y_title = labelled("cost of the incumbent − cost of the default", unit)
    x_scale = alt.Scale(domain=[0.5, size + 0.5], nice=False)
    # A description for screen readers in each of 500 bars would make most of the file.
    bars = (
        Plot(records(bars_of.with_columns(zero=pl.lit(0.0))))
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "left:Q",
                title="instances, from the largest gain to the largest loss of the incumbent",
                scale=x_scale,
                axis=alt.Axis(grid=False, values=whole_ticks(size), format=",d"),
            ),
            x2=alt.X2("right:Q"),
            y=alt.Y("zero:Q", title=y_title, scale=y_scale, axis=alt.Axis(tickCount=6)),
            y2=alt.Y2("difference:Q"),
            color=SIDES.color(),
            tooltip=[
                tip("instance:N"),
                tip("incumbent_cost:Q", "incumbent: mean cost of its runs there"),
                tip("default_cost:Q", "default: mean cost of its runs there"),
                tip("difference:Q", labelled("incumbent − default", unit)),
                tip("place:Q", "place, by the difference", ",d"),
            ],
        )
    )
    rule_of = records(
        data.head(1).select("mean", "lower", "upper").with_columns(left=0.5, right=size + 0.5)
    )
    sure = numbers.confidence(delta)
    tooltip = [tip("mean:Q", "mean difference over all common instances")]
    if limited:
        tooltip.append(tip("lower:Q", f"with {sure} confidence the true costs differ by at least"))
        tooltip.append(tip("upper:Q", "and by at most"))
    across = {"x": alt.X("left:Q", scale=x_scale), "x2": alt.X2("right:Q")}
    band = (
        Plot(rule_of)
        .mark_rect(color=theme.BLACK, opacity=0.15)
        .encode(**across, y=alt.Y("lower:Q", scale=y_scale), y2=alt.Y2("upper:Q"), tooltip=tooltip)
    )
    mean = (
        Plot(rule_of)
        .mark_rule(**theme.MEAN)
        .encode(**across, y=alt.Y("mean:Q", scale=y_scale), tooltip=tooltip)
    )
    zero = Plot(records(pl.DataFrame({"zero": [0.0]}))).mark_rule(
        color=theme.BLACK, strokeWidth=0.8
    )
    said = [f"Mean {numbers.number(one['mean'])} (dashed)"]
    if limited:
        said.append(f"{sure} interval {numbers.between(one['lower'], one['upper'])} (shaded)")
        said.append("valid if both were fixed before these runs")
    title = alt.TitleParams(
        f"{one['incumbent']} against {one['default']}, instance by instance",
        subtitle=[
            f"The incumbent costs less on {one['gains']:,} and more on {one['losses']:,} of {size:,} instances."
            + (f" {data.height:,} of them are shown." if data.height < size else ""),
            f"{', '.join(said)}.",
        ],
        limit=TITLE_LIMIT,
    )
    rules = [zero.encode(y=alt.Y("zero:Q", scale=y_scale)), mean]
    chart = alt.layer(*([band] if limited else []), bars, *rules)
    return themed(chart.properties(width=600, height=320, title=title))
