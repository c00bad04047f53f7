import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair as alt
import numpy as np
import polars as pl
import pytest
from test_resample import runtimes, with_gaps

from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper import bounds_observed, exact, fit, resample
from truecost.paper import tables as experiment_tables
from truecost.paper.one_split import one_split
from truecost.show import figures, saving
from truecost.show.theme import Chart
from truecost.stats.variance import variance_components

# Names that would run, draw or break something if they were anything but data.
EVIL = (
    "</script><script>alert(1)</script>",
    "datum.cost > 0",
    "\x1b[31m\u2028\ufffe",
    "<img src=x onerror=alert(2)>",
    "__proto__",
)


def named(costs: Any, low: float = 0, high: float = 100, evil: bool = False) -> CostMatrix:
    """A matrix with plain names, or with names from hell."""
    costs = np.asarray(costs, dtype=float)
    both = [
        [f"{what}{i}" for i in range(size)]
        for what, size in zip("ci", costs.shape[:2], strict=True)
    ]
    if evil:
        both = [
            [EVIL[i] if i < len(EVIL) else name for i, name in enumerate(names)] for names in both
        ]
    return CostMatrix(costs, both[0], both[1], low, high)


def tables(matrix: CostMatrix, splits: int = 40) -> list[pl.DataFrame]:
    """Tables of the three sweeps, as an experiment writes them."""
    sweeps = [
        getattr(resample, f"sweep_{kind}")(matrix, splits=splits, rng=np.random.default_rng(1))
        for kind in "mnk"
    ]
    return [
        experiment_tables.sweep_table(sweep, bounds_observed.bounds_against_reality(matrix, sweep))
        for sweep in sweeps
    ]


def curves_data(
    swept: list[pl.DataFrame], error: figures.ErrorName = "uniform", **settings: Any
) -> pl.DataFrame:
    """The data of error curves with the fits to the tables."""
    return figures.error_curves_data(
        swept, [fit.to_table(table, error) for table in swept], error, **settings
    )


def shares_data(matrix: CostMatrix) -> pl.DataFrame:
    """The data of variance shares."""
    costs = np.nanmean(np.nanmean(matrix.costs, axis=2), axis=1)
    found = variance_components(matrix)
    return figures.variance_shares_data(
        matrix.configurations,
        costs=costs,
        within=found.within,
        across=found.across,
        share=found.within_share,
    )


def split_data(matrix: CostMatrix, seed: int | list[int], **settings: Any) -> pl.DataFrame:
    """The data of one split."""
    return figures.overtuning_data(one_split(matrix, rng=np.random.default_rng(seed), **settings))


def svg(chart: Chart) -> bytes:
    """A picture of a chart whose specification is valid."""
    return saving.render(saving.specification(chart), "svg")


def charts(matrix: CostMatrix) -> dict[str, Chart]:
    """Every figure of a matrix."""
    swept = tables(matrix)
    fewest = int(matrix.counts().min())
    chosen = [
        name for name in exact.ESTIMATORS[:3] if fewest == matrix.shape[2] or name != "concentrated"
    ]
    compared = pl.concat(
        experiment_tables.estimator_table(
            resample.compare_estimators(
                matrix,
                splits=10,
                rng=np.random.default_rng(1),
                runs=range(1, k * fewest + 1),
                train=k,
                estimators=chosen,
            )
        )
        for k in (2, matrix.shape[1] // 2)
    )
    return {
        "matrix": figures.matrix_chart(figures.matrix_data(matrix)),
        "shares": figures.variance_shares_chart(shares_data(matrix)),
        "overtuning": figures.overtuning_chart(split_data(matrix, 1)),
        "estimators": figures.estimators_chart(figures.estimators_data(compared)),
        "uniform": figures.error_curves_chart(curves_data(swept)),
        "selection": figures.error_curves_chart(curves_data(swept, "selection"), error="selection"),
        "bounds": figures.bounds_chart(figures.bounds_data(swept)),
    }


def test_matrix_picture_shows_every_cell() -> None:
    """A cell of the picture would stand at another configuration or instance, or show another cost,
    than the matrix has.
    """
    rng = np.random.default_rng(1)
    costs = rng.uniform(0, 100, (7, 5, 3))
    costs[rng.random(costs.shape) < 0.3] = np.nan
    costs[2, 3] = np.nan
    matrix = named(costs)
    picture = figures.matrix_data(matrix)
    assert picture.by_cost
    means = {
        (c, i): np.nanmean(costs[x, y])
        for x, c in enumerate(matrix.configurations)
        for y, i in enumerate(matrix.instances)
        if not np.isnan(costs[x, y]).all()
    }
    rows, columns = picture.configurations["name"].to_list(), picture.instances["name"].to_list()
    shown = {
        (rows[cell["row"]], columns[cell["column"]]): cell["cost"]
        for cell in picture.cells.iter_rows(named=True)
    }
    assert shown.keys() == means.keys()
    assert all(shown[key] == pytest.approx(means[key]) for key in means)
    for names, place in ((rows, 0), (columns, 1)):
        each = [
            np.mean([mean for key, mean in means.items() if key[place] == name]) for name in names
        ]
        assert each == sorted(each)


def test_matrix_picture_bins() -> None:
    """Binning a large matrix would lose or double runs, miscount timeouts, or draw more cells than
    asked for.
    """
    matrix = runtimes(23, 130, 3)
    picture = figures.matrix_data(matrix, most=10)
    assert not picture.by_cost
    assert picture.cells.height == 100
    assert picture.configurations["first"][0] == picture.instances["first"][0] == 1
    assert (picture.configurations["last"][-1], picture.instances["last"][-1]) == (23, 130)
    for bins in (picture.configurations, picture.instances):
        sizes = bins["last"] - bins["first"] + 1
        assert sizes.max() - sizes.min() <= 1  # type: ignore[operator]
    by_configuration = matrix.costs.mean(axis=(1, 2)).argsort(kind="stable")
    by_instance = matrix.costs.mean(axis=(0, 2)).argsort(kind="stable")
    for cell in picture.cells.iter_rows(named=True):
        down, across = (
            picture.configurations.row(cell["row"], named=True),
            picture.instances.row(cell["column"], named=True),
        )
        rows, columns = (
            by_configuration[down["first"] - 1 : down["last"]],
            by_instance[across["first"] - 1 : across["last"]],
        )
        part = matrix.costs[np.ix_(rows, columns)]
        assert cell["cost"] == pytest.approx(part.mean())
        assert cell["failed"] == pytest.approx((part == 100).mean())


def test_picture_of_a_large_matrix_is_light() -> None:
    """A large matrix would make a file that no browser opens with pleasure."""
    chart = figures.matrix_chart(
        figures.matrix_data(named(np.random.default_rng(1).uniform(1, 100, (130, 300, 1))))
    )
    assert len(svg(chart)) < 1_000_000


def test_variance_shares() -> None:
    """A bar would stand at another configuration, or show another share, than `variance_components`
    has.
    """
    matrix = runtimes(9, 20, 3, within_share=0.4)
    components = variance_components(matrix)
    data = shares_data(matrix)
    assert data["configuration"].to_list() == [
        matrix.configurations[i] for i in matrix.costs.mean(axis=(1, 2)).argsort()
    ]
    for row in data.iter_rows(named=True):
        i = matrix.configurations.index(row["configuration"])
        across = max(components.across[i], 0)
        assert row["share"] == pytest.approx(components.within[i] / (components.within[i] + across))
        assert row["cost"] == pytest.approx(matrix.costs[i].mean())
    with pytest.raises(InputError, match="cannot be separated"):
        shares_data(runtimes(3, 8, 1))


def test_overtuning_runs_are_even_and_different() -> None:
    """A training cost would be of runs from test instances, of one run twice, or of an allocation
    that is not even.
    """
    instances, runs = 8, 3
    bits = 2.0 ** np.arange(instances * runs).reshape(instances, runs)
    matrix = named(np.broadcast_to(bits, (6, instances, runs)), high=2.0**30)
    data = split_data(matrix, 5, runs=[1, 3, 4, 6, 11, 12])
    test = np.random.default_rng(5).permutation(instances)
    truth = bits[test[4:]].mean(axis=1).mean()
    choices = set()
    for row in data.iter_rows(named=True):
        total = round(row["training"] * row["runs"])
        counts = [((total >> (i * runs)) & 0b111).bit_count() for i in range(instances)]
        assert total.bit_count() == row["runs"]
        assert sum(counts[i] for i in test[:4]) == row["runs"]
        assert max(counts[i] for i in test[:4]) - min(counts[i] for i in test[:4]) <= 1
        assert row["test"] == pytest.approx(truth)
        assert row["error"] == pytest.approx(truth - row["training"])
        choices.add((row["runs"], total))
    assert sum(runs == 3 for runs, _ in choices) > 1  # every configuration draws its own


def test_overtuning_marks_the_winner() -> None:
    """The winner or the best would be another configuration than the one with the least training or
    test cost.
    """
    data = split_data(runtimes(20, 30, 4), 2)
    assert data["runs"].unique().sort().to_list() == [4, 60]
    for n in (4, 60):
        part = data.filter(pl.col("runs") == n)
        winner, best = (part.filter(pl.col("mark") == mark) for mark in ("winner", "best"))
        assert winner["training"].to_list() == [part["training"].min()]
        assert [*best["test"], *winner["test"]][0] == part["test"].min()
    with pytest.raises(InputError, match="at most 4 runs"):
        split_data(runtimes(20, 30, 4), 2, runs=[61])


@pytest.mark.parametrize("error", figures.ERRORS)
def test_error_curves(error: figures.ErrorName) -> None:
    """A curve would show other numbers than the sweep, the fit to all its points, and the bound at
    the same place.
    """
    matrix = runtimes(15, 40, 4)
    data = curves_data(tables(matrix), error, most=12)
    for kind in fit.FORMULAS:
        sweep = getattr(resample, f"sweep_{kind}")(matrix, splits=40, rng=np.random.default_rng(1))
        beside = bounds_observed.bounds_against_reality(matrix, sweep)
        curve = fit.curve(sweep.values, getattr(sweep, error), kind=kind)
        part = data.filter(pl.col("against") == kind)
        seen = part.filter(pl.col("series") == "observed")
        values = seen["value"].to_numpy()
        assert {1, sweep.values[-1]} <= set(values)
        assert values.size <= 12
        places = values - 1
        np.testing.assert_allclose(seen["error"], getattr(sweep, error)[places])
        np.testing.assert_allclose(seen["standard_error"], sweep.standard_errors[error][places])
        np.testing.assert_allclose(part.filter(pl.col("series") == "fit")["error"], curve(values))
        assert part["r_squared"].drop_nulls().unique().to_list() == [pytest.approx(curve.r_squared)]
        bound = beside.bennett if error == "uniform" else beside.bennett_own
        np.testing.assert_allclose(part.filter(pl.col("series") == "bound")["error"], bound[places])


def test_bounds_beside_quantiles() -> None:
    """The bounds would stand beside another quantile, another error or another place than theirs."""
    matrix = runtimes(10, 24, 3)
    data = figures.bounds_data(tables(matrix), delta=0.1)
    sweep = resample.sweep_n(matrix, splits=40, rng=np.random.default_rng(1))
    beside = bounds_observed.bounds_against_reality(matrix, sweep, delta=0.05)
    for error, series, expected in (
        ("uniform", "observed", sweep.quantiles["uniform"][1]),
        ("selection", "observed", sweep.quantiles["selection"][1]),
        ("uniform", "printed", beside.printed),
        ("selection", "bennett", beside.bennett_own),
    ):
        wanted = {"error_name": error, "against": "n", "series": series}
        shown = data.filter(**wanted)
        np.testing.assert_allclose(shown["error"], expected[shown["value"].to_numpy() - 1])
    with pytest.raises(InputError, match=r"uniform_q80 for delta 0\.2"):
        figures.bounds_data(tables(matrix), delta=0.2)


def test_estimators_of_figure_1() -> None:
    """The bars of the comparison would not be mean ± standard deviation of the simulation."""
    errors = resample.compare_estimators(
        runtimes(5, 20, 3),
        splits=30,
        rng=np.random.default_rng(1),
        runs=[2, 8, 16],
        train=8,
        estimators=exact.ESTIMATORS,
    )
    data = figures.estimators_data(experiment_tables.estimator_table(errors))
    assert "pairs" not in data["estimator"]
    dagger = data.filter(pl.col("estimator") == "concentrated")
    np.testing.assert_allclose(dagger["error"], errors.absolute[1])
    np.testing.assert_allclose(dagger["high"] - dagger["error"], errors.absolute_spread[1])
    np.testing.assert_allclose(dagger["error"] - dagger["low"], errors.absolute_spread[1])
    np.testing.assert_allclose(dagger["ratio"], [0.25, 1, 2])


@pytest.mark.parametrize(
    "matrix",
    [
        runtimes(12, 16, 3),
        with_gaps(6, 12, 4, least=1),
        named(np.full((4, 8, 2), 3.0)),
        named(np.random.default_rng(1).normal(0, 1, (5, 9, 2)), low=-9, high=9),
        named(np.zeros((4, 8, 2)), evil=True),
    ],
    ids=["runtimes", "gaps", "constant", "negative", "zero"],
)
def test_every_chart_is_valid(matrix: CostMatrix) -> None:
    """A chart of an unusual matrix would not validate, or not be drawn."""
    for name, chart in charts(matrix).items():
        drawn = svg(chart)
        assert b"NaN" not in drawn, name
        assert b"Infinity" not in drawn, name
        ElementTree.fromstring(drawn)  # noqa: S314


def outside_data(spec: Any) -> Any:
    """A specification without its data."""
    if isinstance(spec, dict):
        return {
            key: outside_data(value)
            for key, value in spec.items()
            if key not in ("datasets", "values")
        }
    return [outside_data(item) for item in spec] if isinstance(spec, list) else spec


def without_library(page: str) -> str:
    """A page without the code of Vega, which is no matter of the data."""
    start = page.index("<script>") + len("<script>")
    return page[:start] + page[page.index("</script>", start) :]


def test_names_are_data() -> None:
    """A name out of a file would become part of a page, an expression or a picture's markup, or end
    the process.
    """
    matrix = named(np.random.default_rng(1).uniform(1, 99, (6, 10, 2)), evil=True)
    for name, chart in charts(matrix).items():
        spec = saving.specification(chart)
        rest = json.dumps(outside_data(spec), ensure_ascii=False)
        assert not any(each in rest for each in EVIL), name
        assert all(
            text.isprintable()
            for text in re.findall(r'"([^"]*)"', json.dumps(spec, ensure_ascii=False))
        ), name
        if name == "overtuning":
            page = without_library(saving.render(spec, "html").decode())
            assert page.count("</script") == page.count("<script") == 2, name
            assert "<img" not in page, name
            assert all(saving.render(spec, kind) for kind in ("png", "pdf"))
        root = ElementTree.fromstring(saving.render(spec, "svg"))  # noqa: S314
        assert not [
            each for each in root.iter() if each.tag.endswith(("script", "img", "image"))
        ], name


def test_unit_is_text() -> None:
    """A unit from the command line would be taken for an expression, or not stand at the axis."""
    unit = "</script>{{1+1}} datum"
    chart = figures.overtuning_chart(split_data(runtimes(5, 8, 2), 1), unit=unit)
    spec = saving.specification(chart)
    texts = [each.text for each in ElementTree.fromstring(saving.render(spec, "svg")).iter()]  # noqa: S314
    assert f"training cost ({unit})" in texts
    assert saving.render(spec, "html").decode().count("</script") == 2


def ranges(spec: Any, channel: str) -> list[list[Any]]:
    """What a channel's scales give to the series, wherever in a specification they stand."""
    if isinstance(spec, dict):
        own = [spec[channel]["scale"]["range"]] if "scale" in spec.get(channel, {}) else []
        return own + [found for value in spec.values() for found in ranges(value, channel)]
    return (
        [found for item in spec for found in ranges(item, channel)]
        if isinstance(spec, list)
        else []
    )


def test_series_differ_without_colour() -> None:
    """In greyscale two curves of a figure could not be told apart: each needs a dash or shape of
    its own.
    """
    drawn = charts(runtimes(6, 12, 3))
    for name, channel in (
        *((name, "strokeDash") for name in ("estimators", "uniform", "selection", "bounds")),
        *((name, "shape") for name in ("estimators", "overtuning")),
    ):
        found = ranges(outside_data(saving.specification(drawn[name], validate=False)), channel)
        assert found, name
        for each in found:
            assert len({json.dumps(sign) for sign in each}) == 3, name


def test_save_by_ending(tmp_path: Path) -> None:
    """A file would not be what its ending says, or a wrong ending would write something."""
    chart = figures.variance_shares_chart(shares_data(runtimes(4, 8, 2)))
    for ending, start in (
        ("svg", b"<svg"),
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
        ("html", b"<!DOCTYPE html>"),
    ):
        figures.save(chart, tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").read_bytes().startswith(start)
    page = (tmp_path / "figure.html").read_text()
    assert "default-src 'none'" in page
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", without_library(page))
    with pytest.raises(
        InputError, match=r"expected a name that ends in \.html, \.svg, \.png, \.pdf"
    ):
        figures.save(chart, tmp_path / "figure.gif")
    assert len(list(tmp_path.iterdir())) == 4


def test_the_same_chart_gives_the_same_bytes() -> None:
    """A figure would change from one call to the next though nothing did."""
    chart = figures.error_curves_chart(curves_data(tables(runtimes(4, 8, 2))[:1]))
    for kind in ("svg", "png", "html"):
        one, other = (
            saving.render(saving.specification(chart, validate=False), kind) for _ in range(2)
        )
        assert one == other


def test_building_on_a_chart_leaves_it_alone() -> None:
    """Who makes a part of a figure interactive, or puts it into another, would change the figure or
    the part.
    """
    chart = figures.error_curves_chart(curves_data(tables(runtimes(4, 8, 2))[:1]))
    part = chart.hconcat[0].layer[0]
    other = (
        part.properties(data="other.csv", title="other")
        .encode(x=alt.X("other:Q"))
        .mark_bar()
        .interactive()
    )
    before = [saving.specification(each, validate=False) for each in (chart, other)]
    alt.layer(other, part).to_dict()
    assert [saving.specification(each, validate=False) for each in (chart, other)] == before


def test_numbering_leaves_texts_alone() -> None:
    """Giving the parts of an SVG stable names would break what refers to them, or change what a
    name says.
    """
    texts = ['id="clip1"', '"url(#clip1)"']
    matrix = CostMatrix(
        np.random.default_rng(1).uniform(1, 9, (2, 3, 2)), texts, list("abc"), 0, 10
    )
    table = shares_data(matrix)
    alt_chart = (
        alt.Chart(alt.InlineData(values=table.to_dicts()))
        .mark_point(clip=True)
        .encode(x="rank:Q", y="configuration:N")
    )
    svg(alt_chart)
    drawn = svg(alt_chart)
    root = ElementTree.fromstring(drawn)  # noqa: S314
    assert {each.text for each in root.iter()} >= set(texts)
    ids = {each.get("id") for each in root.iter()} - {None}
    assert set(re.findall(rb'clip-path="url\(#(\w+)\)', drawn)) == {
        str(each).encode() for each in ids
    }
