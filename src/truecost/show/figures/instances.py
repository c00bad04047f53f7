"""Configurations instance by instance: a scatter plot, differences, and the spread of costs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from truecost.arrays import FloatArray
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.show import numbers, theme
from truecost.show.theme import Chart, ScaledAxis, Series, Style, axis, labelled, tip


class CommonRuns(NamedTuple):
    """Runs on the instances that all of some configurations have runs on.

    `costs` is (configurations, instances, runs) with NaN for missing runs, `limit` the cutoff or
    the highest possible cost, where runs count as unsolved.
    """

    instances: tuple[str, ...]
    costs: FloatArray
    limit: float

    @property
    def means(self) -> FloatArray:
        """Mean cost of each configuration on each instance."""
        return np.asarray(np.nanmean(self.costs, axis=2))


def common_runs(matrix: CostMatrix, names: Sequence[str]) -> CommonRuns:
    """Select the instances on which all these configurations have runs."""
    chosen = matrix.select(configurations=list(names))
    # Means over different instances would compare the instances.
    both = np.flatnonzero((chosen.counts() > 0).all(axis=0))
    if not both.size:
        raise InputError("Expected at least one instance on which all have runs, got none.")
    cutoff = matrix.cutoff
    limit = matrix.high if cutoff is None or matrix.utility is not None else cutoff
    instances = tuple(matrix.instances[place] for place in both)
    return CommonRuns(instances, chosen.charged[:, both], limit)


def _better(ours: FloatArray, theirs: FloatArray) -> list[str]:
    """Return which of the two costs less, instance by instance."""
    better = np.where(ours < theirs, "incumbent", np.where(ours > theirs, "default", "neither"))
    return list(better.tolist())


def family_of(instance: str, families: Mapping[str, str] | None) -> str | None:
    """Return the family of an instance; None if families are unknown."""
    return None if families is None else families.get(instance, "unknown")


SIDES = Series(
    {
        "incumbent": Style("winner costs less", theme.BLUE),
        "default": Style("default costs less", theme.ORANGE, shape="square"),
        "neither": Style("equal", theme.GREY, shape="diamond"),
    }
)
# The looks of the largest families; the others share one.
FAMILIES = {
    theme.BLUE: "circle",
    theme.ORANGE: "square",
    theme.GREEN: "triangle-up",
    theme.PURPLE: "diamond",
    theme.AMBER: "cross",
    theme.BLACK: "triangle-down",
    theme.BROWN: "triangle-right",
}


def scatter_data(
    matrix: CostMatrix, incumbent: str, default: str, *, families: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Mean cost of two configurations on every common instance.

    Returns
    -------
    DataFrame
        `instance`, `incumbent_cost`, `default_cost`, `better` ("incumbent", "default" or
        "neither"), `family` (null if unknown); `x` and `y`, the two costs (the default's first)
        with those at or above the cutoff moved to it; `unsolved`, whether one was moved; and, the
        same in every row, the names `incumbent` and `default`, and the `limit`, null if unknown.
    """
    if incumbent == default:
        raise InputError(f"Expected two configurations to compare, got {incumbent!r} twice.")
    runs = common_runs(matrix, [incumbent, default])
    ours, theirs = runs.means
    limit = runs.limit if math.isfinite(runs.limit) else None
    return pl.DataFrame(
        {
            "instance": runs.instances,
            "incumbent_cost": ours,
            "default_cost": theirs,
            "better": _better(ours, theirs),
            "family": [family_of(name, families) for name in runs.instances],
            "x": np.minimum(theirs, runs.limit),
            "y": np.minimum(ours, runs.limit),
            "unsolved": (ours >= runs.limit) | (theirs >= runs.limit),
            "incumbent": incumbent,
            "default": default,
            "limit": limit,
        },
        schema_overrides={"limit": pl.Float64, "family": pl.String},
    )


@theme.figure
def scatter_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """A point for every instance: below the diagonal the winner costs less.

    Costs at or above the cutoff lie on the rim; colours are families if they are known.
    """
    limit = data["limit"][0]
    fit = axis([*data["x"], *data["y"]])
    layers = [theme.diagonal(fit)]
    if limit is not None and data["unsolved"].any():
        rim = theme.rule(limit, color=theme.GREY, strokeWidth=1)
        layers += [rim.encode(x=fit.x("at")), rim.encode(y=fit.y("at"))]
    known = data["family"].null_count() < data.height
    table, color, shape = _colours(data, known)
    # A click on the legend shows one group alone.
    chosen = alt.selection_point(name="chosen", fields=["what"], bind="legend")
    points = theme.plot(table).mark_point(filled=True, size=45).add_params(chosen)
    points = points.encode(
        opacity=alt.condition(chosen, alt.value(0.85), alt.value(0.08)),
        x=fit.x("x", labelled("default: cost", unit)),
        y=fit.y("y", labelled("winner: cost", unit)),
        color=color,
        shape=shape,
        tooltip=[
            tip("instance:N"),
            *([tip("family:N")] if known else []),
            tip("incumbent_cost:Q", "winner: mean cost of its runs"),
            tip("default_cost:Q", "default: mean cost of its runs"),
        ],
    )
    below, above = ((data["better"] == side).sum() for side in ("incumbent", "default"))
    rim_note = " Unsolved ones lie on the rim." if data["unsolved"].any() else ""
    return theme.layered(
        [*layers, points],
        f"{data['incumbent'][0]} against {data['default'][0]}",
        f"Of {data.height:,} instances, the winner is cheaper on {below:,}, the default on "
        f"{above:,}.{rim_note}",
        width=360,
        height=360,
    )


def _colours(data: pl.DataFrame, known: bool) -> tuple[pl.DataFrame, alt.Color, alt.Shape]:
    """Colour by family if known, else by the cheaper configuration."""
    if not known:
        series, table = SIDES.of(data, "better")
        return table, series.color(), series.shape()
    sizes = data["family"].value_counts(sort=True)["family"].to_list()
    looks = {
        name: Style(name, color, shape=shape)
        for name, (color, shape) in zip(sizes, FAMILIES.items(), strict=False)
    }
    key = pl.when(pl.col("family").is_in(list(looks))).then("family").otherwise(pl.lit("…"))
    if len(sizes) > len(looks):
        looks["…"] = Style(f"{len(sizes) - len(looks)} other families", theme.GREY)
    series, table = Series(looks).of(data.with_columns(key=key), "key")
    return table, series.color(columns=2), series.shape()


BARS = Series(
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
    columns = {
        "place": kept + 1,
        "instance": [instances[row] for row in rows],
        "incumbent_cost": ours[rows],
        "default_cost": theirs[rows],
        "difference": difference[rows],
        "better": _better(ours[rows], theirs[rows]),
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
    summary = data.row(0, named=True)
    limited = summary["lower"] is not None and summary["upper"] is not None
    size = summary["instances"]
    values = [0.0, *([summary["lower"], summary["upper"]] if limited else []), *data["difference"]]
    room = 0.05 * (max(values) - min(values))
    domain = [min(values) - room, max(values) + room]
    scale = alt.Scale(domain=domain, nice=False, reverse=theme.scores())
    turned: dict[str, Any] = {"labelExpr": theme.NEGATED} if theme.scores() else {}
    fit = theme.ScaledAxis(scale, alt.Axis(tickCount=6, **turned))
    across = theme.span(size, grid=False, format=",d")
    zero = theme.rule(0.0, color=theme.BLACK, strokeWidth=0.8).encode(y=fit.y("at"))
    row = data.head(1).select("mean", "lower", "upper", left=0.5, right=pl.col("instances") + 0.5)
    tooltip = [tip("mean:Q", "mean difference over all common instances")]
    lines = [f"Mean {numbers.signed(theme.displayed(summary['mean']))} (dashed)"]
    if limited:
        limits = numbers.limits(
            *sorted(theme.displayed(summary[end]) for end in ("lower", "upper"))
        )
        level = numbers.confidence(delta)
        lines.append(f"shaded {limits}, each limit with {level} confidence")
        tooltip.append(tip("lower:Q", f"true costs differ by at least ({level} confidence)"))
        tooltip.append(tip("upper:Q", f"and by at most ({level} confidence)"))
    base = theme.plot(row).encode(x=across.x("left"), x2="right:Q", tooltip=tooltip)
    mean = base.mark_rule(**theme.MEAN).encode(y=fit.y("mean"))
    shaded = base.mark_rect(color=theme.BLACK, opacity=0.15)
    band = [shaded.encode(y=fit.y("lower"), y2="upper:Q")] if limited else []
    thinned = f" {data.height:,} of them are shown." if data.height < size else ""
    return theme.layered(
        [*band, _bars(data, across, fit, unit), zero, mean],
        f"{summary['incumbent']} against {summary['default']}, instance by instance",
        f"The winner costs less on {summary['gains']:,} and more on {summary['losses']:,} of "
        f"{size:,} instances.{thinned}",
        f"{', '.join(lines)}.",
    )


def _bars(data: pl.DataFrame, across: ScaledAxis, fit: ScaledAxis, unit: str) -> alt.Chart:
    # A bar of a thinned order reaches to the next one.
    places = data["place"].to_numpy()
    edges = np.concatenate([[0.5], (places[:-1] + places[1:]) / 2, across.ends[1:]])
    sides, table = BARS.of(data, "better")
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


# Groups that are shown, those with the largest differences first.
MOST_GROUPS = 30
# Fewer runs on an instance have no quartiles.
FEWEST_RUNS = 4


def boxes_data(
    matrix: CostMatrix,
    configurations: Mapping[str, str],
    *,
    families: Mapping[str, str] | None = None,
    most: int = MOST_GROUPS,
) -> pl.DataFrame:
    """Quartiles of the costs of some configurations on their common instances.

    A group is a family if `families` are given, else an instance if there are enough runs on each,
    else all instances. `configurations` are names by their labels.

    Returns
    -------
    DataFrame
        `group` (empty if there is only one), `series` (the label), `low`, `lower`, `median`,
        `upper`, `high` (extremes and quartiles), `runs`, and `spread`, the range of the medians.
    """
    runs = common_runs(matrix, list(configurations.values()))
    groups = [family_of(name, families) or "" for name in runs.instances]
    if families is None and np.median((~np.isnan(runs.costs)).sum(axis=2)) >= FEWEST_RUNS:
        groups = list(runs.instances)
    keys = np.array(groups)
    rows = []
    for group in dict.fromkeys(groups):
        for place, label in enumerate(configurations):
            costs = runs.costs[place][keys == group]
            costs = costs[~np.isnan(costs)]
            quartiles = np.quantile(costs, [0, 0.25, 0.5, 0.75, 1]).tolist()
            rows.append((group, label, *quartiles, costs.size))
    names = ["group", "series", "low", "lower", "median", "upper", "high", "runs"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    median = pl.col("median")
    table = table.with_columns(spread=(median.max() - median.min()).over("group"))
    kept = table.unique("group", maintain_order=True).sort("spread", descending=True).head(most)
    return table.filter(pl.col("group").is_in(kept["group"].to_list())).sort(
        "spread", descending=True, maintain_order=True
    )


@theme.figure
def boxes_chart(data: pl.DataFrame, *, unit: str = "cost") -> Chart:
    """Boxes from quartile to quartile, the median as a tick, whiskers to the extremes."""
    colors = (theme.BLUE, theme.ORANGE, theme.GREEN, theme.PURPLE)
    series = Series.plain(data["series"], [(color, theme.SOLID) for color in colors])
    fit = axis([*data["low"], *data["high"]])
    groups = data["group"].unique(maintain_order=True).to_list()
    names = dict(zip(groups, theme.short_names(groups), strict=True))
    table = data.with_columns(series.labels("series"), row=pl.col("group").replace_strict(names))
    title, note = labelled("cost", unit), "Boxes are quartiles, ticks medians, whiskers extremes."
    tooltip = [
        tip("series:N", "configuration"),
        *(tip(f"{name}:Q") for name in ("low", "lower", "median", "upper", "high")),
        tip("runs:Q", "runs", ",d"),
    ]
    base = theme.plot(table).encode(color=series.color())
    if len(groups) == 1:
        order, thickness, height = series.names, 18, 40
        base = base.encode(y=theme.rows("series", order, 180), color=series.color().legend(None))
    else:
        order, thickness, height = list(names.values()), 7, 22
        offset = alt.YOffset("series:N", sort=series.names)
        base = base.encode(y=theme.rows("row", order, 180), yOffset=offset)
        tooltip.insert(0, tip("group:N"))
        note += " Largest differences first."
    base = base.encode(tooltip=tooltip)
    whiskers = base.mark_rule(strokeWidth=1).encode(x=fit.x("low", title), x2="high:Q")
    boxes = base.mark_bar(size=thickness).encode(x=fit.x("lower", title), x2="upper:Q")
    medians = base.mark_tick(thickness=2, size=thickness + 4).encode(
        x=fit.x("median", title), color=alt.ColorValue(theme.BLACK)
    )
    layers, height = (whiskers, boxes, medians), height * len(order)
    return theme.layered(layers, "Spread of costs", note, width=560, height=height)
