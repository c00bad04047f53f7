"""Draw every picture of the documentation: `python -m docs.pictures`.

With `--quick`, all but the figures of the paper's experiments. A test compares the data and
specifications of the pictures with those noted in assets/pictures.json.
"""

import json
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from unittest.mock import patch

import altair as alt
import numpy as np
import polars as pl

from truecost import (
    Assessment,
    CostMatrix,
    Utility,
    import_runs,
    load_example,
    reproduce,
    training_cost,
)
from truecost.examples import path_of
from truecost.runs import Step, Trajectory
from truecost.show import figures
from truecost.show.numbers import at_least, at_most, share_at_least
from truecost.show.saving import render, specification
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
from truecost.verbs import assess, report

DOCS = Path(__file__).parent
FOLDER = DOCS / "assets"
DIGESTS = FOLDER / "pictures.json"
UNIT = alt.Scale(domain=[0, 1])
SIZE = {"width": 520, "height": 200}


def rises(values: np.ndarray, end: float) -> pl.DataFrame:
    """Return the share of values up to each of them, as steps."""
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
    """Return points with words beside them."""
    points = alt.Chart(records(table)).encode(x=x, y=y)
    dot = points.mark_point(color=BLACK, filled=True, size=80, shape="diamond", opacity=1)
    beside = points.mark_text(align=align, dx=10 if align == "left" else -10, dy=12, fontSize=12)
    both: alt.LayerChart = dot + beside.encode(text="said:N")
    return both


@cache
def judged() -> Assessment:
    """Return kissat's winner against its default."""
    matrix = load_example("kissat")
    return assess(matrix, default=matrix.configurations[0], chosen="from-list")


def costs_of_both() -> tuple[np.ndarray, np.ndarray, float]:
    """Return the costs of winner and default, and the cutoff."""
    assessment = judged()
    matrix = assessment.matrix
    winner, default = (
        matrix.costs[matrix.configurations.index(name)]
        for name in (assessment.incumbent, matrix.configurations[0])
    )
    return winner, default, matrix.high / 10


def shares() -> Chart:
    """Draw the median and the share of solved runs on the distribution of running times."""
    winner, default, cutoff = costs_of_both()
    stated = {statement.quantity: statement for statement in judged().statements}
    x = alt.X("at:Q", title="running time, s", scale=alt.Scale(domain=[0, 1.02 * cutoff]))
    y = alt.Y("share:Q", title="share of runs", axis=alt.Axis(format="%"), scale=UNIT)
    lines = [
        alt.Chart(records(rises(costs.ravel(), cutoff)))
        .mark_line(interpolate="step-after", color=color, strokeDash=dash)
        .encode(x=x, y=y)
        for costs, color, dash in ((winner, BLUE, SOLID), (default, ORANGE, DASHED))
    ]
    half, solved = stated["median"].limit, stated["solved share"].limit
    texts = [
        f"half of all runs: at most {at_most(half)} s",
        f"solved: at least {share_at_least(solved)}",
    ]
    points = pl.DataFrame({"at": [half, cutoff], "share": [0.5, solved], "said": texts})
    labels = marked(points[:1], x, y) + marked(points[1:], x, y, align="right")
    chart: Chart = (lines[0] + lines[1] + labels).properties(**SIZE)
    return chart


def wins() -> Chart:
    """Draw the share of wins and the median speed-up on the distribution of speed-ups."""
    winner, default, cutoff = costs_of_both()
    stated = {statement.quantity: statement for statement in judged().statements}
    pairs = np.minimum(default[:, np.newaxis, :], cutoff) / winner[:, :, np.newaxis]
    ratio = np.where(winner[:, :, np.newaxis] > cutoff, 0.01, pairs).ravel()
    places = np.geomspace(0.1, 60, 200)
    table = pl.DataFrame({"at": places, "share": [(ratio >= place).mean() for place in places]})
    scale = alt.Scale(type="log", domain=[0.1, 60])
    x = alt.X("at:Q", title="times faster than the default", scale=scale)
    y = alt.Y("share:Q", title="share of pairs of runs", axis=alt.Axis(format="%"), scale=UNIT)
    won, faster = stated["wins"].limit, stated["speed-up"].limit
    texts = [
        f"wins: at least {share_at_least(won)}",
        f"in the median at least {at_least(faster)} times",
    ]
    points = pl.DataFrame({"at": [1.0, faster], "share": [won, 0.5], "said": texts})
    even = alt.Chart(records(pl.DataFrame({"at": [1.0]})))
    even = even.mark_rule(color=GREY, strokeDash=DOTTED).encode(x=x)
    line = alt.Chart(records(table)).mark_line(color=BLUE).encode(x=x, y=y)
    chart: Chart = (even + line + marked(points, x, y, align="right")).properties(**SIZE)
    return chart


def mean() -> Chart:
    """Draw what the limit of the mean is made of."""
    assessment = judged()
    assert assessment.certificate is not None  # noqa: S101 - a list with a known range
    assert assessment.beside.width is not None  # noqa: S101
    estimate, upper = assessment.certificate.estimate, assessment.certificate.upper
    ends = [0.0, estimate, estimate + assessment.beside.width.rest, upper]
    names = ["mean of the observed runs", "observed spread", "what 50 instances cannot rule out"]
    parts = pl.DataFrame({"from": ends[:-1], "to": ends[1:], "what": names})
    scale = alt.Scale(domain=names, range=[BLUE, GREY, ORANGE])
    bars = alt.Chart(records(parts)).mark_bar(size=40)
    x = alt.X("from:Q", title="mean cost, PAR10 s")
    color = alt.Color("what:N", sort=None, scale=scale)
    chart: Chart = bars.encode(x=x, x2="to:Q", color=color).properties(width=520, height=70)
    return chart


def utility() -> Chart:
    """Draw four utilities."""
    times = np.linspace(0, 240, 241)
    kinds = ("step=60", "linear=120", "half-life=60", "log-laplace=60,1")
    frames = [
        pl.DataFrame({"at": times, "worth": Utility.parse(kind).of(times), "what": kind})
        for kind in kinds
    ]
    colors = alt.Scale(domain=kinds, range=[BLACK, ORANGE, BLUE, GREY])
    dashes = alt.Scale(domain=kinds, range=[SOLID, DASHED, DOTTED, DASH_DOTTED])
    curve = alt.Chart(records(pl.concat(frames))).mark_line(strokeWidth=2)
    curve = curve.encode(
        x=alt.X("at:Q", title="running time, s"),
        y=alt.Y("worth:Q", title="utility"),
        color=alt.Color("what:N", sort=kinds, scale=colors),
        strokeDash=alt.StrokeDash("what:N", sort=kinds, scale=dashes),
    )
    chart: Chart = curve.properties(**SIZE)
    return chart


STATEMENTS = {"shares": shares, "wins": wins, "mean": mean, "utility": utility}


def which() -> str:
    """Which statement answers which question, with what it says of kissat's winner: one picture, as
    SVG.
    """
    assessment = judged()
    useful = assess(import_runs(path_of("kissat"), utility="half-life=0.1"), chosen="from-list")
    limits = {statement.quantity: statement.limit for statement in assessment.statements}
    assert assessment.certificate is not None  # noqa: S101 - a list with a known range
    assert useful.comparison is not None  # noqa: S101
    assert useful.comparison.upper is not None  # noqa: S101
    rows = [
        (
            "Which one do I take for the next instance?",
            "wins",
            f"wins at least {share_at_least(limits['wins'])} of new runs (ties count ½)",
        ),
        (
            "How many times faster is it, typically?",
            "speed-up",
            f"at least {at_least(limits['speed-up'])} times, in the median",
        ),
        (
            "Do runs finish in time?",
            "solved share",
            f"at least {share_at_least(limits['solved share'])} are solved",
        ),
        (
            "How long do I wait for most runs?",
            "quantiles",
            f"median: at most {at_most(limits['median'])} s",
        ),
        (
            "Is a late answer worth less?",
            "expected utility",
            f"at least {at_least(-useful.comparison.upper)} higher †",
        ),
        (
            "What does it cost in sum, in CPU hours?",
            "mean cost *",
            f"at most {at_most(assessment.certificate.upper)} PAR10 s",
        ),
    ]
    heads = ("Question", "statement", "for kissat\u2019s winner, 95 % confidence")
    foot = "* needs the metric\u2019s possible range      † half-life=0.1, with its own winner"
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


def gallery() -> dict[str, dict[str, Any]]:
    """Return the specifications of the gallery's figures: those that the code of gallery.md saves,
    and those drawn here from other data.
    """
    page = (DOCS / "gallery.md").read_text()
    specs: dict[str, dict[str, Any]] = {}

    def keep(chart: Chart, path: str) -> None:
        specs[path] = specification(chart)

    with patch.object(figures, "save", keep), redirect_stdout(None):
        exec("".join(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)), {})  # noqa: S102
    charts = {
        "families": by_family(),
        "training-test": winners(),
        "along": incumbents(),
        "waterfall": changes(),
    }
    return specs | {f"{name}.svg": specification(chart) for name, chart in charts.items()}


def by_family() -> Chart:
    """Draw the differences of a synthetic solver on four families."""
    rng = np.random.default_rng(4)
    gains = {"circuits": 4, "planning": 2, "random": 1, "crypto": 0.4}
    families = [family for family in gains for _ in range(60)]
    hardness = rng.gamma(2, 1, (1, 240, 1))
    speed = np.array([[1.0] * 240, [gains[family] for family in families]])
    costs = np.minimum(hardness * rng.gamma(4, 0.25, (2, 240, 3)) / speed[:, :, None], 10)
    names = [f"{family}-{n}" for n, family in enumerate(families)]
    synthetic = CostMatrix(costs, ["default", "tuned"], names, 0, 10, families=families)
    judged = assess(synthetic, configuration="tuned", default="default", chosen="before")
    return figures.families_chart(figures.families_data(judged.beside.family_results), unit="s")


def winners() -> Chart:
    """Draw twelve searches, each the best of kissat's list on ten random instances."""
    means = load_example("kissat").costs.mean(axis=2)
    searches = []
    for seed in range(12):
        order = np.random.default_rng(seed).permutation(50)
        training, test = means[:, order[:10]].mean(axis=1), means[:, order[10:]].mean(axis=1)
        winner = training.argmin()
        searches.append((f"search {seed + 1}", training[winner], test[winner]))
    return figures.training_test_chart(figures.training_test_data(searches), unit="PAR10 s")


def incumbents() -> Chart:
    """Draw a search through kissat's list on half of the instances, tested on the others."""
    matrix = load_example("kissat")
    names = matrix.configurations
    training = matrix.select(instances=matrix.instances[:25])
    test = matrix.select(instances=matrix.instances[25:])
    costs = training_cost(training).cost
    best = [i for i, cost in enumerate(costs) if cost == min(costs[: i + 1])]
    steps = tuple(Step(runs=125 * (i + 1), configurations=(names[i],)) for i in best)
    search = Trajectory(tool="my search", default=names[0], steps=steps)
    page = report(training, unit="PAR10 s", trajectory=search, test=test)
    return page.figures["along"].chart


def changes() -> Chart:
    """Draw three changes with made-up gains."""
    steps = [("restart=luby", 2.1, 0.20), ("decay=0.95", 1.6, 0.15), ("probe=off", 1.5, 0.08)]
    data = figures.waterfall_data(default_cost=3.2, steps=steps, winner_cost=1.45)
    return figures.waterfall_chart(data, unit="s")


def first_screen() -> dict[str, Any]:
    """Return what the picture of a report shows."""
    page = report("kissat", name="kissat", unit="PAR10 s")
    texts = [page.title, page.subtitle, page.badge, page.verdict, page.more]
    assert page.picture is not None  # noqa: S101 - kissat's costs are known
    shown = [[fact.label, fact.text, fact.note] for fact in page.key]
    return {"texts": texts, "facts": shown, "chart": specification(page.picture.chart)}


def photograph(path: Path) -> None:
    """Take a picture of the first screen of kissat's report, in Chromium."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "page.html"
        report("kissat", page, name="kissat", unit="PAR10 s")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": 1120, "height": 800}, color_scheme="light")
        window.goto(page.as_uri())
        window.wait_for_selector("html[data-ready]")
        window.screenshot(path=path)
        browser.close()


def experiments(folder: Path) -> None:
    """Draw the figures of the paper's experiments, which take a minute or two."""
    with TemporaryDirectory() as results:
        reproduce(
            load_example("kissat"), out=results, unit="PAR10 s", name="kissat", formats=["svg"]
        )
        for name in ("uniform-error", "bounds", "estimators"):
            shutil.copy(Path(results) / "figures" / f"{name}.svg", folder)
    picture = folder / "regret.svg"
    truecost = str(Path(sys.executable).with_name("truecost"))
    command = [truecost, "experiment", "configure", "kissat", "--figure", str(picture)]
    subprocess.run(command, check=True)  # noqa: S603 - our own command


def digest(spec: object) -> str:
    """Return a digest of data and specification, the same on every machine."""
    text = json.dumps(spec, sort_keys=True)
    # The last digits of a number differ between processors.
    rounded = re.sub(r"-?\d+\.\d+(?:e-?\d+)?", lambda match: f"{float(match[0]):.5g}", text)
    return sha256(rounded.encode()).hexdigest()[:16]


def drawn() -> dict[str, dict[str, Any]]:
    """Return the specification of every picture that is quickly drawn, by its file."""
    specs = {f"gallery/{name}": spec for name, spec in gallery().items()}
    specs["over-tuning.svg"] = specs["gallery/split.svg"]
    for name, draw in STATEMENTS.items():
        specs[f"statement-{name}.svg"] = specification(themed(draw()))
    return specs


def texts() -> dict[str, str]:
    """Return the pictures that are made of text, by their files."""
    return {"statement-which.svg": which(), "about.svg": about()}


def with_margins(svg: str, left: int = 14, right: int = 62) -> str:
    """Return a picture with room at its sides: a reader's font may be wider than ours."""

    def wider(match: re.Match[str]) -> str:
        width, height = int(match[1]), match[2]
        total = width + left + right
        return (
            f'width="{total}" height="{height}" viewBox="{-left} 0 {total} {height}">'
            f'<rect x="{-left}" width="{total}"'
        )

    head = r'width="(\d+)" height="(\d+)" viewBox="0 0 \d+ \d+"><rect width="\d+"'
    return re.sub(head, wider, svg, count=1)


def main() -> None:
    """Draw everything, and note what was drawn."""
    specs = drawn()
    for name, spec in specs.items():
        (FOLDER / name).write_text(with_margins(render(spec, "svg").decode()))
    for name, text in texts().items():
        (FOLDER / name).write_text(text)
    photograph(FOLDER / "report.png")
    if "--quick" not in sys.argv:
        experiments(FOLDER / "gallery")
        for name in ("uniform-error", "bounds", "estimators", "regret"):
            path = FOLDER / "gallery" / f"{name}.svg"
            path.write_text(with_margins(path.read_text()))
    digests = {name: digest(spec) for name, spec in {**specs, "report.png": first_screen()}.items()}
    DIGESTS.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
