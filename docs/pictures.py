"""The pictures of statements.md, from the example kissat: `python docs/pictures.py`."""

from pathlib import Path
from typing import Literal

import altair as alt
import numpy as np
import polars as pl

from truecost import Utility, import_runs, load_example
from truecost.examples import path_of
from truecost.show.figures import save
from truecost.show.numbers import at_least, at_most, share_at_least
from truecost.show.theme import (
    BLACK,
    BLUE,
    DASH_DOTTED,
    DASHED,
    DOTTED,
    GREY,
    ORANGE,
    SOLID,
    Chart,
    records,
    themed,
)
from truecost.verbs import assess

FOLDER = Path(__file__).parent / "assets"
SIZE = {"width": 520, "height": 200}


def rises(values: np.ndarray, end: float) -> pl.DataFrame:
    """The share of values that are at most so large, as steps."""
    seen = np.sort(values[values <= end])
    return pl.DataFrame(
        {
            "at": [*seen, end],
            "share": [*(np.arange(1, seen.size + 1) / values.size), seen.size / values.size],
        }
    )


def marked(
    table: pl.DataFrame, x: alt.X, y: alt.Y, align: Literal["left", "right"] = "left"
) -> alt.LayerChart:
    """Points with words beside them."""
    points = alt.Chart(records(table)).encode(x=x, y=y)
    dot = points.mark_point(color=BLACK, filled=True, size=80, shape="diamond", opacity=1)
    beside = points.mark_text(align=align, dx=10 if align == "left" else -10, dy=12, fontSize=12)
    made: alt.LayerChart = dot + beside.encode(text="said:N")
    return made


def draw() -> dict[str, Chart]:
    """All pictures by their names."""
    matrix = load_example("kissat")
    found = assess(matrix, default=matrix.configurations[0], chosen="from-list")
    said = {each.quantity: each for each in found.statements}
    cutoff = matrix.high / 10
    winner, default = (
        matrix.costs[matrix.configurations.index(name)]
        for name in (found.incumbent, matrix.configurations[0])
    )
    x = alt.X("at:Q", title="running time, s", scale=alt.Scale(domain=[0, 1.02 * cutoff]))
    y = alt.Y(
        "share:Q", title="share of runs", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
    )
    lines = [
        alt.Chart(records(rises(each.ravel(), cutoff)))
        .mark_line(interpolate="step-after", color=color, strokeDash=dash)
        .encode(x=x, y=y)
        for each, color, dash in ((winner, BLUE, SOLID), (default, ORANGE, DASHED))
    ]
    half, solved = said["median"], said["solved share"]
    points = pl.DataFrame(
        {
            "at": [half.limit, cutoff],
            "share": [0.5, solved.limit],
            "said": [
                f"half of all runs: at most {at_most(half.limit)} s",
                f"solved: at least {share_at_least(solved.limit)}",
            ],
        }
    )
    made = {
        "statement-shares": lines[0]
        + lines[1]
        + marked(points[:1], x, y)
        + marked(points[1:], x, y, align="right")
    }
    slower = (
        np.where(default[:, np.newaxis, :] > cutoff, cutoff, default[:, np.newaxis, :])
        / winner[:, :, np.newaxis]
    )
    ratio = np.where(winner[:, :, np.newaxis] > cutoff, 0.01, slower).ravel()
    places = np.geomspace(0.1, 60, 200)
    table = pl.DataFrame({"at": places, "share": [(ratio >= place).mean() for place in places]})
    x = alt.X(
        "at:Q", title="times faster than the default", scale=alt.Scale(type="log", domain=[0.1, 60])
    )
    y = alt.Y(
        "share:Q",
        title="share of pairs of runs",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    wins, faster = said["wins"], said["speed-up"]
    points = pl.DataFrame(
        {
            "at": [1.0, faster.limit],
            "share": [wins.limit, 0.5],
            "said": [
                f"wins: at least {share_at_least(wins.limit)}",
                f"in the median at least {at_least(faster.limit)} times",
            ],
        }
    )
    even = (
        alt.Chart(records(pl.DataFrame({"at": [1.0]})))
        .mark_rule(color=GREY, strokeDash=DOTTED)
        .encode(x=x)
    )
    line = alt.Chart(records(table)).mark_line(color=BLUE).encode(x=x, y=y)
    made["statement-wins"] = even + line + marked(points, x, y, align="right")
    assert found.certificate is not None  # noqa: S101 - a list with a known range
    assert found.width is not None  # noqa: S101
    ends = [
        found.certificate.estimate,
        found.certificate.estimate + found.width.rest,
        found.certificate.upper,
    ]
    parts = pl.DataFrame(
        {
            "from": [0.0, *ends[:2]],
            "to": ends,
            "what": [
                "mean of the runs seen",
                "spread that was seen",
                "what 50 instances cannot rule out",
            ],
        }
    )
    color = alt.Color(
        "what:N",
        sort=None,
        scale=alt.Scale(domain=parts["what"].to_list(), range=[BLUE, GREY, ORANGE]),
    )
    bar = (
        alt.Chart(records(parts))
        .mark_bar(size=40)
        .encode(x=alt.X("from:Q", title="mean cost, PAR10 s"), x2="to:Q", color=color)
    )
    made["statement-mean"] = bar.properties(width=520, height=70)
    times = np.linspace(0, 240, 241)
    kinds = ("step=60", "linear=120", "half-life=60", "log-laplace=60,1")
    frames = [
        pl.DataFrame({"at": times, "worth": Utility.parse(kind).of(times), "what": kind})
        for kind in kinds
    ]
    color = alt.Color(
        "what:N", sort=kinds, scale=alt.Scale(domain=kinds, range=[BLACK, ORANGE, BLUE, GREY])
    )
    dash = alt.StrokeDash(
        "what:N",
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=[SOLID, DASHED, DOTTED, DASH_DOTTED]),
    )
    curve = alt.Chart(records(pl.concat(frames))).mark_line(strokeWidth=2)
    made["statement-utility"] = curve.encode(
        x=alt.X("at:Q", title="running time, s"),
        y=alt.Y("worth:Q", title="what it is worth"),
        color=color,
        strokeDash=dash,
    )
    return {
        name: chart if name == "statement-mean" else chart.properties(**SIZE)
        for name, chart in made.items()
    }


def which() -> str:
    """Which statement answers which question, with what it says of kissat's winner: one picture, as
    SVG.
    """
    matrix = load_example("kissat")
    found = assess(matrix, default=matrix.configurations[0], chosen="from-list")
    useful = assess(import_runs(path_of("kissat"), utility="half-life=0.1"), chosen="from-list")
    said = {each.quantity: each.limit for each in found.statements}
    assert found.certificate is not None  # noqa: S101 - a list with a known range
    assert useful.comparison is not None  # noqa: S101
    assert useful.comparison.upper is not None  # noqa: S101
    rows = [
        (
            "Which one do I take for the next instance?",
            "wins",
            f"wins at least {share_at_least(said['wins'])} of new runs",
        ),
        (
            "How many times faster is it, typically?",
            "speed-up",
            f"at least {at_least(said['speed-up'])} times, in the median",
        ),
        (
            "Do runs finish in time?",
            "solved share",
            f"at least {share_at_least(said['solved share'])} are solved",
        ),
        (
            "How long do I wait for most runs?",
            "quantiles",
            f"half of all runs: at most {at_most(said['median'])} s",
        ),
        (
            "Is a late answer worth less?",
            "expected utility",
            f"at least {at_least(-useful.comparison.upper)} above the default",
        ),
        (
            "What does it cost in sum, in CPU hours?",
            "mean cost *",
            f"at most {at_most(found.certificate.upper)} PAR10 s",
        ),
    ]
    heads = ("You ask", "you want", "it says of kissat\u2019s winner, 95 % sure")
    foot = "* needs the metric\u2019s possible range, and the most instances"
    return boxes(rows, heads, foot)


def about() -> str:
    """What was sampled, and what a statement then holds for: one picture, as SVG."""
    rows = [
        ("random instances", "instance, new", "on new instances like these"),
        ("families, and instances of each", "family, new", "on new families, counted equally"),
        ("instances within known families", "family, these", "on another mix of these families"),
        ("a part of a fixed list, or all of it", "instance, these", "on this benchmark, new seeds"),
        ("seeds, on one instance", "seed, these", "on this instance, with new seeds"),
        ("folds of one data set", "fold", "nothing guaranteed; approximate only"),
    ]
    heads = ("What was drawn at random", "--sampled, --about", "the statement holds")
    return boxes(rows, heads, "Decide before looking at results.")


def boxes(rows: list[tuple[str, str, str]], heads: tuple[str, str, str], footnote: str) -> str:
    """Rows of a question, a name and an answer, as SVG."""
    parts, line = [], 54
    for place, texts in enumerate(rows):
        top = 44 + place * line
        parts.append(
            f'<rect x="8" y="{top}" width="320" height="42" rx="6" fill="#eef4fa" stroke="#0072b2"/>'
        )
        parts.append(f'<path d="M328 {top + 21}h30m-7 -5l7 5l-7 5" fill="none" stroke="#555"/>')
        parts.append(
            f'<rect x="362" y="{top}" width="150" height="42" rx="6" fill="#fff6e5" stroke="#e69f00"/>'
        )
        for at, text in zip((20, 374, 528), texts, strict=True):
            weight = ' font-weight="bold"' if at == 374 else ""
            parts.append(f'<text x="{at}" y="{top + 26}"{weight}>{text}</text>')
    parts += [
        f'<text x="{at}" y="26" fill="#555">{head}</text>'
        for at, head in zip((20, 374, 528), heads, strict=True)
    ]
    foot = 62 + len(rows) * line
    parts.append(f'<text x="20" y="{foot}" fill="#555">{footnote}</text>')
    size = f'width="860" height="{foot + 14}" viewBox="0 0 860 {foot + 14}"'
    style = 'font-family="sans-serif" font-size="14" fill="#1a1d21"'
    body = "\n".join(parts)
    paper = '<rect width="100%" height="100%" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{paper}\n<g {style}>\n{body}\n</g>\n</svg>\n'


if __name__ == "__main__":
    (FOLDER / "statement-which.svg").write_text(which())
    (FOLDER / "about.svg").write_text(about())
    for name, chart in draw().items():
        save(themed(chart), FOLDER / f"{name}.svg")
