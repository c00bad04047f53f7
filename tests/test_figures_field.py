"""Figures the field knows: their data, checked on small matrices by hand, and files for a paper."""

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from truecost import assess
from truecost.errors import InputError
from truecost.judge.sampling import LEVELS, CostBand, cost_band
from truecost.matrix import CostMatrix
from truecost.show import figures, html, saving, theme
from truecost.show.blocks import Cell, Column, Table
from truecost.show.markup import latex_table

NAN = math.nan
# Configurations a, b, c on instances i0 to i3; 10 is a timeout.
COSTS = [
    [[1, 3], [2, 2], [10, 10], [4, NAN]],
    [[2, 2], [2, 2], [5, 10], [8, 8]],
    [[9, 9], [1, 1], [10, 10], [NAN, NAN]],
]
PAIR = {"winner": "a", "default": "b"}


@pytest.fixture
def matrix() -> CostMatrix:
    """Three configurations on four instances."""
    return CostMatrix(np.array(COSTS, float), list("abc"), [f"i{n}" for n in range(4)], 0, 10)


def test_scatter_has_mean_costs_and_moves_timeouts_to_the_rim(matrix: CostMatrix) -> None:
    """A point would stand at another cost, on the wrong side, or a timeout beyond the rim."""
    data = figures.scatter_data(matrix, "a", "b", families={"i0": "easy", "i2": "hard"})
    assert data["incumbent_cost"].to_list() == [2, 2, 10, 4]
    assert data["default_cost"].to_list() == [2, 2, 7.5, 8]
    assert data["better"].to_list() == ["neither", "neither", "default", "incumbent"]
    assert data["family"].to_list() == ["easy", "unknown", "hard", "unknown"]
    assert data["x"].to_list() == [2, 2, 7.5, 8]
    assert data["y"].to_list() == [2, 2, 10, 4]
    assert data["unsolved"].to_list() == [False, False, True, False]
    with pytest.raises(InputError, match="twice"):
        figures.scatter_data(matrix, "a", "a")


def test_ecdf_counts_solved_runs_of_all_runs(matrix: CostMatrix) -> None:
    """A timeout would count as solved, or the share be of the solved runs only."""
    data = figures.ecdf_data(matrix, PAIR)
    winner = data.filter(pl.col("series") == "winner")
    assert winner["cost"].to_list() == [1, 2, 2, 3, 4]
    assert winner["solved"].to_list() == [1, 2, 3, 4, 5]
    assert winner["share"].to_list() == pytest.approx([n / 7 for n in range(1, 6)])
    # The cheapest on average: a and b tie on i0, c on i1, b on i2, a on i3.
    best = data.filter(pl.col("series") == "virtual best")
    assert best["cost"].to_list() == [1, 1, 1, 3, 4, 5]
    assert figures.cactus_data(matrix, PAIR).equals(data)
    assert "virtual best" not in figures.ecdf_data(matrix, PAIR, virtual_best=False)["series"]


def test_performance_profile_is_relative_to_the_best_of_these(matrix: CostMatrix) -> None:
    """A factor would be relative to another configuration, or an unsolved instance count."""
    data = figures.performance_profile_data(matrix, PAIR)
    winner = data.filter(pl.col("series") == "winner")
    # Equal on i0 and i1, unsolved on i2, the best on i3: factor 1 on three of four.
    assert winner["factor"].to_list() == [1]
    assert winner["share"].to_list() == [0.75]
    default = data.filter(pl.col("series") == "default")
    assert default["factor"].to_list() == [1, 2]
    assert default["share"].to_list() == [0.75, 1]
    with pytest.raises(InputError, match="2 to 6"):
        figures.performance_profile_data(matrix, {"winner": "a"})


def test_boxes_are_quartiles_of_each_group(matrix: CostMatrix) -> None:
    """A box would span other runs than those of its family."""
    families = {"i0": "x", "i1": "x", "i2": "y", "i3": "y"}
    data = figures.boxes_data(matrix, PAIR, families=families)
    assert data["group"].to_list() == ["y", "y", "x", "x"]  # the largest difference first
    x = data.filter(pl.col("group") == "x", pl.col("series") == "winner").row(0, named=True)
    quartiles = np.quantile([1, 3, 2, 2], [0, 0.25, 0.5, 0.75, 1])
    assert [x[name] for name in ("low", "lower", "median", "upper", "high")] == list(quartiles)
    assert x["runs"] == 4
    assert figures.boxes_data(matrix, PAIR)["group"].unique().to_list() == [""]
    assert (
        figures.boxes_data(matrix, PAIR, families=families, most=1)["group"].to_list() == ["y"] * 2
    )


def test_ranking_keeps_tagged_configurations_and_marks_the_set() -> None:
    """The default would be missing below the best thirty, or the set of the best be marked wrong."""
    names, costs = list("abcd"), [3.0, 1.0, 2.0, NAN]
    data = figures.ranking_data(
        names, costs, [0.5, NAN, 1, 1], may_be_best={"b"}, tags={"a": "default"}, most=1
    )
    assert data["configuration"].to_list() == ["b", "a"]
    assert data["rank"].to_list() == [1, 3]
    assert data["label"].to_list() == ["b", "default: a"]
    assert data["mark"].to_list() == ["best", "other"]
    assert data.select("low", "high").rows() == [(1, 1), (2, 4)]
    assert set(figures.ranking_data(names, costs, [0] * 4)["mark"]) == {"unknown"}


def test_training_test_has_the_optimism_of_every_search() -> None:
    """The sign of the optimism would be wrong, or no search give an empty picture."""
    data = figures.training_test_data([("s1", 1.0, 1.5), ("s2", 2.0, 1.0)])
    assert data["optimism"].to_list() == [0.5, -1.0]
    with pytest.raises(InputError, match="at least one search"):
        figures.training_test_data([])


def test_a_legend_names_only_what_is_drawn(matrix: CostMatrix) -> None:
    """A legend would explain marks that are not in the figure."""
    data = figures.scatter_data(matrix, "a", "b").filter(pl.col("better") != "default")
    drawn = json.dumps(saving.specification(figures.scatter_chart(data)))
    assert "equal" in drawn
    assert "default costs less" not in drawn
    ranked = figures.ranking_data(["a"], [1.0], [0.1], may_be_best={"a"})
    assert "shown not" not in json.dumps(saving.specification(figures.ranking_chart(ranked)))


@pytest.mark.parametrize(
    "values", [(3.1, 4.4), (0.1, 0.6), (3271, 7400), (0.03, 5), (1e-6, 1e7), (2.0, 2.05), (7, 7)]
)
def test_logarithmic_axes_can_be_read(values: tuple[float, float]) -> None:
    """A logarithmic axis would have one tick or none, or a tick outside."""
    fit = theme.axis(values)
    ticks = fit.axis.to_dict()["values"]
    assert 3 <= len(ticks) <= 20
    assert min(ticks) >= fit.ends[0]
    assert max(ticks) <= fit.ends[1]
    assert fit.ends[0] < values[0]
    assert fit.ends[1] > values[1]


def test_shared_parts_of_names_are_left_out() -> None:
    """Long paths would be cut to the part that is the same for all instances."""
    assert theme.short_names(["a/b/x.cnf", "a/b/y.cnf"]) == ["x", "y"]
    assert theme.short_names(["a/x.cnf", "b/x.cnf"]) == ["a/x", "b/x"]
    assert theme.short_names(["x.cnf", "y.lp"]) == ["x.cnf", "y.lp"]


# ---- the band ------------------------------------------------------------------------------------


def test_a_band_bounds_shares() -> None:
    """A limit of a quantile would be read the wrong way round."""
    band = CostBand(levels=(0.2, 0.5), lower=(1.0, 2.0), upper=(3.0, math.inf), delta=0.1)
    assert band.at(0.5) == (0, 0.2)
    assert band.at(1.0) == (0, 0.5)
    assert band.at(2.5) == (0, 1)
    assert band.at(3.0) == (0.2, 1)


@pytest.mark.parametrize("runs", [1, 3])
def test_the_band_holds_for_all_costs_at_once(runs: int) -> None:
    """The band would miss the true distribution more often than delta says, or always be empty."""
    rng, trials, delta = np.random.default_rng(5), 150, 0.2
    wrong = informative = 0
    for _ in range(trials):
        # Instances differ, and so do seeds: log cost is normal with variance 1 in total.
        hard = rng.normal(0, math.sqrt(0.5), (1, 40, 1))
        costs = np.exp(hard + rng.normal(0, math.sqrt(0.5), (1, 40, runs)))
        matrix = CostMatrix(costs, ["a"], [f"i{n}" for n in range(40)], 0, math.inf)
        found = assess(matrix, chosen="before", delta=delta)
        band = cost_band(found.own_evidence, found.question)
        assert isinstance(band, CostBand)
        quantiles = np.exp([NORMAL[level] for level in LEVELS])
        wrong += not (
            (np.array(band.lower) <= quantiles) & (quantiles <= np.array(band.upper))
        ).all()
        informative += band.upper[4] < 4 * quantiles[4]
    # With a chance of 0.2 each, 45 of 150 or more happen with a probability below 0.2 %.
    assert wrong < 45
    assert informative > trials / 2


# Quantiles of the standard normal distribution.
NORMAL = dict(
    zip(
        LEVELS,
        [-1.2816, -0.8416, -0.5244, -0.2533, 0, 0.2533, 0.5244, 0.8416, 1.2816],
        strict=True,
    )
)


def test_runs_of_unknown_outcome_are_not_called_solved(matrix: CostMatrix) -> None:
    """A figure of errors or scores would say that all runs were solved."""
    curve = figures.ecdf_data(matrix, PAIR)
    for chart, title in (
        (figures.ecdf_chart, "share of runs"),
        (figures.cactus_chart, "Runs within a cost (cactus plot)"),
    ):
        assert "runs solved" in chart(curve).to_json().lower()
        drawn = chart(curve, solved=False).to_json()
        assert title in drawn
        assert "runs solved" not in drawn.lower()
    assert "Runs that reach a score" in figures.cactus_chart(
        curve, unit="−accuracy", solved=False
    ).to_json(ensure_ascii=False)


# ---- files for a paper ---------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "points"), [("column", 241), ("page", 504)])
def test_figures_fit_the_width_of_a_paper(
    matrix: CostMatrix, tmp_path: Path, width: Any, points: int
) -> None:
    """A figure would be wider than the column, have larger text than 8 pt, or keep its title."""
    curve = figures.ecdf_data(matrix, PAIR)
    charts = (
        figures.scatter_chart(figures.scatter_data(matrix, "a", "b")),
        figures.ecdf_chart(curve),
        figures.cactus_chart(curve),
        figures.performance_profile_chart(figures.performance_profile_data(matrix, PAIR)),
        figures.boxes_chart(figures.boxes_data(matrix, PAIR)),
        figures.matrix_chart(figures.matrix_data(matrix)),
    )
    for chart in charts:
        path = tmp_path / "figure.svg"
        figures.save(chart, path, width=width, title=False)
        svg = ElementTree.fromstring(path.read_text())  # noqa: S314 - our own file
        assert float(svg.get("width", "0")) <= points + 1
        sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)px"', path.read_text())]
        assert sizes
        assert max(sizes) <= 8
        assert "instances, the winner is" not in path.read_text()
    with pytest.raises(InputError, match="column or page"):
        figures.save(charts[0], tmp_path / "figure.svg", width="poster")  # type: ignore[arg-type]


def test_latex_escapes_what_latex_would_read() -> None:
    """A name with a sign of LaTeX would break the paper, or a number lose its minus."""
    columns = (Column("what_is", "", numbers=False), Column("100 %", ""))
    rows = ((Cell("a", "a & b_{1}"), Cell(-1, "−1 ± 2")), (Cell("b", "~^\\"), Cell(0, "≤")))
    text = latex_table(Table("t", "", columns, rows), caption="5 % of #1", label="tab:x")
    lines = text.splitlines()
    assert r"\caption{5 \% of \#1}" in lines
    assert r"what\_is & 100 \% \\" in lines
    assert r"a \& b\_\{1\} & $-$1 $\pm$ 2 \\" in lines
    assert r"\textasciitilde{}\textasciicircum{}\textbackslash{} & ≤ \\" in lines
    assert r"\begin{tabular}{lr}" in lines
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")


# ---- contrast ------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_marks_stand_out_in_both_schemes() -> None:
    """A mark would be hard to see on a light or a dark page: WCAG asks for a contrast of 3."""
    sheet = html.style_sheet()
    variables = dict(re.findall(r"--(\w+): ?light-dark\((#\w+, ?#\w+)\)", sheet))
    values = {name: re.findall(r"#\w+", pair) for name, pair in variables.items()}
    grounds = zip(values["paper"], values["panel"], strict=True)
    for scheme, both in enumerate(grounds):
        assert contrast(values["sand"][scheme], values["blue"][scheme]) >= 3
        for name in {*theme.PALETTE, "ink"} - {"sand"}:
            assert min(contrast(values[name][scheme], ground) for ground in both) >= 3, name
        for name in ("ink", "soft", "good", "bad", "open", "link"):
            assert min(contrast(values[name][scheme], ground) for ground in both) >= 4.5, name
    # Saved figures have a white background.
    for name, (light, _) in theme.PALETTE.items():
        assert name == "sand" or contrast(light, "#ffffff") >= 3


def test_scores_are_drawn_as_scores() -> None:
    """Data that are maximised would be drawn as minus their scores, or the better side be called
    the worse one.
    """
    rng = np.random.default_rng(3)
    costs = -rng.uniform([[0.6], [0.5]], [[0.9], [0.8]], (2, 40))[:, :, np.newaxis]
    matrix = CostMatrix(costs, ["a", "b"], [f"i{k}" for k in range(40)], -1.0, 0.0)
    data = figures.scatter_data(matrix, "a", "b")
    spec = figures.scatter_chart(data, unit="−accuracy").to_dict()
    points = spec["layer"][-1]["encoding"]
    assert points["y"]["title"] == "winner: score (accuracy)"
    assert points["y"]["scale"]["reverse"]
    assert points["y"]["axis"]["labelExpr"].startswith("format(-datum.value")
    tips = {tip["title"]: tip["field"] for tip in points["tooltip"] if "title" in tip}
    assert tips["winner: mean score of its runs"] == "incumbent_cost_shown"
    assert points["color"]["scale"]["domain"] == ["winner scores more", "default scores more"]
    assert "better on" in spec["title"]["subtitle"][0]
    rows = spec["datasets"] if "datasets" in spec else {"": spec["layer"][-1]["data"]["values"]}
    first = next(row for rows_ in rows.values() for row in rows_ if "incumbent_cost" in row)
    assert first["incumbent_cost_shown"] == -first["incumbent_cost"]
    glance = figures.glance_chart(
        figures.glance_data(-0.8, default=-0.7, true=-0.79, upper=-0.75), unit="−accuracy"
    )
    text = glance.to_json()
    assert "at least 0.750" in text
    assert "What the winner scores" in text
    # Nothing of that is left for the next figure.
    assert "scores more" not in figures.scatter_chart(data).to_json()
