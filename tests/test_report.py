import json
import math
import re
import shlex
from functools import cache
from html import unescape
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zlib import crc32

import altair as alt
import numpy as np
import polars as pl
import pytest
from commands import Run
from polars.testing import assert_frame_equal
from test_figures import shares_data, split_data
from test_figures_more import paired_data, width_data

from truecost import assess, figures, report, runtime_model
from truecost.errors import InputError
from truecost.examples import load_example
from truecost.judge.assessment import AUDITED
from truecost.judge.optimism import OverTuning, Point
from truecost.judge.question import Stream
from truecost.matrix import CostMatrix
from truecost.plan import sizes as plan
from truecost.runs import Status, Step, Trajectory
from truecost.show import saving
from truecost.show.blocks import Document, Facts
from truecost.show.glossary import TERMS
from truecost.show.html import COLOURS, in_page
from truecost.show.html import page as html_page
from truecost.stats import bounds
from truecost.stats.allocation import even
from truecost.stats.variance import variance_components

HOSTILE = "<img src=x onerror=alert(1)>"
SPLITS = 40


def page_spec(chart: Any) -> dict[str, Any]:
    """The specification of a chart as the page draws it."""
    return in_page(saving.specification(chart, validate=False))


def rng(seed: int = 1) -> np.random.Generator:
    """Of tests."""
    return np.random.default_rng(seed)


@cache
def drawn(configurations: int = 12, instances: int = 16, runs: int = 3, **model: Any) -> CostMatrix:
    """Runs of a model."""
    return runtime_model(configurations=configurations, rng=rng(2), **model).draw(
        instances=instances, runs=runs, rng=rng(3)
    )


def made(matrix: CostMatrix, **asked: Any) -> Document:
    """A report with few splits."""
    return report(matrix, **{"name": "runs.npz", "splits": SPLITS, **asked})


def rendered(found: Document) -> bytes:
    """The page as it is written."""
    return html_page(found).encode()


def facts(found: Document) -> dict[str, Any]:
    """Every number by its term, those beside the verdict last."""
    blocks = [block for block in found.blocks if isinstance(block, Facts)]
    return {
        fact.term: fact.value for block in [*blocks, Facts(facts=found.key)] for fact in block.facts
    }


class Reader(HTMLParser):
    """The page as a browser would see it: tags with their attributes, texts, and what was not
    closed.
    """

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page.decode())
        assert self._open == [], self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] not in ("script", "style"):
            self.texts.append(data)


def test_the_page_says_what_the_assessment_knows() -> None:
    """The page would show another number than the assessment it was made from."""
    matrix = drawn()
    asked: dict[str, Any] = {
        "default": "default",
        "chosen": "from-list",
        "delta": 0.1,
        "rng": 5,
        "splits": SPLITS,
    }
    expected = assess(matrix, **asked)
    found = made(matrix, **asked)
    seen = facts(found)
    assert expected.certificate is not None
    assert expected.comparison is not None
    assert seen["training-cost"] == expected.costs.training[expected.place]
    assert seen["true-cost"] == expected.optimism.true_cost
    assert seen["interval"] == expected.certificate.upper
    assert seen["difference"] == expected.comparison.observed
    assert seen["bottleneck"] == expected.noise.bottleneck
    assert seen["optimism"] == expected.optimism.gap
    assert repr(found.data) == repr(
        expected.to_dict("configurations", *AUDITED, "bounds", "outlook")
    )
    assert found.verdict in str(expected)


def test_bounds_and_plan_are_those_of_their_modules() -> None:
    """A bound or a plan on the page would not be what `truecost bound` and `truecost plan` compute."""
    matrix = drawn()
    found = made(matrix)
    own = matrix.configurations.index(found.data["incumbent"]["configuration"])
    components, allocation = variance_components(matrix), even(48, 16)
    stated: dict[str, Any] = {"allocation": allocation, "width": matrix.width, "delta": 0.05}
    single = bounds.single(components=components[own], **stated).epsilon
    every = np.asarray(
        bounds.finite(components=components, tau="per-configuration", **stated).epsilon
    )
    lemma, one_of_all, worst = found.tables["bounds"].rows
    assert lemma[1].value == pytest.approx(single)
    assert one_of_all[1].value == pytest.approx(every[own])
    assert worst[1].value == pytest.approx(every.max())
    assert found.data["bounds"]["mean_of_runs"] == pytest.approx(matrix.costs[own].mean())
    assert "Plug-in, not guaranteed" in found.text
    error = found.data["noise"]["standard_error"]
    needed = plan.runs_needed(error=error / 2, components=components[own])
    assert (facts(found)["plan-instances"], facts(found)["plan-runs"]) == (
        needed.instances,
        needed.runs,
    )


def test_the_bottleneck_is_that_of_the_training_cost() -> None:
    """The bottleneck would be that of a single run, though many runs on an instance average its
    seeds out.
    """
    costs = rng().normal(50, 5, (1, 400, 1)) + rng(4).normal(0, 9, (3, 400, 9))
    matrix = CostMatrix(
        np.clip(costs, 0, 100), ["a", "b", "c"], [f"i{i}" for i in range(400)], 0, 100
    )
    (fact,) = (fact for fact in made(matrix).key if fact.term == "bottleneck")
    # across 25 against within 81/9 = 9 of an instance mean, though a single run varies by 81.
    assert fact.value == "instances"


def test_the_table_has_every_configuration_in_order() -> None:
    """A row of the table would show another configuration's numbers, or the order would not be that
    of training costs.
    """
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
        assert row[7].value == pytest.approx(
            (np.asarray(matrix.statuses)[place] != Status.SOLVED).mean()
        )
        assert ("default" in row[1].tags) == (place == 3)
    assert "incumbent" in rows[0][1].tags


def test_configurations_that_cannot_be_compared_have_no_rank() -> None:
    """A configuration that was run on one easy instance would be ranked first."""
    costs = np.sort(rng().uniform(1, 9, (5, 12, 2)), axis=1)
    costs[3, 1:] = np.nan
    matrix = CostMatrix(costs, list("abcde"), [f"i{i}" for i in range(12)], 0, 10)
    rows = made(matrix).tables["configurations"].rows
    assert [row[1].value for row in rows][-1] == "d"
    assert [row[0].text for row in rows] == ["1", "2", "3", "4", "–"]
    assert [row[2].value for row in rows] == [12, 12, 12, 12, 1]
    assert float(rows[-1][3].value) > float(np.nanmean(costs[3]))


def test_ranks_by_adjusted_costs_are_said_to_be_so() -> None:
    """The verdict would call lowest a cost that the table beside it shows to be larger than
    another.
    """
    hard = np.linspace(1, 8, 12)[:, np.newaxis]
    costs = np.stack([hard + add + rng(4).uniform(0, 0.2, (12, 2)) for add in (0.5, 1, 1.5)])
    costs[1, 8:] = np.nan
    found = made(CostMatrix(costs, list("abc"), [f"i{i}" for i in range(12)], 0, 10))
    first, second, _ = found.tables["configurations"].rows
    assert (first[1].value, second[1].value) == ("a", "b")
    assert float(first[3].value) < float(second[3].value)
    assert float(second[3].value) > float(np.nanmean(costs[1]))
    adjusted = ", after adjusting for instance difficulty"
    choice = f"It has the lowest training cost of 3 configurations{adjusted}."
    assert (
        found.more == f"{choice} The second, configuration b, costs {float(second[3].value):.3g}."
    )
    assert "training costs are adjusted for instance difficulty" in found.text
    costs[1] = np.nan
    whole = made(CostMatrix(costs, list("abc"), [f"i{i}" for i in range(12)], 0, 10))
    assert whole.more.startswith("It has the lowest training cost of 2 configurations. The second")
    assert "adjusted for instance difficulty, as if" not in whole.text


def test_charts_show_the_numbers_of_their_figures() -> None:
    """A chart of the page would be drawn from other numbers than the figure of that name computes."""
    matrix = drawn(5, 10, 2)
    found = made(matrix, default=matrix.configurations[0], chosen="from-list", rng=7)
    incumbent = found.data["incumbent"]["configuration"]
    sizes, split = ([7, crc32(s.value.encode())] for s in (Stream.SIZES, Stream.ONE_SPLIT))
    width = width_data(matrix, incumbent, sizes, 0.05 * (1 / 5))
    assert found.figures["certificate-width"].data.equals(width)
    assert found.figures["split"].data.equals(split_data(matrix, split))
    assert found.figures["matrix"].data.cells.equals(figures.matrix_data(matrix).cells)
    assert_frame_equal(found.figures["variance-shares"].data, shares_data(matrix))
    values = [
        value
        for block in page_spec(found.figures["certificate-width"].chart)["datasets"].values()
        for value in block
    ]
    upper = {(value["instances"], value["method"]): value["upper"] for value in values}
    assert upper == {
        (k, method): u for k, method, u in width.select("instances", "method", "upper").iter_rows()
    }


def test_limits_against_k_are_valid_for_the_incumbent() -> None:
    """The curve of certificates would be one for a configuration chosen before, which what was
    chosen by cost is not.
    """
    matrix, names = drawn(6, 20, 2), drawn(6, 20, 2).configurations

    def ends(found: Document) -> tuple[Any, ...]:
        (last,) = (
            found.figures["certificate-width"]
            .data.filter(method="star-bets")
            .tail(1)
            .iter_rows(named=True)
        )
        return last["instances"], last["estimate"]

    listed = made(matrix, chosen="from-list", list_size=9)
    assert ends(listed)[0] == 20
    hoeffding = listed.figures["certificate-width"].data.filter(method="hoeffding", instances=20)
    by_hand = matrix.width * math.sqrt(math.log(9 / 0.05) / 40)
    assert hoeffding["width"].to_list() == [
        pytest.approx(min(by_hand, matrix.high - hoeffding["estimate"][0]))
    ]
    parted = made(matrix)
    assert ends(parted) == (16, pytest.approx(parted.data["certificate"]["observed"]))
    # Of the test instances only those that are fresh.
    fresh = [*matrix.instances[:4], *(f"fresh-{i}" for i in range(16))]
    test = CostMatrix(drawn(6, 20, 2).costs[:, ::-1], names, fresh, matrix.low, matrix.high)
    search = Trajectory(tool="a search", proposed="adaptively", incumbent=names[4])
    tested = made(matrix, test=test, trajectory=search)
    assert ends(tested) == (16, pytest.approx(test.costs[4, 4:].mean()))
    assert "certificate-width" not in made(matrix, trajectory=search).figures
    raced = made(
        matrix,
        trajectory=Trajectory(tool="a race", proposed="beforehand", raced=True, incumbent=names[4]),
    )
    assert "certificate-width" not in raced.figures


def paired(gain: float, noise: float, instances: int) -> CostMatrix:
    """Two configurations, of which the second is better by `gain` on average."""
    hard, apart = rng(5).uniform(4, 6, instances), rng(6).normal(0, noise, instances)
    costs = np.stack([hard, hard - gain + apart - apart.mean()])[:, :, np.newaxis]
    return CostMatrix(costs, ["default", "tuned"], [f"i{i}" for i in range(instances)], 0, 10)


def test_how_many_instances_would_show_it_is_said_by_the_limits_of_the_verdict() -> None:
    """The page would promise that a number of instances turns its verdict, by a test that is not
    the verdict's.
    """
    matrix = paired(0.5, 1.5, 30)
    found = made(matrix, default="default", configuration="tuned", chosen="before")
    seen, limits = (
        {each["show"]: each for each in found.data["outlook"]["reach"]}["mean"],
        found.data["comparison"],
    )
    assert limits["lower"] < 0 < limits["upper"]
    assert found.data["outlook"]["tell_apart"]["instances"] < seen["instances"]
    assert facts(found)["shown-on"] in [
        each["instances"] for each in found.data["outlook"]["reach"]
    ]
    assert (
        f"{seen['instances']} new instances" in found.text
        or f"about {seen['instances']} instances would probably show" in found.text
    )
    assert "A paired t-test would need about" in found.text

    def shown(instances: int) -> float:
        names, better = [f"i{i}" for i in range(instances)], 0
        for seed in range(40):
            drawn = matrix.costs[:, np.random.default_rng(seed).integers(0, 30, instances)]
            test = CostMatrix(
                drawn, matrix.configurations, [f"new {name}" for name in names], 0, 10
            )
            better += assess(matrix, default="default", configuration="tuned", test=test).better
        return better / 40

    assert shown(seen["instances"]) > 0.6
    assert shown(seen["instances"] // 3) < 0.6


def test_a_difference_that_cannot_be_shown_is_said_to_be_out_of_reach() -> None:
    """Who has a tiny difference would be sent off to run instances that do not show it; who has
    shown one, too.
    """
    small = made(
        paired(0.005, 1, 12),
        default="default",
        configuration="tuned",
        chosen="before",
        primary="mean",
    )
    (mean,) = (each for each in small.data["outlook"]["reach"] if each["show"] == "mean")
    assert (mean["instances"], mean["pilot"]) == (None, 12)
    assert "20,000 new instances would probably not show a lower mean cost" in small.text
    for asked in (
        {"configuration": "tuned", "default": "default"},
        {"configuration": "default", "default": "tuned"},
    ):
        assert made(paired(3, 0.1, 60), chosen="before", **asked).data["outlook"]["reach"] == []


@pytest.mark.parametrize(("instances", "runs"), [(16, 3), (57, 2), (19, 2), (40, 4)])
def test_the_plan_to_copy_is_the_plan_of_the_page(
    run: Run, tmp_path: Path, instances: int, runs: int
) -> None:
    """The command to copy would round the error, and answer an instance more or less than the page
    says.
    """
    path = tmp_path / "runs.npz"
    drawn(4, instances, runs).save(path)
    found = json.loads(
        run("report", path, "-o", tmp_path / "page.html", "--splits", 5, "--json").stdout
    )
    (line,) = re.findall(r"<code>(truecost plan.*?)</code>", (tmp_path / "page.html").read_text())
    answer = json.loads(run(*shlex.split(line)[1:], "--json").stdout)["plan"]["recommendation"]
    expected = found["outlook"]["plan"]
    assert (answer["instances"], answer["runs"]) == (expected["instances"], expected["runs"])


def test_the_shaded_interval_is_the_valid_one() -> None:
    """Two configurations of which one was chosen by these very costs would get the interval of two
    fixed beforehand.
    """
    matrix = drawn(8, 30, 2)
    found = made(matrix, default=matrix.configurations[0], chosen="from-list")
    data, comparison = found.figures["paired"].data, found.data["comparison"]
    assert data["lower"][0] == comparison["lower"]
    assert data["upper"][0] == comparison["upper"]
    naive = paired_data(matrix, found.data["incumbent"]["configuration"], matrix.configurations[0])
    assert naive["upper"][0] < data["upper"][0]
    adaptive = Trajectory(tool="a search", proposed="adaptively", default=matrix.configurations[0])
    refused = made(matrix, trajectory=adaptive)
    drawn_data = refused.figures["paired"].data
    assert drawn_data["lower"].null_count() == drawn_data.height
    spec = json.dumps(page_spec(refused.figures["paired"].chart))
    assert "confidence" not in spec
    assert "No guaranteed limits" in " ".join(refused.figures["paired"].notes)


def test_specifications_validate_in_the_colours_of_the_page() -> None:
    """A chart would leave the grammar when its colours become those of the page."""
    matrix = load_example("kissat")
    found = made(
        matrix,
        default=matrix.configurations[0],
        trajectory=Trajectory(tool="x", proposed="beforehand"),
    )
    assert set(found.figures) == {
        "matrix", "variance-shares", "certificate-width", "glance", "split", "paired", "plan",
        "selection-error", "scatter", "ecdf", "cactus", "performance-profile", "boxes", "ranking",
    }  # fmt: skip
    for figure in found.figures.values():
        spec = page_spec(figure.chart)
        # The data are no part of the grammar, and take the longest.
        alt.Root.validate({key: part for key, part in spec.items() if key != "datasets"})
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
    return own + [
        found
        for name, item in spec.items()
        if name not in ("data", "datasets")
        for found in parts(item, key)
    ]


def test_tooltips_show_neither_nothing_nor_rounding() -> None:
    """The pointer would find "null" where there is no number, and 2e-16 where two numbers are the
    same.
    """
    matrix = drawn(6, 12, 2)
    found = made(matrix, default=matrix.configurations[0], chosen="from-list")
    layers = [
        layer
        for layers in parts(page_spec(found.figures["selection-error"].chart), "layer")
        for layer in layers
    ]
    shown = [
        layer
        for layer in layers
        if "standard_error" in {t["field"] for t in layer["encoding"].get("tooltip", [])}
    ]
    assert len(shown) == 2
    assert all(
        layer["transform"] == [{"filter": "isValid(datum.standard_error)"}] for layer in shown
    )
    same = tuple(Point(None, name, 2.0, 2.0 * (1 + 2e-16)) for name in "ab")
    along = figures.overtuning_along_data(OverTuning(along=same, lost=2e-16, relative=math.nan))
    assert set(along["gap"]) == set(along["over_tuning"]) == {0.0}
    spec = page_spec(figures.overtuning_along_chart(along))
    assert "runs" not in {
        channel["field"] for tooltip in parts(spec, "tooltip") for channel in tooltip
    }
    constant = made(odd("constant"))
    shown_gap = {
        f.text
        for b in constant.blocks
        if isinstance(b, Facts)
        for f in b.facts
        if f.term == "optimism"
    }
    assert shown_gap == {"0"}


def test_ticks_are_whole_and_axes_without_a_unit_say_cost_once() -> None:
    """Two incumbents would stand on an axis marked 1 1 2 2 3, and costs be called cost (cost)."""
    found = made(paired(0.5, 1, 30), default="default", chosen="from-list")
    points = tuple(Point(None, name, cost, cost + 1) for name, cost in (("a", 3.0), ("b", 2.0)))
    along = figures.overtuning_along_data(OverTuning(along=points, lost=0.0, relative=0.0))
    spec = page_spec(figures.overtuning_along_chart(along))
    assert {tuple(axis["values"]) for axis in parts(parts(spec, "x"), "axis")} == {(1, 2)}
    thirty = parts(parts(page_spec(found.figures["paired"].chart), "x"), "axis")
    assert {tuple(axis["values"]) for axis in thirty} == {(5, 10, 15, 20, 25, 30)}
    titles = [
        title
        for figure in found.figures.values()
        for title in parts(page_spec(figure.chart), "title")
    ]
    assert "cost" in parts(spec, "title")
    assert not [title for title in titles if "(cost" in str(title)]
    assert "cost (s)" in parts(page_spec(figures.overtuning_along_chart(along, unit="s")), "title")


def test_names_of_colours_stay_names() -> None:
    """A configuration called #000000 would be called var(--ink) in the charts."""
    matrix = CostMatrix(
        rng().uniform(1, 9, (3, 8, 2)),
        ["#000000", "#0072B2", "white"],
        [f"i{i}" for i in range(8)],
        0,
        10,
    )
    spec = page_spec(made(matrix).figures["variance-shares"].chart)
    named = {
        row["configuration"]
        for rows in spec["datasets"].values()
        for row in rows
        if "configuration" in row
    }
    assert named == {"#000000", "#0072B2", "white"}


def test_every_number_is_explained() -> None:
    """A number or a column of numbers would have no explanation behind it."""
    matrix = drawn()
    found = made(matrix, default=matrix.configurations[0])
    terms = [
        fact.term for block in found.blocks if isinstance(block, Facts) for fact in block.facts
    ]
    terms += [
        column.term
        for table in found.tables.values()
        for column in table.columns
        if column.numbers and column.term
    ]
    terms += [fact.term for fact in found.key]
    assert set(terms) <= set(TERMS)
    reader = Reader(rendered(found))
    asked = {
        attrs["popovertarget"]
        for tag, attrs in reader.tags
        if tag == "button" and "popovertarget" in attrs
    }
    answers = {attrs["id"] for tag, attrs in reader.tags if "popover" in attrs}
    assert {f"why-{term}" for term in terms} <= asked <= answers


def test_the_same_runs_give_the_same_bytes() -> None:
    """Two pages of the same runs would differ, so that nobody could check one."""
    matrix = drawn(4, 8, 2)
    page = rendered(made(matrix))
    assert rendered(made(matrix)) == page
    assert rendered(made(matrix, rng=2)) != page


def test_names_never_become_markup() -> None:
    """A name in a file would become part of the page, and run there."""
    names = [HOSTILE, "</script><script>alert(1)</script>", "{{7*7}}", "\"'&lt;", "a\u2028b\x1b[2J"]
    matrix = CostMatrix(
        rng().uniform(1, 9, (5, 8, 2)), names, [f"{HOSTILE}{i}" for i in range(8)], 0, 10
    )
    found = made(
        matrix, name=HOSTILE, title=HOSTILE, unit=HOSTILE, default=names[1], chosen="from-list"
    )
    page = rendered(found)
    clean = Reader(rendered(made(drawn(5, 8, 2), default="default", chosen="from-list")))
    reader = Reader(page)
    assert "img" not in {tag for tag, _ in reader.tags}
    assert (
        sum(tag == "script" for tag, _ in reader.tags)
        == sum(tag == "script" for tag, _ in clean.tags)
        == 4
    )
    assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
    assert HOSTILE in reader.texts
    assert "a\\u2028b\\x1b[2J" in reader.texts
    assert page.count(b"<script") == 4
    assert b"\x1b" not in page


def test_nothing_is_loaded_and_only_our_scripts_run() -> None:
    """The page would fetch something, or run a script that is not its own."""
    page = rendered(made(drawn(4, 8, 2))).decode()
    reader = Reader(page.encode())
    assert not any(
        name in attrs for _, attrs in reader.tags for name in ("src", "srcset", "action", "style")
    )
    assert {str(attrs["href"])[0] for _, attrs in reader.tags if "href" in attrs} == {"#"}
    policy = next(attrs["content"] for _, attrs in reader.tags if "http-equiv" in attrs)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert re.search(r"script-src ('sha256-[A-Za-z0-9+/=]+' ?){2};", policy)


def test_the_scripts_are_kept_where_python_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page would put the JavaScript together anew, which takes seconds, or take one of
    another version.
    """
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
    assert len(rendered(found)) < 5_000_000
    assert len(found.tables["configurations"].rows) == 500


# ---- odd matrices --------------------------------------------------------------------------------


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
    "one run": "cannot be separated",
    "deterministic": "the target is deterministic",
    "constant": "cost the same",
    "all timeouts": "have the highest possible cost",
    "one configuration": "with one configuration nothing is chosen",
    "one instance": "on this instance, with new seeds",
    "two instances": "that takes 8 instances",
    "one run in all": "One instance says nothing about others",
    "one configuration without runs": "no run on some instances",
    "half of the runs missing": "no run on some instances",
    "no common instances": "have no instance in common",
    "zero costs": "cost the same",
}


@pytest.mark.parametrize(
    ("kind", "default"),
    [*((kind, "c0") for kind in ODD), ("constant", None), ("one configuration", None)],
)
def test_odd_matrices(kind: str, default: str | None) -> None:
    """A matrix that something cannot be computed from would have no page, or one that does not say
    what is left out.
    """
    matrix = odd(kind)
    incumbent = "c1" if kind == "no common instances" else None
    found = made(matrix, default=default, configuration=incumbent)
    Reader(rendered(found))
    assert ODD[kind] in found.text
    words = " ".join(
        [
            found.subtitle,
            found.text,
            *(note for figure in found.figures.values() for note in figure.notes),
        ]
    )
    assert not re.findall(r"(?<![\d,.])1 (?:\w+ )?(?:configurations|instances|runs|halves)", words)
    for fact in (
        fact for block in found.blocks if isinstance(block, Facts) for fact in block.facts
    ):
        assert fact.text
        assert "nan" not in fact.text
    assert found.verdict.endswith(".")


def test_a_search_with_test_runs() -> None:
    """The page of a search would not speak of its test runs, or not show the incumbents on the way."""
    matrix, names = drawn(6, 20, 2), drawn(6, 20, 2).configurations
    fresh = runtime_model(configurations=6, rng=rng(2)).draw(instances=25, runs=2, rng=rng(8))
    test = CostMatrix(fresh.costs, names, [f"fresh-{i}" for i in range(25)], fresh.low, fresh.high)
    steps = (Step(10, (names[0],)), Step(40, (names[2],)), Step(90, (names[4],)))
    search = Trajectory(
        tool="a search 1.0",
        proposed="adaptively",
        raced=True,
        default=names[0],
        incumbent=names[4],
        steps=steps,
    )
    found = made(matrix, test=test, trajectory=search)
    assert facts(found)["true-cost"] == pytest.approx(test.costs[4].mean())
    assert found.figures["along"].data["configuration"].to_list() == [names[0], names[2], names[4]]
    assert found.figures["paired"].data["instances"][0] == 25
    assert "Recorded by a search 1.0, which tuned on these instances" in found.text
    assert "On new instances it costs" in found.more
    assert "on 25 test instances" in " ".join(fact.note for fact in found.key)
    alone = made(matrix, trajectory=search)
    assert "No guarantee for the mean cost" in alone.text
    assert "Expect a higher cost on new instances" in alone.more
    assert not [fact for fact in alone.key if fact.term == "true-cost"]


def test_no_runs_at_all_are_refused() -> None:
    """A matrix without any run would end in a traceback."""
    with pytest.raises(InputError, match="Expected at least one run"):
        made(CostMatrix(np.full((2, 3, 1), np.nan), ["a", "b"], ["x", "y", "z"], 0, 1))


def test_commands_carry_what_was_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command to copy would forget the options, or break on a name with spaces or dashes."""
    monkeypatch.chdir(tmp_path)
    matrix = CostMatrix(
        rng().uniform(1, 9, (3, 12, 2)), ["-a b", "it's", "c"], [f"i{i}" for i in range(12)], 0, 10
    )
    matrix.save("my runs.csv")
    asked = ["--low=0", "--high=10", "--default=-a b", "--chosen=from-list", "--configuration=it's"]
    assert run("report", "my runs.csv", *asked, "-o", "page.html", "--splits", 5).returncode == 0
    lines = [
        unescape(line)
        for line in re.findall(r"<code>(truecost.*?)</code>", Path("page.html").read_text())
    ]
    words = {shlex.split(line)[1]: shlex.split(line)[2:] for line in lines}
    assert {
        "--low=0",
        "--high=10",
        "--default=-a b",
        "--chosen=from-list",
        "--configuration=it's",
    } <= set(words["audit"])
    assert "--configuration=it's" in words["plan"]
    assert all(each[0] == "my runs.csv" for each in words.values())


# ---- the command ---------------------------------------------------------------------------------


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
    assert numbers["comparison"]["default"] == load_example("lkh").configurations[0]
    assert len(numbers["configurations"]) == 50
    assert math.isfinite(numbers["outlook"]["plan"]["runs"])


def test_commands_of_the_page_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that the page offers to copy would be refused."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(drawn(4, 10, 2).to_table()).write_csv("runs.csv")
    for words in (
        ("kissat",),
        ("runs.csv", "--low", 0, "--high", 100, "--default", "default", "--chosen", "from-list"),
    ):
        assert run("report", *words, "-o", "page.html", "--splits", 10).returncode == 0
        lines = re.findall(r"<code>(truecost.*?)</code>", (tmp_path / "page.html").read_text())
        assert len(lines) >= 3
        for line in lines:
            ended = run(*shlex.split(line)[1:])
            assert ended.returncode in (0, 1), (line, ended.stderr)


def test_command_on_a_search(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command would lose who searched, or the test runs that alone may judge what was found."""
    monkeypatch.chdir(tmp_path)
    matrix = drawn(5, 16, 2)
    names = matrix.configurations
    search = Trajectory(
        tool="a search", proposed="adaptively", default=names[0], incumbent=names[3]
    )
    matrix.save("runs.npz", trajectory=search)
    fresh = CostMatrix(
        drawn(5, 12, 2).costs, names, [f"fresh-{i}" for i in range(12)], matrix.low, matrix.high
    )
    fresh.save("fresh.npz")
    ended = run(
        "report",
        "runs.npz",
        "--test",
        "fresh.npz",
        "--unit",
        "s",
        "--title",
        "A search",
        "--splits",
        10,
    )
    assert ended.returncode == 0
    page = (tmp_path / "runs-report.html").read_text()
    assert "<title>A search</title>" in page
    assert "which tuned on these instances" in page
    assert "truecost audit runs.npz --test=fresh.npz" in page
    numbers = json.loads(
        run("report", "runs.npz", "--test", "fresh.npz", "--splits", 10, "--json").stdout
    )
    audited = json.loads(
        run("audit", "runs.npz", "--test", "fresh.npz", "--splits", 10, "--json").stdout
    )
    assert {key: numbers[key] for key in audited} == audited
    assert audited["incumbent"]["configuration"] == names[3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("missing.npz",), "missing.npz"),
        (("kissat", "--default", "nobody"), "nobody"),
        (("kissat", "--configuration", "nobody"), "nobody"),
        (("kissat", "--delta", 2), "Expected --delta between 0 and 1"),
        (("kissat", "--chosen", "progressive"), "progressive"),
        (("kissat", "-o", "."), "expected the name of a file to write"),
        (("kissat", "-o", "nowhere/page.html"), "nowhere"),
        (("kissat", "--test", "lkh"), "Expected the name of a configuration"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, words: tuple[Any, ...], said: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Wrong input would end in a traceback, or in a page."""
    monkeypatch.chdir(tmp_path)
    ended = run("report", *words, *([] if "-o" in words else ["-o", "page.html"]), "--splits", 5)
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert said in ended.stderr
    assert not list(tmp_path.rglob("*.html*"))
