import dataclasses
import json
import math
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from test_figures import EVIL, named, outside_data, ranges, svg, without_library
from test_resample import runtimes

from truecost.errors import InputError
from truecost.judge.costs import instance_means
from truecost.judge.optimism import OverTuning
from truecost.matrix import CostMatrix
from truecost.plan import sizes as plan
from truecost.race.replay import EVERYTHING, HALVING, OURS, SMAC, STUDENT, Replay, replay
from truecost.runs import Step, Trajectory
from truecost.show import figures, saving
from truecost.show.text import visible
from truecost.show.theme import Chart
from truecost.stats import confidence
from truecost.stats.variance import VarianceComponents, variance_components
from truecost.verbs import assess

HOSTILE = ("<img src=x onerror=alert(1)>", "one\nline\r\x1b[31mmore", *EVIL)
KNOWN = VarianceComponents.known(within=9.0, across=4.0)


def rng(seed: int | list[int] = 1) -> np.random.Generator:
    """Seeded."""
    return np.random.default_rng(seed)


def hostile(configurations: int = 8, instances: int = 12) -> CostMatrix:
    """A matrix with names from hell."""
    names = [
        [HOSTILE[i] if i < len(HOSTILE) else f"{what}{i}" for i in range(size)]
        for what, size in (("c", configurations), ("i", instances))
    ]
    return CostMatrix(
        rng().uniform(1, 99, (configurations, instances, 2)), names[0], names[1], 0, 100
    )


def searched(
    matrix: CostMatrix, *, counted: bool = True, test: CostMatrix | None = None, order: Any = None
) -> OverTuning:
    """What a search that took its configurations in this order, one better than the other, went
    past.
    """
    order = list(matrix.configurations if order is None else order)
    steps = tuple(Step(10 * 3**i if counted else None, (name,)) for i, name in enumerate(order))
    trajectory = Trajectory(
        tool="a search", proposed="adaptively", incumbent=order[-1], steps=steps
    )
    if test is None:
        fresh = [f"new {name}" for name in matrix.instances]
        test = CostMatrix(
            matrix.costs[:, ::-1] * 0.9 + 1, matrix.configurations, fresh, matrix.low, matrix.high
        )
    return assess(matrix, trajectory=trajectory, test=test).over_tuning


def played(rules: int = 3, repetitions: int = 40) -> Replay:
    """Regrets of hand-made rules that differ with the budget."""
    names = (OURS, SMAC, HALVING, STUDENT, *(f"N = {2**i}" for i in range(rules)), EVERYTHING)
    budgets = (0.05, 0.2, 0.6)
    level = rng(3).uniform(0.1, 1, (len(budgets), len(names)))
    regret = level * rng(4).gamma(4, 0.25, (repetitions, len(budgets), len(names)))
    return Replay(
        rules=names, budgets=budgets, regret=regret, missed=np.zeros(3, dtype=np.int64), delta=0.05
    )


def width_data(
    matrix: CostMatrix,
    configuration: str,
    seed: int | list[int] = 1,
    delta: float = 0.05,
    **settings: Any,
) -> pl.DataFrame:
    """The data of certificate widths."""
    means, there = instance_means(matrix.select(configurations=[configuration]))
    costs = rng(seed).permutation(means[0, there[0]])
    limits = confidence.upper_by_size(costs, matrix.low, matrix.high, delta, **settings)
    return figures.certificate_width_data(
        configuration, limits.instances, limits.estimate, limits.upper
    )


def paired_data(matrix: CostMatrix, incumbent: str, default: str, **settings: Any) -> pl.DataFrame:
    """The data of paired differences, with limits for two that were fixed beforehand."""
    means, there = instance_means(
        matrix.select(configurations=list(dict.fromkeys([incumbent, default])))
    )
    both = np.flatnonzero(there.all(axis=0))
    if both.size and incumbent != default:
        limits = confidence.difference(means[0, both], means[1, both], matrix.low, matrix.high)
        settings = {"lower": limits.lower, "upper": limits.upper, **settings}
    names = [matrix.instances[i] for i in both]
    return figures.paired_differences_data(
        incumbent, default, instances=names, costs=means[:, both], **settings
    )


def charts_of(matrix: CostMatrix) -> dict[str, Chart]:
    """Every figure of this file that shows a matrix."""
    first, second = matrix.configurations[:2]
    return {
        "width": figures.certificate_width_chart(width_data(matrix, first)),
        "paired": figures.paired_differences_chart(paired_data(matrix, first, second)),
        "along": figures.overtuning_along_chart(figures.overtuning_along_data(searched(matrix))),
        "steps": figures.overtuning_along_chart(
            figures.overtuning_along_data(searched(matrix, counted=False))
        ),
    }


def charts(matrix: CostMatrix) -> dict[str, Chart]:
    """Every figure of this file."""
    return {
        **charts_of(matrix),
        "plan": figures.plan_curve_chart(
            figures.plan_curve_data(
                plan.runs_needed(error=0.5, components=KNOWN, price_instance=5, width=100)
            )
        ),
        "budget": figures.plan_curve_chart(
            figures.plan_curve_data(plan.best_for(budget=500, components=KNOWN, price_instance=5))
        ),
        "regret": figures.regret_chart(figures.regret_data(played())),
    }


def test_certificate_width() -> None:
    """A point would show another limit than the method has on the first K instances of the one
    order.
    """
    costs = np.array(runtimes(3, 30, 3).costs)
    costs[1, [4, 9]] = np.nan
    costs[1, 5, 1:] = np.nan
    matrix = named(costs)
    data = width_data(matrix, "c1", 7, 0.1, sizes=[2, 28, 11, 11])
    means = np.array([np.nanmean(cell) for cell in costs[1] if not np.isnan(cell).all()])
    order = rng(7).permutation(28)
    assert data.height == 3 * 4
    assert data["instances"].unique().sort().to_list() == [2, 11, 28]
    for row in data.iter_rows(named=True):
        seen = means[order[: row["instances"]]]
        limit = confidence.upper(seen, 0, 100, 0.1, method=row["method"], shuffle=False)
        assert row["estimate"] == pytest.approx(seen.mean())
        assert row["upper"] == pytest.approx(limit.upper)
        assert row["width"] == pytest.approx(limit.upper - seen.mean())
    hoeffding = data.filter(method="hoeffding", instances=28)
    by_hand = min(100 * math.sqrt(math.log(10) / 56), 100 - means.mean())
    assert hoeffding["width"].to_list() == [pytest.approx(by_hand)]


def test_certificate_width_reaches_from_few_to_all_instances() -> None:
    """The curve would not end at all instances, or have so many points that it takes minutes."""
    data = width_data(runtimes(2, 300, 1), runtimes(2, 300, 1).configurations[1])
    sizes = data["instances"].unique().sort().to_list()
    assert (sizes[0], sizes[-1]) == (2, 300)
    assert 30 <= len(sizes) <= 40


def test_paired_differences() -> None:
    """A bar would stand at another instance or show another difference, or the mean and its
    interval would be of others.
    """
    costs = rng().uniform(0, 100, (3, 9, 2))
    costs[0, 3], costs[2, 5, 0], costs[2, 7] = np.nan, np.nan, costs[0, 7]
    matrix = named(costs)
    data = paired_data(matrix, "c2", "c0", lower=-1.5, upper=None)
    expected = {
        f"i{i}": np.nanmean(costs[2, i]) - np.nanmean(costs[0, i]) for i in range(9) if i != 3
    }
    assert dict(zip(data["instance"], data["difference"], strict=True)) == {
        k: pytest.approx(v) for k, v in expected.items()
    }
    assert data["difference"].is_sorted()
    assert data["place"].to_list() == list(range(1, 9))
    np.testing.assert_allclose(data["incumbent_cost"] - data["default_cost"], data["difference"])
    sides = {"incumbent": -1, "default": 1, "neither": 0}
    assert [sides[side] for side in data["better"]] == np.sign(
        data["difference"].to_numpy()
    ).tolist()
    one = data.row(0, named=True)
    values = np.array(list(expected.values()))
    assert one["mean"] == pytest.approx(values.mean())
    assert (one["instances"], one["gains"], one["losses"]) == (
        8,
        (values < 0).sum(),
        (values > 0).sum(),
    )
    assert (one["lower"], one["upper"]) == (-1.5, None)


def test_few_small_gains_are_drawn() -> None:
    """Gains that are small beside the losses would be drawn outside of the axes."""
    costs = np.stack([np.array([[9.0], [60.0], [90.0]]), np.array([[10.0], [10.0], [10.0]])])
    data = paired_data(named(costs), "c0", "c1")
    chart = figures.paired_differences_chart(
        data.with_columns(lower=pl.lit(5.0), upper=pl.lit(70.0))
    )

    def domains(spec: Any) -> list[list[float]]:
        if isinstance(spec, dict):
            own = [spec["y"]["scale"]["domain"]] if "scale" in spec.get("y", {}) else []
            return own + [found for value in spec.values() for found in domains(value)]
        return [found for item in spec for found in domains(item)] if isinstance(spec, list) else []

    found = domains(saving.specification(chart))
    assert found
    assert all(low < -1 and high > 80 for low, high in found)


def test_paired_differences_of_many_instances_stay_light() -> None:
    """Thousands of instances would make a file that is slow to open, or lose the extremes or the
    mean of all.
    """
    costs = rng().uniform(0, 100, (2, 3000, 1))
    data = paired_data(named(costs), "c0", "c1")
    apart = costs[0, :, 0] - costs[1, :, 0]
    assert data.height == 500
    assert (data["difference"][0], data["difference"][-1]) == (apart.min(), apart.max())
    assert data["mean"][0] == pytest.approx(apart.mean())
    for row in data.iter_rows(named=True):
        assert np.sort(apart)[row["place"] - 1] == row["difference"]
    chart = figures.paired_differences_chart(data)
    spec = saving.specification(chart)
    assert len(saving.render(spec, "svg")) < 150_000
    assert "500 of them are shown" in json.dumps(spec)


@pytest.mark.parametrize(
    "found",
    [
        plan.runs_needed(error=0.5, components=KNOWN),
        plan.runs_needed(error=0.5, components=KNOWN, price_instance=30, instances=40),
        plan.runs_needed(bound=4, width=100, components=KNOWN, price_instance=3, configurations=10),
        plan.best_for(budget=1000, components=KNOWN, price_run=2, price_instance=50),
        plan.best_for(budget=7, components=KNOWN),
        plan.best_for(budget=1, components=KNOWN),
        plan.runs_needed(error=1, components=VarianceComponents.known(within=0.0, across=0.0)),
        plan.runs_needed(
            error=2, components=variance_components(runtimes(1, 40, 4)), price_instance=9
        ),
    ],
    ids=["no price", "limited", "bound", "budget", "runs", "one", "constant", "estimated"],
)
def test_plan_curve(found: plan.Recommendation) -> None:
    """The curve would mark another point than the recommended one, or show an error that does not
    belong to its K and N.
    """
    data = figures.plan_curve_data(found)
    own = data.filter("chosen")
    assert (own["instances"].to_list(), own["runs"].to_list()) == ([found.instances], [found.runs])
    assert own["price"][0] == pytest.approx(found.price)
    for row in data.iter_rows(named=True):
        k, n = row["instances"], row["runs"]
        full, rest = divmod(n, k)
        squares = rest * (full + 1) ** 2 + (k - rest) * full**2
        variance = found.within / n + squares / n**2 * found.across
        assert row["standard_error"] == pytest.approx(math.sqrt(variance), abs=1e-12)
    if found.bound is None:
        assert data["bound"].null_count() == data.height
    else:
        assert own["bound"][0] == pytest.approx(found.bound.epsilon)
    drawn = svg(figures.plan_curve_chart(data)).decode()
    assert f"K = {found.instances:,}, N = {found.runs:,}" in drawn
    assert ("bound on true − training cost" in drawn) == (found.bound is not None)
    assert ("not guaranteed" in drawn) == (not found.guaranteed)
    assert "NaN" not in drawn


def test_overtuning_along() -> None:
    """An incumbent would be shown with the costs of another, or over-tuning would be measured from
    another one.
    """
    matrix = runtimes(4, 30, 2, seed=5)
    fresh = runtimes(4, 40, 2, seed=6)
    names = matrix.configurations
    test = CostMatrix(
        fresh.costs[[0, 1, 3]],
        [names[i] for i in (0, 1, 3)],
        [f"t{i}" for i in range(40)],
        0,
        matrix.high,
    )
    order = [names[i] for i in (2, 0, 1, 3)]
    found = searched(matrix, test=test, order=order)
    data = figures.overtuning_along_data(found)
    assert data["configuration"].to_list() == order
    assert data["runs"].to_list() == [10, 30, 90, 270]
    np.testing.assert_allclose(data["training"], matrix.costs.mean(axis=(1, 2))[[2, 0, 1, 3]])
    true = fresh.costs.mean(axis=(1, 2))[[0, 1, 3]]
    assert data["true"].to_list() == [None, *(pytest.approx(cost) for cost in true)]
    assert data["gap"].to_list() == [
        None,
        *(pytest.approx(a - b) for a, b in zip(true, data["training"][1:], strict=True)),
    ]
    assert data["best"].to_list() == [False, *(true == true.min())]
    assert data["over_tuning"].to_list() == [pytest.approx(true[-1] - true.min())] * 4
    drawn = svg(figures.overtuning_along_chart(data)).decode()
    assert "cost on test runs" in drawn
    lost = f"{true[-1] - true.min():.3g}"
    assert f"Over-tuning, its test cost − the lowest of any incumbent (circled): {lost}." in drawn


def test_overtuning_along_by_steps() -> None:
    """Incumbents whose runs nobody counted would be left out, or the axis would call their places
    runs.
    """
    matrix = runtimes(5, 12, 2)
    data = figures.overtuning_along_data(searched(matrix, counted=False))
    assert data["runs"].null_count() == data.height == 5
    assert data["step"].to_list() == [1, 2, 3, 4, 5]
    drawn = svg(figures.overtuning_along_chart(data)).decode()
    assert "incumbents, in their order" in drawn
    partly = searched(matrix)
    partly = dataclasses.replace(
        partly, along=(*partly.along[:-1], partly.along[-1]._replace(runs=None))
    )
    data = figures.overtuning_along_data(partly)
    assert data["runs"].to_list() == [10, 30, 90, 270, None]
    assert "incumbents, in their order" in svg(figures.overtuning_along_chart(data)).decode()


def test_regret() -> None:
    """A rule would have the regret of another rule or budget, or the fixed N would not be the best
    of each budget.
    """
    found = played(rules=4)
    data = figures.regret_data(found)
    fixed = range(4, 8)
    expected = {
        OURS: [0] * 3,
        SMAC: [1] * 3,
        HALVING: [2] * 3,
        STUDENT: [3] * 3,
        EVERYTHING: [8] * 3,
    }
    expected["best fixed N, in hindsight"] = [
        min(fixed, key=lambda i: found.regret[:, b, i].mean()) for b in range(3)
    ]
    assert set(data["rule"]) == set(expected)
    for rule, places in expected.items():
        part = data.filter(pl.col("rule") == rule)
        assert part["budget"].to_list() == [0.05, 0.2, 0.6]
        for row, (b, place) in zip(part.iter_rows(named=True), enumerate(places), strict=True):
            own = found.regret[:, b, place]
            error = own.std(ddof=1) / math.sqrt(40)
            assert row["which"] == found.rules[place]
            assert row["regret"] == pytest.approx(own.mean())
            assert (row["low"], row["high"]) == (
                pytest.approx(own.mean() - error),
                pytest.approx(own.mean() + error),
            )


def test_regret_of_a_real_replay() -> None:
    """What `replay` returns would not be drawn."""
    found = replay(runtimes(5, 8, 2), rng=rng(), repetitions=3)
    data = figures.regret_data(found)
    assert data.height == 6 * 3
    texts = [each.text for each in ElementTree.fromstring(svg(figures.regret_chart(data))).iter()]  # noqa: S314
    assert {
        OURS,
        SMAC,
        HALVING,
        STUDENT,
        EVERYTHING,
        "best fixed N, in hindsight",
        "budget 5 %",
        "budget 20 %",
        "budget 60 %",
    } <= set(texts)


@pytest.mark.parametrize(
    ("drawing", "matrix"),
    [
        (charts, runtimes(6, 16, 3)),
        (charts_of, named(np.full((4, 8, 2), 3.0))),
        (charts_of, named(np.full((4, 8, 2), 100.0))),
        (charts_of, named(rng().normal(0, 1, (5, 9, 2)), low=-9, high=9)),
        (charts_of, named(rng().uniform(1, 99, (3, 2, 1)))),
    ],
    ids=["runtimes", "constant", "highest", "negative", "two instances"],
)
def test_every_chart_is_valid(
    drawing: Callable[[CostMatrix], dict[str, Chart]], matrix: CostMatrix
) -> None:
    """A chart of an unusual matrix would not validate, or not be drawn."""
    for name, chart in drawing(matrix).items():
        drawn = svg(chart)
        assert b"NaN" not in drawn, name
        assert b"Infinity" not in drawn, name
        ElementTree.fromstring(drawn)  # noqa: S314


def test_names_stay_text() -> None:
    """A name out of a file would become part of a page or a picture's markup, break a line, or end
    the process.
    """
    matrix = hostile()
    for name, chart in charts(matrix).items():
        spec = saving.specification(chart)
        assert all(
            text.isprintable()
            for text in re.findall(r'"([^"]*)"', json.dumps(spec, ensure_ascii=False))
        ), name
        root = ElementTree.fromstring(saving.render(spec, "svg"))  # noqa: S314
        assert not [
            each for each in root.iter() if each.tag.endswith(("script", "img", "image"))
        ], name
        if name in ("paired", "along"):
            page = without_library(saving.render(spec, "html").decode())
            assert page.count("</script") == page.count("<script") == 2, name
            assert "<img" not in page, name
        if name in ("width", "paired"):
            # Where the configurations are named, their names can be read.
            assert any(
                "<img src=x onerror=alert(1)>" in (each.text or "") for each in root.iter()
            ), name
    broken = figures.certificate_width_chart(width_data(matrix, HOSTILE[1]))
    texts = [each.text for each in ElementTree.fromstring(svg(broken)).iter()]  # noqa: S314
    assert f"Guaranteed limits of configuration {visible(HOSTILE[1])} (95 %)" in texts


def test_names_are_no_expressions() -> None:
    """A name would be looked up or computed by the drawing instead of being shown."""
    for name in ("datum.cost > 0", "__proto__", "{{1+1}}", '{"expr": "1+1"}'):
        matrix = CostMatrix(rng().uniform(1, 9, (2, 6, 1)), [name, "other"], list("abcdef"), 0, 10)
        chart = figures.paired_differences_chart(paired_data(matrix, name, "other"))
        texts = [each.text for each in ElementTree.fromstring(svg(chart)).iter()]  # noqa: S314
        assert f"{name} against other, instance by instance" in texts


def test_every_chart_saves(tmp_path: Any) -> None:
    """A figure could be looked at on one page but not be put on another."""
    for name, chart in charts(runtimes(4, 10, 2)).items():
        for ending, start in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
            figures.save(chart, tmp_path / f"{name}.{ending}")
            assert (tmp_path / f"{name}.{ending}").read_bytes().startswith(start)


def test_series_differ_without_colour() -> None:
    """In greyscale two curves of a figure could not be told apart: each needs a dash or shape of
    its own.
    """
    drawn = charts(runtimes(4, 12, 2))
    for name, channel, series in (
        ("width", "strokeDash", 4),
        ("along", "strokeDash", 2),
        ("along", "shape", 2),
        ("regret", "shape", 6),
    ):
        found = ranges(outside_data(saving.specification(drawn[name], validate=False)), channel)
        assert found, name
        for each in found:
            assert len({json.dumps(sign) for sign in each}) == series, name


def test_units_stand_at_the_axes() -> None:
    """A cost would stand at an axis without its unit, or a unit be taken for an expression."""
    unit = "</script>{{1+1}} datum"
    matrix = runtimes(4, 10, 2)
    names = matrix.configurations
    recommended = plan.runs_needed(error=0.5, components=KNOWN)
    for chart, label in (
        (
            figures.certificate_width_chart(width_data(matrix, names[0]), unit=unit),
            f"certified limit − estimate ({unit})",
        ),
        (
            figures.paired_differences_chart(paired_data(matrix, names[0], names[1]), unit=unit),
            f"cost of the winner − cost of the default ({unit})",
        ),
        (
            figures.plan_curve_chart(figures.plan_curve_data(recommended), unit=unit),
            f"standard error of a training cost ({unit})",
        ),
        (
            figures.plan_curve_chart(figures.plan_curve_data(recommended), price_unit=unit),
            f"price ({unit})",
        ),
        (
            figures.overtuning_along_chart(
                figures.overtuning_along_data(searched(matrix)), unit=unit
            ),
            f"cost ({unit})",
        ),
    ):
        texts = [each.text or "" for each in ElementTree.fromstring(svg(chart)).iter()]  # noqa: S314
        assert any(label in text for text in texts)


def test_what_cannot_be_shown_is_refused() -> None:
    """Input that has nothing to show would end in a trace or an empty picture instead of a
    sentence.
    """
    costs = rng().uniform(1, 99, (4, 4, 1))
    costs[0, 1:], costs[1, 0], costs[3] = np.nan, np.nan, np.nan
    matrix = named(costs)
    with pytest.raises(InputError, match="on at least 2 instances, got 1"):
        width_data(matrix, "c0")
    for sizes, got in (([], "none"), ([0], "0 to 0"), ([2, 5], "2 to 5")):
        with pytest.raises(InputError, match=f"from 1 to 4, .* got {got}"):
            width_data(matrix, "c2", sizes=sizes)
    with pytest.raises(InputError, match="delta"):
        width_data(matrix, "c2", delta=0)
    with pytest.raises(InputError, match="'c2' twice"):
        paired_data(matrix, "c2", "c2")
    with pytest.raises(InputError, match="both have runs"):
        paired_data(matrix, "c0", "c1")
    with pytest.raises(InputError, match="at least 2 instances to be shown"):
        paired_data(matrix, "c1", "c2", most=1)
    found = searched(runtimes(3, 8, 2))
    unknown = tuple(point._replace(true=math.nan) for point in found.along)
    with pytest.raises(InputError, match="at least one incumbent"):
        figures.overtuning_along_data(dataclasses.replace(found, along=()))
    untested = figures.overtuning_along_data(
        dataclasses.replace(found, along=unknown, lost=math.nan)
    )
    assert untested["true"].null_count() == untested.height
    assert "have no test runs" in svg(figures.overtuning_along_chart(untested)).decode()
    recommended = plan.runs_needed(error=0.5, components=KNOWN)
    none = plan.SizeCurve(
        instances=np.zeros(0, dtype=np.int64),
        runs=np.zeros(0, dtype=np.int64),
        standard_error=np.zeros(0),
        bound=np.zeros(0),
        price=np.zeros(0),
    )
    with pytest.raises(InputError, match="curve around it"):
        figures.plan_curve_data(dataclasses.replace(recommended, curve=none))
    for repetitions in (0, 1):
        with pytest.raises(InputError, match="2 or more repetitions"):
            figures.regret_data(played(repetitions=repetitions))
    with pytest.raises(InputError, match="replay of truecost"):
        figures.regret_data(dataclasses.replace(played(), rules=("a", *played().rules[1:])))
    with pytest.raises(InputError, match="finite"):
        figures.regret_data(dataclasses.replace(played(), regret=np.full((2, 3, 8), np.nan)))
