import dataclasses
import json
import math
import re
import shlex
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from commands import Run

from truecost import figures, report, runtime_model
from truecost.errors import InputError
from truecost.examples import load_example
from truecost.judge import audit
from truecost.matrix import CostMatrix
from truecost.plan import sizes as plan
from truecost.runs import Status, Step, Trajectory
from truecost.show import saving
from truecost.show.content import Commands, Facts, Report
from truecost.show.glossary import TERMS
from truecost.show.html import COLOURS, chart_spec
from truecost.stats import bounds
from truecost.stats.allocation import even
from truecost.stats.variance import variance_components

HOSTILE = "<img src=x onerror=alert(1)>"
SPLITS = 40


def rng(seed: int = 1) -> np.random.Generator:
    """Of tests."""
    return np.random.default_rng(seed)


def drawn(configurations: int = 12, instances: int = 16, runs: int = 3, **model: Any) -> CostMatrix:
    """Runs of a model."""
    return runtime_model(configurations=configurations, rng=rng(2), **model).draw(instances=instances, runs=runs, rng=rng(3))


def made(matrix: CostMatrix, **asked: Any) -> Report:
    """A report with few splits."""
    return report.report(matrix, **{"name": "runs.npz", "splits": SPLITS, **asked})


def facts(found: Report) -> dict[str, Any]:
    """Every number by its term, those beside the verdict last."""
    blocks = [block for section in found.sections for block in section.blocks if isinstance(block, Facts)]
    return {fact.term: fact.value for block in [*blocks, Facts(facts=found.key)] for fact in block.facts}


class Reader(HTMLParser):
    """The page as a browser would see it: tags with their attributes, texts, and what was not closed."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page.decode())
        assert self._open == [], self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data)


def test_the_verdict_and_its_numbers_are_those_of_the_audit() -> None:
    """The page would say another thing than `truecost audit` with the same seed."""
    matrix = drawn()
    asked: dict[str, Any] = {"default": "default", "chosen": "from-list", "delta": 0.1}
    expected = audit.audit(matrix, rng=rng(5), splits=SPLITS, **asked)
    found = made(matrix, seed=5, **asked)
    assert found.verdict == expected.verdict
    seen = facts(found)
    assert expected.interval is not None
    assert expected.comparison is not None
    assert seen["training-cost"] == expected.training_cost
    assert seen["corrected-cost"] == expected.corrected_cost
    assert seen["interval"] == [expected.interval.lower, expected.interval.upper]
    assert seen["difference"] == expected.comparison.estimate
    assert seen["bottleneck"] == expected.noise.bottleneck
    assert seen["optimism"] == expected.gap
    assert seen["flips"] == expected.comparison.flips
    assert found.numbers["audit"]["verdict"] == expected.verdict
    assert found.tables["limits"].rows[0][2].value == expected.interval.upper


def test_bounds_and_plan_are_those_of_their_modules() -> None:
    """A bound or a plan on the page would not be what `truecost bound` and `truecost plan` compute."""
    matrix = drawn()
    found = made(matrix)
    own = matrix.configurations.index(found.numbers["audit"]["incumbent"])
    components, allocation = variance_components(matrix), even(48, 16)
    stated: dict[str, Any] = {"allocation": allocation, "width": matrix.width, "delta": 0.05}
    single = bounds.single(components=components[own], **stated).epsilon
    every = np.asarray(bounds.finite(components=components, tau="per-configuration", **stated).epsilon)
    _, lemma, one_of_all, worst = found.tables["limits"].rows
    assert lemma[3].value == pytest.approx(single)
    assert one_of_all[3].value == pytest.approx(every[own])
    assert worst[3].value == pytest.approx(every.max())
    assert lemma[2].value == pytest.approx(matrix.costs[own].mean() + single)
    assert {row[4].value for row in (lemma, one_of_all, worst)} == {"plug-in"}
    error = found.numbers["audit"]["noise"]["standard_error"]
    needed = plan.runs_needed(error=error / 2, components=components[own])
    assert (facts(found)["plan-instances"], facts(found)["plan-runs"]) == (needed.instances, needed.runs)


def test_the_bottleneck_is_that_of_the_training_cost() -> None:
    """The share beside the bottleneck would be that of a single run, and contradict it."""
    costs = rng().normal(50, 5, (1, 400, 1)) + rng(4).normal(0, 9, (3, 400, 9))
    matrix = CostMatrix(np.clip(costs, 0, 100), ["a", "b", "c"], [f"i{i}" for i in range(400)], 0, 100)
    (fact,) = (fact for fact in made(matrix).key if fact.term == "bottleneck")
    # across 25 against within 81/9 = 9 of an instance mean.
    assert fact.value == "instances"
    share = int(fact.note.split()[0])
    assert abs(share - 100 * 25 / 34) < 8
    assert fact.note.endswith("of the training cost's variance is across instances")


def test_the_table_has_every_configuration_in_order() -> None:
    """A row of the table would show another configuration's numbers, or the order would not be that of training costs."""
    matrix = drawn()
    found = made(matrix, default=matrix.configurations[3])
    rows = found.tables["configurations"].rows
    costs = {name: float(matrix.costs[i].mean()) for i, name in enumerate(matrix.configurations)}
    noise = variance_components(matrix)
    assert [row[1].value for row in rows] == sorted(costs, key=lambda name: costs[name])
    for rank, row in enumerate(rows, 1):
        place = matrix.configurations.index(str(row[1].value))
        assert row[0].value == rank
        assert row[2].value == pytest.approx(costs[str(row[1].value)])
        assert row[4].value == pytest.approx(max(0, noise.within[place]))
        assert row[7].value == pytest.approx((np.asarray(matrix.statuses)[place] != Status.SOLVED).mean())
        assert ("default" in row[1].tags) == (place == 3)
    assert "incumbent" in rows[0][1].tags


def test_configurations_that_cannot_be_compared_have_no_rank() -> None:
    """A configuration that was run on one easy instance would be ranked first."""
    costs = np.sort(rng().uniform(1, 9, (5, 12, 2)), axis=1)
    costs[3, 1:] = np.nan
    matrix = CostMatrix(costs, list("abcde"), [f"i{i}" for i in range(12)], 0, 10)
    rows = made(matrix).tables["configurations"].rows
    assert [row[1].value for row in rows][-1] == "d"
    assert [row[0].shown for row in rows] == ["1", "2", "3", "4", "–"]
    assert [row[2].value for row in rows] == [12, 12, 12, 12, 1]
    assert rows[-1][3].value == min(row[3].value for row in rows)


def test_ranks_by_adjusted_costs_are_said_to_be_so() -> None:
    """The verdict would call least a cost that the table beside it shows to be larger than another."""
    hard = np.linspace(1, 8, 12)[:, np.newaxis]
    costs = np.stack([hard + add + rng(4).uniform(0, 0.2, (12, 2)) for add in (0.5, 1, 1.5)])
    costs[1, 8:] = np.nan
    found = made(CostMatrix(costs, list("abc"), [f"i{i}" for i in range(12)], 0, 10))
    first, second, _ = found.tables["configurations"].rows
    assert (first[1].value, second[1].value) == ("a", "b")
    assert float(second[3].value) < float(first[3].value)
    assert (
        found.verdict == "a has the least training cost of 3 configurations once how hard their instances are is taken out."
    )
    assert "the column shows the plain mean" in found.text
    costs[1] = np.nan
    whole = made(CostMatrix(costs, list("abc"), [f"i{i}" for i in range(12)], 0, 10))
    assert whole.verdict == "a has the least training cost of 2 configurations."
    assert "the column shows the plain mean" not in whole.text


def test_charts_show_the_numbers_of_their_figures() -> None:
    """A chart of the page would be drawn from other numbers than the figure of that name computes."""
    matrix = drawn(5, 10, 2)
    found = made(matrix, default=matrix.configurations[0], chosen="from-list", seed=7)
    incumbent = found.numbers["audit"]["incumbent"]
    width = figures.certificate_width_data(matrix, incumbent, rng=rng(7), delta=0.05 * (1 / 5))
    assert found.figures["certificate-width"].data.equals(width)
    assert found.figures["split"].data.equals(figures.overtuning_data(matrix, rng=rng(7)))
    assert found.figures["matrix"].data.cells.equals(figures.matrix_data(matrix).cells)
    shares = figures.variance_shares_data(matrix)
    assert found.figures["variance-shares"].data.equals(shares)
    values = [
        value for block in chart_spec(found.figures["certificate-width"].chart)["datasets"].values() for value in block
    ]
    upper = {(value["instances"], value["method"]): value["upper"] for value in values}
    assert upper == {(k, method): u for k, method, u in width.select("instances", "method", "upper").iter_rows()}


def test_limits_against_k_are_valid_for_the_incumbent() -> None:
    """The curve of certificates would be one for a configuration chosen before, which what was chosen by cost is not."""
    matrix, names = drawn(6, 20, 2), drawn(6, 20, 2).configurations

    def ends(found: Report) -> tuple[Any, ...]:
        figure = found.figures["certificate-width"]
        (last,) = figure.data.filter(method="star-bets").tail(1).iter_rows(named=True)
        return last["instances"], last["estimate"], figure.notes[0]

    listed = made(matrix, chosen="from-list", list_size=9)
    assert ends(listed)[0] == 20
    assert "δ shared out among 9" in ends(listed)[2]
    hoeffding = listed.figures["certificate-width"].data.filter(method="hoeffding", instances=20)
    by_hand = matrix.width * math.sqrt(math.log(9 / 0.05) / 40)
    assert hoeffding["width"].to_list() == [pytest.approx(min(by_hand, matrix.high - hoeffding["estimate"][0]))]
    halved = made(matrix)
    assert ends(halved)[:2] == (10, pytest.approx(halved.numbers["audit"]["interval"]["estimate"]))
    assert "half of the instances that it was not chosen by" in ends(halved)[2]
    # Of the test instances only those that are fresh.
    fresh = [*matrix.instances[:4], *(f"fresh-{i}" for i in range(16))]
    test = CostMatrix(drawn(6, 20, 2).costs[:, ::-1], names, fresh, matrix.low, matrix.high)
    search = Trajectory(tool="a search", proposed="adaptively", incumbent=names[4])
    tested = made(matrix, test=test, trajectory=search)
    assert ends(tested)[:2] == (16, pytest.approx(test.costs[4, 4:].mean()))
    assert "On the test runs" in ends(tested)[2]
    assert "certificate-width" not in made(matrix, trajectory=search).figures
    raced = made(matrix, trajectory=Trajectory(tool="a race", proposed="beforehand", raced=True, incumbent=names[4]))
    assert "certificate-width" not in raced.figures
    assert "in a race their number depended on costs" in raced.text


def paired(gain: float, noise: float, instances: int) -> CostMatrix:
    """Two configurations, of which the second is better by `gain` on average."""
    hard, apart = rng(5).uniform(4, 6, instances), rng(6).normal(0, noise, instances)
    costs = np.stack([hard, hard - gain + apart - apart.mean()])[:, :, np.newaxis]
    return CostMatrix(costs, ["default", "tuned"], [f"i{i}" for i in range(instances)], 0, 10)


def test_how_many_instances_would_show_it_is_said_by_the_limits_of_the_verdict() -> None:
    """The page would promise that a number of instances turns its verdict, by a test that is not the verdict's."""
    matrix = paired(0.5, 1, 30)
    found = made(matrix, default="default", chosen="from-list")
    seen, limits = found.numbers["shown_on"], found.numbers["audit"]["comparison"]
    assert limits["lower"] < 0 < limits["upper"]
    assert found.numbers["tell_apart"]["instances"] < seen["instances"] == facts(found)["shown-on"]
    assert f"own limits on about {seen['instances']} instances, if new ones are like these" in found.text
    assert "A paired t-test, which trusts normal differences" in found.text
    assert found.text.index("own limits") < found.text.index("A paired t-test")

    def shown(times: int) -> bool:
        names = [f"i{i}" for i in range(times * 30)]
        more = CostMatrix(np.tile(matrix.costs, (1, times, 1)), matrix.configurations, names, 0, 10)
        return audit.audit(more, rng=rng(1), default="default", chosen="from-list", splits=1).better

    times = seen["instances"] // 30
    assert shown(times)
    assert not shown(1)
    tried = [r for r in (2, 3, 4, 6, 8, 12, 16) if r < times]
    assert not any(shown(r) for r in tried)


def test_a_difference_that_cannot_be_shown_is_said_to_be_out_of_reach() -> None:
    """Who has a tiny difference would be sent off to run instances that do not show it; who has shown one, too."""
    small = made(paired(0.02, 1, 12), default="default", incumbent="tuned", chosen="from-list")
    assert small.numbers["shown_on"] == {"instances": None, "seen": 12, "tried": 192, "halved": False}
    assert "out of reach at the present difference: 192 instances like these would not do" in small.text
    for asked in ({"incumbent": "tuned", "default": "default"}, {"incumbent": "default", "default": "tuned"}):
        assert made(paired(3, 0.1, 60), chosen="from-list", **asked).numbers["shown_on"] is None
    half = made(paired(0.6, 0.8, 40), default="default")
    assert half.numbers["shown_on"]["seen"] == 20
    assert "and as many to choose by" in half.text


@pytest.mark.parametrize(("instances", "runs"), [(16, 3), (57, 2), (19, 2), (40, 4)])
def test_the_plan_to_copy_is_the_plan_of_the_page(run: Run, tmp_path: Path, instances: int, runs: int) -> None:
    """The command to copy would round the error, and answer an instance more or less than the page says."""
    path = tmp_path / "runs.npz"
    drawn(4, instances, runs).save(path)
    found = made(drawn(4, instances, runs), name=str(path))
    (line,) = (line for block in found.sections[4].blocks if isinstance(block, Commands) for line, _ in block.commands[:1])
    assert line.startswith("truecost plan")
    answer = json.loads(run(*shlex.split(line)[1:], "--json").stdout)["recommendation"]
    expected = found.numbers["plan"]
    assert (answer["instances"], answer["runs"]) == (expected["instances"], expected["runs"])


def test_the_shaded_interval_is_the_valid_one() -> None:
    """Two configurations of which one was chosen by these very costs would get the interval of two fixed beforehand."""
    matrix = drawn(8, 30, 2)
    found = made(matrix, default=matrix.configurations[0], chosen="from-list")
    data, comparison = found.figures["paired"].data, found.numbers["audit"]["comparison"]
    assert data["lower"][0] == comparison["lower"]
    assert data["upper"][0] == comparison["upper"]
    naive = figures.paired_differences_data(matrix, found.numbers["audit"]["incumbent"], matrix.configurations[0], rng=rng())
    assert naive["upper"][0] < data["upper"][0]
    adaptive = Trajectory(tool="a search", proposed="adaptively", default=matrix.configurations[0])
    refused = made(matrix, trajectory=adaptive)
    drawn_data = refused.figures["paired"].data
    assert drawn_data["lower"].null_count() == drawn_data.height
    spec = json.dumps(chart_spec(refused.figures["paired"].chart))
    assert "confidence" not in spec
    assert "No valid interval" in " ".join(refused.figures["paired"].notes)


def test_specifications_validate_in_the_colours_of_the_page() -> None:
    """A chart would leave the grammar when its colours become those of the page."""
    matrix = load_example("kissat")
    found = made(matrix, default=matrix.configurations[0], trajectory=Trajectory(tool="x", proposed="beforehand"))
    assert set(found.figures) == {
        "matrix", "variance-shares", "certificate-width", "split", "along", "paired", "selection-error", "plan",
    }  # fmt: skip
    for figure in found.figures.values():
        spec = chart_spec(figure.chart)
        # The data are no part of the grammar, and take the longest.
        alt.Chart.from_dict({key: part for key, part in spec.items() if key != "datasets"})
        assert "title" not in spec
        left = json.dumps({key: part for key, part in spec.items() if key != "datasets"})
        assert not [colour for colour in COLOURS if colour in left]


def parts(spec: Any, key: str) -> list[Any]:
    """Everything under this key in a specification, the data aside."""
    if isinstance(spec, list):
        return [found for item in spec for found in parts(item, key)]
    if not isinstance(spec, dict):
        return []
    own = [spec[key]] if key in spec else []
    return own + [found for name, item in spec.items() if name not in ("data", "datasets") for found in parts(item, key)]


def test_tooltips_show_neither_nothing_nor_rounding() -> None:
    """The pointer would find "null" where there is no number, and 2e-16 where two numbers are the same."""
    matrix = drawn(6, 12, 2)
    found = made(matrix, default=matrix.configurations[0], chosen="from-list")
    along = found.figures["along"]
    assert along.data["runs"].null_count() == along.data.height > 1
    assert "runs" not in {channel["field"] for tooltip in parts(chart_spec(along.chart), "tooltip") for channel in tooltip}
    layers = [layer for layers in parts(chart_spec(found.figures["selection-error"].chart), "layer") for layer in layers]
    shown = [layer for layer in layers if "standard_error" in {t["field"] for t in layer["encoding"].get("tooltip", [])}]
    assert len(shown) == 2
    assert all(layer["transform"] == [{"filter": "isValid(datum.standard_error)"}] for layer in shown)
    looked = audit.audit(matrix, rng=rng(), splits=2)
    same = tuple(dataclasses.replace(point, true=point.training * (1 + 2e-16)) for point in looked.along)
    data = figures.overtuning_along_data(dataclasses.replace(looked, along=same, over_tuning=2e-16))
    assert set(data["gap"]) == set(data["over_tuning"]) == {0.0}
    constant = made(odd("constant"))
    (shown_gap,) = (
        fact.shown for block in constant.sections[3].blocks[:1] if isinstance(block, Facts)
        for fact in block.facts if fact.term == "optimism"
    )  # fmt: skip
    assert shown_gap == "0"


def test_ticks_are_whole_and_axes_without_a_unit_say_cost_once() -> None:
    """Two incumbents would stand on an axis marked 1 1 2 2 3, and costs be called cost (cost)."""
    found = made(paired(0.5, 1, 30), default="default", chosen="from-list")
    spec = chart_spec(found.figures["along"].chart)
    assert {tuple(axis["values"]) for axis in parts(parts(spec, "x"), "axis")} == {(1, 2)}
    thirty = parts(parts(chart_spec(found.figures["paired"].chart), "x"), "axis")
    assert [axis["values"] for axis in thirty] == [[5, 10, 15, 20, 25, 30]]
    titles = [title for figure in found.figures.values() for title in parts(chart_spec(figure.chart), "title")]
    assert "cost" in titles
    assert not [title for title in titles if "(cost" in str(title)]
    with_unit = made(paired(0.5, 1, 30), default="default", chosen="from-list", unit="s")
    assert "cost (s)" in parts(chart_spec(with_unit.figures["along"].chart), "title")


def test_names_of_colours_stay_names() -> None:
    """A configuration called #000000 would be called var(--ink) in the charts."""
    matrix = CostMatrix(rng().uniform(1, 9, (3, 8, 2)), ["#000000", "#0072B2", "white"], [f"i{i}" for i in range(8)], 0, 10)
    spec = chart_spec(made(matrix).figures["variance-shares"].chart)
    named = {row["configuration"] for rows in spec["datasets"].values() for row in rows if "configuration" in row}
    assert named == {"#000000", "#0072B2", "white"}


def test_every_number_is_explained() -> None:
    """A number or a column of numbers would have no explanation behind it."""
    matrix = drawn()
    found = made(matrix, default=matrix.configurations[0])
    terms = [fact.term for section in found.sections for b in section.blocks if isinstance(b, Facts) for fact in b.facts]
    terms += [column.term for table in found.tables.values() for column in table.columns if column.numbers]
    terms += [fact.term for fact in found.key]
    assert set(terms) <= set(TERMS)
    reader = Reader(report.render(found))
    asked = {attrs["popovertarget"] for tag, attrs in reader.tags if tag == "button" and "popovertarget" in attrs}
    answers = {attrs["id"] for tag, attrs in reader.tags if "popover" in attrs}
    assert {f"why-{term}" for term in terms} <= asked <= answers


def test_the_same_runs_give_the_same_bytes() -> None:
    """Two pages of the same runs would differ, so that nobody could check one."""
    matrix = drawn(4, 8, 2)
    page = report.render(made(matrix))
    assert report.render(made(matrix)) == page
    assert report.render(made(matrix, seed=2)) != page


def test_names_never_become_markup() -> None:
    """A name in a file would become part of the page, and run there."""
    names = [HOSTILE, "</script><script>alert(1)</script>", "{{7*7}}", "\"'&lt;", "a\u2028b\x1b[2J"]
    matrix = CostMatrix(rng().uniform(1, 9, (5, 8, 2)), names, [f"{HOSTILE}{i}" for i in range(8)], 0, 10)
    found = made(matrix, name=HOSTILE, title=HOSTILE, unit=HOSTILE, default=names[1], notes=[HOSTILE], chosen="from-list")
    page = report.render(found)
    clean = Reader(report.render(made(drawn(5, 8, 2), default="default", notes=["x"], chosen="from-list")))
    reader = Reader(page)
    assert "img" not in {tag for tag, _ in reader.tags}
    assert sum(tag == "script" for tag, _ in reader.tags) == sum(tag == "script" for tag, _ in clean.tags) == 3
    assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
    assert HOSTILE in reader.texts
    assert "a\\u2028b\\x1b[2J" in reader.texts
    assert page.count(b"<script") == 3
    assert b"\x1b" not in page


def test_nothing_is_loaded_and_only_our_scripts_run() -> None:
    """The page would fetch something, or run a script that is not its own."""
    page = report.render(made(drawn(4, 8, 2))).decode()
    reader = Reader(page.encode())
    assert not any(name in attrs for _, attrs in reader.tags for name in ("src", "srcset", "action", "style"))
    assert {str(attrs["href"])[0] for _, attrs in reader.tags if "href" in attrs} == {"#"}
    policy = next(attrs["content"] for _, attrs in reader.tags if "http-equiv" in attrs)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert re.search(r"script-src ('sha256-[A-Za-z0-9+/=]+' ?){2};", policy)


def test_the_scripts_are_kept_where_python_keeps_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page would put the JavaScript together anew, which takes seconds, or take one of another version."""
    monkeypatch.setattr(saving, "__file__", str(tmp_path / "saving.py"))
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    made_now = saving.bundle.__wrapped__()
    (kept,) = (tmp_path / "__pycache__").iterdir()
    assert kept.read_text() == made_now == saving.bundle()
    assert version("vl-convert-python") in kept.name
    kept.write_text("kept")
    assert saving.bundle.__wrapped__() == "kept"


def test_size() -> None:
    """The page of a matrix of 500 × 250 × 5 runs would be larger than 5 MB."""
    matrix = CostMatrix(
        rng().uniform(0.123456, 299.9, (500, 250, 5)),
        [f"configuration-{i:04d}" for i in range(500)],
        [f"instances/some-family-{i:04d}.cnf" for i in range(250)],
        0,
        300,
    )
    found = made(matrix, default="configuration-0000", chosen="from-list")
    assert len(report.render(found)) < 5_000_000
    assert len(found.tables["configurations"].rows) == 500


# ---- odd matrices ------------------------------------------------------------------------------------------------------


def odd(kind: str) -> CostMatrix:
    """A matrix from which something cannot be computed."""
    costs = rng().uniform(1, 9, (4, 12, 3))
    if kind == "one run":
        costs = costs[:, :, :1]
    elif kind == "deterministic":
        costs = np.repeat(costs[:, :, :1], 3, axis=2)
    elif kind == "constant":
        costs = np.full_like(costs, 0.1)
    elif kind == "all timeouts":
        costs = np.full_like(costs, 10.0)
    elif kind == "one configuration":
        costs = costs[:1]
    elif kind == "one instance":
        costs = costs[:, :1]
    elif kind == "two instances":
        costs = costs[:, :2]
    elif kind == "one run in all":
        costs = costs[:1, :1, :1]
    elif kind == "one configuration without runs":
        costs[2] = np.nan
    elif kind == "half of the runs missing":
        costs[rng(9).random(costs.shape) < 0.5] = np.nan
    elif kind == "no common instances":
        costs[0, :6], costs[1, 6:] = np.nan, np.nan
    elif kind == "zero costs":
        costs = np.zeros_like(costs)
    names = [f"c{i}" for i in range(costs.shape[0])]
    return CostMatrix(costs, names, [f"i{i}" for i in range(costs.shape[1])], 0, 10)


ODD = {
    "one run": "cannot be told apart",
    "deterministic": "the target is deterministic",
    "constant": "cost the same",
    "all timeouts": "have the highest possible cost",
    "one configuration": "takes two configurations",
    "one instance": "with one instance nothing can be said",
    "two instances": "that takes 8 instances",
    "one run in all": "with one instance nothing can be said",
    "one configuration without runs": "no run on some instances",
    "half of the runs missing": "no run on some instances",
    "no common instances": "not compared instance by instance",
    "zero costs": "cost the same",
}


@pytest.mark.parametrize(
    ("kind", "default"), [*((kind, "c0") for kind in ODD), ("constant", None), ("one configuration", None)]
)
def test_odd_matrices(kind: str, default: str | None) -> None:
    """A matrix that something cannot be computed from would have no page, or one that does not say what is left out."""
    matrix = odd(kind)
    incumbent = "c1" if kind == "no common instances" else None
    found = made(matrix, default=default, incumbent=incumbent)
    Reader(report.render(found))
    assert ODD[kind] in found.text
    words = " ".join([found.subtitle, found.text, *(note for figure in found.figures.values() for note in figure.notes)])
    assert not re.findall(r"(?<![\d,.])1 (?:\w+ )?(?:configurations|instances|runs|halves)", words)
    for fact in (fact for section in found.sections for b in section.blocks if isinstance(b, Facts) for fact in b.facts):
        assert fact.shown
        assert "nan" not in fact.shown
    json.dumps(found.numbers["audit"]["verdict"])


def test_a_search_with_test_runs() -> None:
    """The page of a search would not speak of its test runs, or not show the incumbents on the way."""
    matrix, names = drawn(6, 20, 2), drawn(6, 20, 2).configurations
    fresh = runtime_model(configurations=6, rng=rng(2)).draw(instances=25, runs=2, rng=rng(8))
    test = CostMatrix(fresh.costs, names, [f"fresh-{i}" for i in range(25)], fresh.low, fresh.high)
    steps = (Step(10, (names[0],)), Step(40, (names[2],)), Step(90, (names[4],)))
    search = Trajectory(
        tool="a search 1.0", proposed="adaptively", raced=True, default=names[0], incumbent=names[4], steps=steps
    )
    found = made(matrix, test=test, trajectory=search)
    assert facts(found)["test-cost"] == pytest.approx(test.costs[4].mean())
    assert found.figures["along"].data["configuration"].to_list() == [names[0], names[2], names[4]]
    assert found.figures["paired"].data["instances"][0] == 25
    assert "Recorded by a search 1.0" in found.text
    assert "On fresh instances it costs" in found.more
    alone = made(matrix, trajectory=search)
    assert "No valid interval" in alone.text
    assert alone.tables["limits"].rows[0][4].value == "plug-in"


def test_no_runs_at_all_are_refused() -> None:
    """A matrix without any run would end in a traceback."""
    with pytest.raises(InputError, match="Expected at least one run"):
        made(CostMatrix(np.full((2, 3, 1), np.nan), ["a", "b"], ["x", "y", "z"], 0, 1))


def test_commands_carry_what_was_asked() -> None:
    """A command to copy would forget the options, or break on a name with spaces or dashes."""
    matrix = CostMatrix(rng().uniform(1, 9, (3, 12, 2)), ["-a b", "it's", "c"], [f"i{i}" for i in range(12)], 0, 10)
    source = report.Source(
        "my runs.csv", "table", ("--low=0", "--high=10"), (), ("--chosen=from-list",), ("--default=-a b",)
    )
    found = made(matrix, incumbent="it's", default="-a b", chosen="from-list", source=source)
    lines = re.findall(r"<code>(.*?)</code>", report.render(found).decode())
    assert lines[0] == "truecost import &#x27;my runs.csv&#x27; --low=0 --high=10 -o runs.parquet"
    assert lines[2].endswith("--chosen=from-list &#x27;--default=-a b&#x27;")
    assert "truecost plan runs.parquet" in lines[1]


# ---- the command -------------------------------------------------------------------------------------------------------


def test_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command would not write the page, or not say where it is."""
    monkeypatch.chdir(tmp_path)
    ended = run("report", "lkh", "--splits", 20)
    assert ended.returncode == 0
    assert "lkh-report.html has the whole report" in ended.stdout
    page = (tmp_path / "lkh-report.html").read_bytes()
    reader = Reader(page)
    assert "PAR10 s" in reader.texts
    again = run("report", "lkh", "--splits", 20, "-o", "again.html", "--json")
    numbers = json.loads(again.stdout)
    assert (tmp_path / "again.html").read_bytes() == page
    assert numbers["audit"]["comparison"]["default"] == load_example("lkh").configurations[0]
    assert len(numbers["table"]) == 50
    assert math.isfinite(numbers["plan"]["runs"])


def test_commands_of_the_page_run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that the page offers to copy would be refused."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(drawn(4, 10, 2).to_table()).write_csv("runs.csv")
    for words in (("kissat",), ("runs.csv", "--low", 0, "--high", 100, "--default", "default", "--chosen", "from-list")):
        assert run("report", *words, "-o", "page.html", "--splits", 10).returncode == 0
        lines = re.findall(r"<code>(.*?)</code>", (tmp_path / "page.html").read_text())
        assert len(lines) >= 3
        for line in lines:
            ended = run(*shlex.split(line)[1:])
            assert ended.returncode in (0, 1), (line, ended.stderr)


def test_command_on_a_search(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command would lose who searched, or the test runs that alone may judge what was found."""
    monkeypatch.chdir(tmp_path)
    matrix = drawn(5, 16, 2)
    names = matrix.configurations
    search = Trajectory(tool="a search", proposed="adaptively", default=names[0], incumbent=names[3])
    matrix.save("runs.npz", trajectory=search)
    fresh = CostMatrix(drawn(5, 12, 2).costs, names, [f"fresh-{i}" for i in range(12)], matrix.low, matrix.high)
    fresh.save("fresh.npz")
    ended = run("report", "runs.npz", "--test", "fresh.npz", "--unit", "s", "--title", "A search", "--splits", 10)
    assert ended.returncode == 0
    page = (tmp_path / "runs-report.html").read_text()
    assert "<title>A search</title>" in page
    assert "certify none of them" in page
    assert "truecost audit runs.npz --test=fresh.npz --splits=10" in page
    numbers = json.loads(run("report", "runs.npz", "--test", "fresh.npz", "--splits", 10, "--json").stdout)
    audited = json.loads(run("audit", "runs.npz", "--test", "fresh.npz", "--splits", 10, "--json").stdout)
    assert numbers["audit"] == audited
    assert audited["incumbent"] == names[3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("missing.npz",), "missing.npz"),
        (("kissat", "--default", "nobody"), "expected the name of a configuration as default"),
        (("kissat", "--incumbent", "nobody"), "nobody"),
        (("kissat", "--delta", 2), "Expected delta between 0 and 1"),
        (("kissat", "--chosen", "progressive"), "progressive"),
        (("kissat", "-o", "."), "expected the name of a file to write"),
        (("kissat", "-o", "nowhere/page.html"), "nowhere"),
        (("kissat", "--test", "lkh"), "Expected the name of a configuration"),
    ],
)
def test_bad_input_is_one_line(run: Run, words: tuple[Any, ...], said: str, tmp_path: Path, monkeypatch: Any) -> None:
    """Wrong input would end in a traceback, or in a page."""
    monkeypatch.chdir(tmp_path)
    ended = run("report", *words, *([] if "-o" in words else ["-o", "page.html"]), "--splits", 5)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
    assert not list(tmp_path.rglob("*.html*"))
