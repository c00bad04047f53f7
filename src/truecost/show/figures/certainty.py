"""Figures of how sure one can be: what instances buy a certificate, and where two configurations differ."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import polars as pl

from truecost.errors import InputError
from truecost.judge.selection import instance_means
from truecost.matrix import CostMatrix
from truecost.show.theme import (
    AMBER,
    BLACK,
    BLUE,
    DASH_DOTTED,
    DASHED,
    DOTTED,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SOLID,
    Chart,
    axis,
    labelled,
    records,
    themed,
    whole_ticks,
)
from truecost.stats import confidence
from truecost.stats.confidence import Method

METHODS: dict[Method, tuple[str, str, list[int]]] = {
    "star-bets": ("star-bets: STaR-Bets, the default", BLUE, SOLID),
    "betting": ("betting: hedged capital", ORANGE, DASHED),
    "empirical-bernstein": ("empirical-bernstein: from the sample variance", GREEN, DOTTED),
    "hoeffding": ("hoeffding: from the cost range alone", PURPLE, DASH_DOTTED),
}
SIDES = {
    "incumbent": ("the incumbent costs less", BLUE),
    "default": ("the default costs less", AMBER),
    "neither": ("both cost the same", GREY),
}
# Numbers of instances on a curve, and instances of a comparison, that are drawn: more would not be seen.
MOST_SIZES = 40
MOST_INSTANCES = 500
# How much of a name a title shows, in pixels.
TITLE_LIMIT = 600


def certificate_width_data(
    matrix: CostMatrix,
    configuration: str,
    *,
    rng: np.random.Generator,
    sizes: Sequence[int] | None = None,
    delta: float = 0.05,
) -> pl.DataFrame:
    """What each method certifies of one configuration from the first K instances of one random order.

    Parameters
    ----------
    matrix
        Instances on which the configuration has no run are passed over.
    configuration
        Its name; as if it had been chosen before any of these costs was seen.
    rng
        Draws the order, the same for every K and method.
    sizes
        The K; about 40 from 2 up to all, evenly on a logarithmic scale, if not given.
    delta
        The probability with which each limit may be wrong.

    Returns
    -------
    DataFrame
        `configuration`, `instances` (K), `method`, `estimate`, `upper`, `width` (upper − estimate).
    """
    row = matrix.select(configurations=[configuration])
    means, there = instance_means(row)
    known = rng.permutation(means[0, there[0]])
    if known.size < 2:
        raise InputError(f"Expected runs of {configuration!r} on at least 2 instances, it has some on {known.size}.")
    if sizes is None:
        sizes = np.unique(np.rint(np.geomspace(2, known.size, MOST_SIZES)).astype(int)).tolist()
    if not sizes or min(sizes) < 1 or max(sizes) > known.size:
        got = f"{min(sizes)} to {max(sizes)}" if sizes else "none"
        raise InputError(
            f"Expected numbers of instances from 1 to {known.size}, on which {configuration!r} has runs, got {got}."
        )
    table: dict[str, list[str | float]] = {"instances": [], "method": [], "estimate": [], "upper": []}
    for k in sorted(set(sizes)):
        for method in METHODS:
            # The order is random already.
            limit = confidence.upper(known[:k], matrix.low, matrix.high, delta, method=method, shuffle=False)
            for name, value in zip(table, (k, method, float(limit.estimate), float(limit.upper)), strict=True):
                table[name].append(value)
    return pl.DataFrame(table).select(
        pl.lit(configuration).alias("configuration"), pl.all(), (pl.col("upper") - pl.col("estimate")).alias("width")
    )


def certificate_width_chart(data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost") -> Chart:
    """How far the certified limit lies above the estimate against K, a line for every method."""
    present = [method for method in METHODS if method in data["method"]]
    labels = [METHODS[method][0] for method in present]
    shown = data.with_columns(what=pl.col("method").replace_strict({method: METHODS[method][0] for method in METHODS}))
    widths = data["width"].to_list()
    x_scale, x_axis = axis(data["instances"].to_list(), log=True)
    y_scale, y_axis = axis(widths, log=min(widths) > 0)
    base = alt.Chart(records(shown)).encode(
        x=alt.X("instances:Q", title="K, the number of instances", scale=x_scale, axis=x_axis),
        y=alt.Y("width:Q", title=labelled("certified limit − estimate", unit), scale=y_scale, axis=y_axis),
        color=alt.Color(
            "what:N",
            sort=labels,
            scale=alt.Scale(domain=labels, range=[METHODS[method][1] for method in present]),
            legend=alt.Legend(symbolType="stroke", symbolSize=400, columns=2),
        ),
    )
    lines = base.mark_line(strokeWidth=2).encode(
        strokeDash=alt.StrokeDash(
            "what:N", sort=labels, scale=alt.Scale(domain=labels, range=[METHODS[method][2] for method in present])
        )
    )
    # What the pointer finds; a line alone would answer with its first point only.
    points = base.mark_point(opacity=0, size=60, filled=True).encode(
        tooltip=[
            alt.Tooltip("configuration:N"),
            alt.Tooltip("what:N", title="method"),
            alt.Tooltip("instances:Q", title="K, the number of instances", format=",d"),
            alt.Tooltip("estimate:Q", title="estimate: mean of the instance means", format=",.4~g"),
            alt.Tooltip("upper:Q", title=f"the true cost is at most, with {1 - delta:.10g} confidence", format=",.4~g"),
            alt.Tooltip("width:Q", title=labelled("width: that limit − estimate", unit), format=",.4~g"),
        ]
    )
    title = alt.TitleParams(
        f"{100 * (1 - delta):.10g} % certificates of {data['configuration'][0]}",
        subtitle=[
            "Growing parts of one random order of the instances; each limit is for one look, at K fixed beforehand.",
            "No limit exceeds the highest possible cost: a line is flat where its method knows no better.",
        ],
        limit=TITLE_LIMIT,
    )
    return themed(alt.layer(lines, points).properties(width=600, height=320, title=title))


def paired_differences_data(
    matrix: CostMatrix,
    incumbent: str,
    default: str,
    *,
    rng: np.random.Generator,
    delta: float = 0.05,
    most: int = MOST_INSTANCES,
) -> pl.DataFrame:
    """Cost of the incumbent − cost of the default on every common instance, the largest gain first.

    Parameters
    ----------
    matrix
        Test runs, if the interval is to be valid: both configurations must have been fixed before any of these costs was
        seen.
    incumbent, default
        The names of two configurations.
    rng
        Draws the order in which the interval takes the instances.
    delta
        The probability with which the interval may be wrong.
    most
        Of more instances so many are kept, evenly along the order; mean, interval and counts are of all.

    Returns
    -------
    DataFrame
        `place` (from 1), `instance`, `incumbent_cost`, `default_cost`, `difference`, `better` ("incumbent", "default" or
        "neither"); and, the same in every row, the names `incumbent` and `default`, `mean`, `lower` and `upper`, and how
        many `instances` there are, `gains` and `losses` of the incumbent.
    """
    if incumbent == default:
        raise InputError(f"Expected two configurations to compare, got {incumbent!r} twice.")
    if most < 2:
        raise InputError(f"Expected at least 2 instances to be shown, got {most}.")
    one, other = (matrix.select(configurations=[name]) for name in (incumbent, default))
    limits = confidence.difference(one, other, delta=delta, rng=int(rng.integers(1 << 32)))
    means, there = instance_means(matrix.select(configurations=[incumbent, default]))
    both = np.flatnonzero(there.all(axis=0))
    ours, theirs = means[:, both]
    apart = ours - theirs
    order = np.argsort(apart, kind="stable")
    kept = np.unique(np.rint(np.linspace(0, order.size - 1, min(most, order.size))).astype(int))
    rows = order[kept]
    better = np.where(apart < 0, "incumbent", np.where(apart > 0, "default", "neither"))
    table = {
        "place": kept + 1,
        "instance": [matrix.instances[both[i]] for i in rows],
        "incumbent_cost": ours[rows],
        "default_cost": theirs[rows],
        "difference": apart[rows],
        "better": better[rows].tolist(),
    }
    same = {
        "incumbent": incumbent,
        "default": default,
        "mean": float(apart.mean()),
        "lower": float(np.ravel(limits.lower)[0]),
        "upper": float(np.ravel(limits.upper)[0]),
        "instances": int(apart.size),
        "gains": int((apart < 0).sum()),
        "losses": int((apart > 0).sum()),
    }
    return pl.DataFrame(table).with_columns(pl.lit(value).alias(name) for name, value in same.items())


def paired_differences_chart(data: pl.DataFrame, *, delta: float = 0.05, unit: str = "cost") -> Chart:
    """A bar for every instance, down where the incumbent costs less; the mean dashed, its interval shaded.

    Limits that are null, since no valid ones are known, are neither drawn nor spoken of.
    """
    one = data.row(0, named=True)
    limited = one["lower"] is not None and one["upper"] is not None
    size = one["instances"]
    labels = [label for label, _ in SIDES.values()]
    # Bars of a thinned order reach as far as the next one.
    places = data["place"].to_numpy()
    edges = np.concatenate([[0.5], (places[:-1] + places[1:]) / 2, [size + 0.5]])
    bars_of = data.select(
        "place",
        "instance",
        "incumbent_cost",
        "default_cost",
        "difference",
        pl.col("better").replace_strict({side: label for side, (label, _) in SIDES.items()}).alias("what"),
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
        alt.Chart(records(bars_of.with_columns(zero=pl.lit(0.0))))
        .mark_rect(aria=False)
        .encode(
            x=alt.X(
                "left:Q",
                title="instances, from the largest gain to the largest loss of the incumbent",
                scale=x_scale,
                axis=alt.Axis(grid=False, values=whole_ticks(size), format=",d"),
            ),
            x2="right:Q",
            y=alt.Y("zero:Q", title=y_title, scale=y_scale, axis=alt.Axis(tickCount=6)),
            y2="difference:Q",
            color=alt.Color(
                "what:N",
                sort=labels,
                scale=alt.Scale(domain=labels, range=[color for _, color in SIDES.values()]),
                legend=alt.Legend(),
            ),
            tooltip=[
                alt.Tooltip("instance:N"),
                alt.Tooltip("incumbent_cost:Q", title="incumbent: mean cost of its runs there", format=",.4~g"),
                alt.Tooltip("default_cost:Q", title="default: mean cost of its runs there", format=",.4~g"),
                alt.Tooltip("difference:Q", title=labelled("incumbent − default", unit), format=",.4~g"),
                alt.Tooltip("place:Q", title="place, by the difference", format=",d"),
            ],
        )
    )
    rule_of = records(data.head(1).select("mean", "lower", "upper").with_columns(left=0.5, right=size + 0.5))
    sure = f"{100 * (1 - delta):.10g} %"
    tooltip = [alt.Tooltip("mean:Q", title="mean difference over all common instances", format=",.4~g")]
    if limited:
        tooltip += [
            alt.Tooltip("lower:Q", title=f"with {sure} confidence the true costs differ by at least", format=",.4~g"),
            alt.Tooltip("upper:Q", title="and by at most", format=",.4~g"),
        ]
    across = {"x": alt.X("left:Q", scale=x_scale), "x2": "right:Q"}
    band = (
        alt.Chart(rule_of)
        .mark_rect(color=BLACK, opacity=0.15)
        .encode(**across, y=alt.Y("lower:Q", scale=y_scale), y2="upper:Q", tooltip=tooltip)
    )
    mean = (
        alt.Chart(rule_of)
        .mark_rule(color=BLACK, strokeDash=[6, 3], strokeWidth=1.5)
        .encode(**across, y=alt.Y("mean:Q", scale=y_scale), tooltip=tooltip)
    )
    zero = alt.Chart(records(pl.DataFrame({"zero": [0.0]}))).mark_rule(color=BLACK, strokeWidth=0.8)
    said = [f"Mean {_signed(one['mean'])} (dashed)"]
    if limited:
        said.append(f"{sure} interval {_signed(one['lower'])} to {_signed(one['upper'])} (shaded)")
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


def _signed(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")
