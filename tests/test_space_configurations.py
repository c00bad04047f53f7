"""Configurations: drawn, named, printed as arguments, read from lists."""

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from space_texts import IRACE, JSON, OLD_PCS, TEXTS

from truecost.errors import InputError
from truecost.space.arguments import arguments
from truecost.space.configuration_files import read_configurations
from truecost.space.space import Configuration, Space

LISTED = (
    'alpha "--alpha " i (1, 9)\nmode "--mode " c (a, b)\nbeta "--beta " r (0, 1) | mode == "b"\n'
)


def made(**values: Any) -> Configuration:
    """A configuration with these values."""
    return Configuration.of(values)


@pytest.mark.parametrize("kind", TEXTS)
def test_a_longer_list_begins_with_the_shorter(kind: str) -> None:
    """Configuration i would depend on how many are asked for, or on earlier draws."""
    space = Space.parse(TEXTS[kind])
    longer = space.configurations(300, seed=3)
    assert Space.parse(TEXTS[kind]).configurations(7, seed=3) == longer[:7]
    assert space.configurations(300, seed=3) == longer
    assert space.configurations(60, seed=4)[1:] != longer[1:60]
    assert longer[0] == space.default()
    assert len({configuration.name for configuration in longer}) == 300
    assert all(map(space.allows, longer))


def test_scales() -> None:
    """Numbers on a log scale would not be drawn log-uniformly, others not uniformly, or ends too
    rarely.
    """
    text = "a [0.001,1][1]l\nb [1,1000][1]il\nc [0,1][0]\nd [1,4][1]i\ne {u,v,w}[u]\n"
    rows = [one.values for one in Space.parse(text).configurations(4000, seed=1)[1:]]
    logs = np.log10([float(str(row["a"])) for row in rows])
    assert stats.kstest((logs + 3) / 3, "uniform").pvalue > 1e-3
    assert stats.kstest([float(str(row["c"])) for row in rows], "uniform").pvalue > 1e-3
    for name, values in (("d", (1, 2, 3, 4)), ("e", ("u", "v", "w"))):
        counts = [sum(row[name] == value for row in rows) for value in values]
        assert stats.chisquare(counts).pvalue > 1e-3
    chance = math.log(1.5 / 0.5) / math.log(1000.5 / 0.5)
    assert stats.binomtest(sum(row["b"] == 1 for row in rows), len(rows), chance).pvalue > 1e-3
    assert all(isinstance(row["b"], int) and 1 <= row["b"] <= 1000 for row in rows)


def test_weights_and_distributions_of_json() -> None:
    """Weights, constants, ordinals or distributions other than uniform would be lost."""
    rows = [one.values for one in Space.parse(JSON).configurations(1000, seed=1)]
    counts = Counter(row["k"] for row in rows)
    assert set(counts) == {"a", 2, True}
    assert stats.binomtest(counts[True], 1000, 0.5).pvalue > 1e-3
    assert Counter(row["o"] for row in rows)["hi"] > 300
    assert all(row["c"] == 7 and isinstance(row["b"], int) for row in rows)
    normal = [float(str(row["g"])) for row in rows]
    assert abs(np.mean(normal) - 0.5) < 0.03
    assert np.std(normal) < 0.25


def test_names_are_of_values_only() -> None:
    """A name would change with the order of parameters, or be given to other values."""
    assert made(a=1, b="x").name == made(b="x", a=1).name
    assert len({made(a=value).name for value in (1, "1", 1.5)}) == 3


def test_values_from_a_log() -> None:
    """Values that a log has as text would be refused, or inactive ones kept; illegal ones taken."""
    space = Space.parse(OLD_PCS)
    values = {"algo": "tabu", "tenure": "10.0", "depth": "3", "@1:F:scale": "0.01", "flag": "no"}
    assert space.configuration(values | {"noise": 0.25}).values == {
        "algo": "tabu", "tenure": 10, "noise": 0.25, "@1:F:scale": 0.01, "depth": 3, "flag": "no",
    }  # fmt: skip
    without = dict(space.configuration(values | {"algo": "greedy"}).values)
    assert without == {"algo": "greedy", "@1:F:scale": 0.01, "flag": "no"}
    constants = {"z": 0.5, "o": "lo", "c": 7, "g": 0.5, "b": 3, "h": "u"}
    assert Space.parse(JSON).configuration({"k": None, **constants}).values["k"] is None
    for wrong in ({"tenure": 0}, {"algo": "other"}, {"tenure": 1.5}, {"more": 1}, {"flag": None}):
        with pytest.raises(InputError):
            space.configuration(values | {"noise": 0.25} | wrong)


def test_small_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A space with too few configurations would be drawn from for ever, or its last configuration
    not be found.
    """
    monkeypatch.setattr("truecost.space.space.ATTEMPTS", 1000)
    space = Space.parse("a {x,y}[x]\nb {u,v,w}[u]\nb | a in {y}\nc [1,2][1]i\n")
    assert len(space.configurations(8, seed=0)) == 8
    for number in (9, 0):
        with pytest.raises(InputError):
            space.configurations(number, seed=0)


def test_sizes_of_spaces() -> None:
    """A space would be taken for smaller than it is, or be too large to be counted."""
    assert Space.parse("a {x,y,z} [x]\nb [1,10] [5]i\nc [1,100] [10]il\nd {q} [q]\n").size() == 3000
    assert Space.parse("a {x,y,z} [x]\nb [0,1] [0.5]\n").size() == math.inf
    many = "".join(f"p{number} [1,2000000000] [5]i\n" for number in range(40))
    assert Space.parse(many).size() == math.inf


def test_styles() -> None:
    """An argument would be glued, split or ordered otherwise than its style says."""
    configuration = made(b=1, a="two words", r=1e-05)
    words = ["b", "1", "a", "two words", "r", "1e-05"]
    for mark, style in (("-", "-name value"), ("--", "--name value")):
        dashed = [mark + word if place % 2 == 0 else word for place, word in enumerate(words)]
        assert arguments(configuration, style) == dashed
    assert arguments(configuration, "--name=value") == ["--b=1", "--a=two words", "--r=1e-05"]
    assert arguments(configuration, "-p {name} :{value}:")[:6] == [
        "-p", "b", ":1:", "-p", "a", ":two words:",
    ]  # fmt: skip
    assert arguments(made(a="{name} $(x)"), "{name}={value}") == ["a={name} $(x)"]
    for style in ("name value", "{name}", "{value} {0}", ""):
        with pytest.raises(InputError):
            arguments(configuration, style)


def test_switches_of_irace() -> None:
    """Switches would not be glued to their values as irace does it."""
    switches = Space.parse(IRACE).switches
    assert switches is not None
    assert arguments(made(algorithm="as", localsearch="0", alpha=0.5, rho=1.0), switches) == [
        "--as", "--localsearch", "0", "-a0.5", "--rho=1",
    ]  # fmt: skip
    assert arguments(made(dlb=""), switches) == []
    assert arguments(made(dlb="--dlb 2"), switches) == ["--dlb", "2"]
    # As R writes numbers: format(value, digits = 15, scientific = FALSE).
    assert arguments(made(alpha=1e-5, rho=0.1 + 0.2), switches) == ["-a0.00001", "--rho=0.3"]
    with pytest.raises(InputError, match="'x'"):
        arguments(made(x=1), switches)
    assert Space.parse(OLD_PCS).switches is None


@given(st.floats(1e-9, 1e9), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_reals_read_back(low: float, seed: int) -> None:
    """A real would be printed so that another one is read back, or leave its range."""
    space = Space.parse(f"x [{round(low, 9)!r},{round(low, 9) * 3 + 1!r}][{round(low, 9)!r}]l\n")
    for configuration in space.configurations(3, seed=seed):
        (text,) = arguments(configuration, "{value}")
        assert float(text) == configuration.values["x"]
        assert space.configspace["x"].legal_value(configuration.values["x"])


@pytest.mark.parametrize(
    "text",
    [
        "alpha,mode,beta\n3,a,\n4,b,0.25\n",
        '[{"alpha": 3, "mode": "a"}, {"alpha": 4, "mode": "b", "beta": 0.25}]',
        '{"x": {"alpha": 3, "mode": "a"}, "y": {"alpha": 4, "mode": "b", "beta": 0.25}}',
        'alpha mode beta\n3 "a" NA\n4 "b" 0.25\n',
        '.ID. alpha mode beta .PARENT.\n7 3 "a" NA NA\n9 4 "b" 0.25 7\n',
        'alpha mode beta\n"1" 3 "a" NA\n"2" 4 "b" 0.25\n',
        "alpha,mode,beta\n3,a,\n4,b,0.25\n3,a,0.9\n",
    ],
)
def test_files_of_configurations(tmp_path: Path, text: str) -> None:
    """A format that people have their configurations in would be misread, or one be listed twice."""
    (tmp_path / "own").write_text(text)
    listed = read_configurations(tmp_path / "own", Space.parse(LISTED))
    assert [dict(one.values) for one in listed] == [
        {"alpha": 3, "mode": "a"},
        {"alpha": 4, "mode": "b", "beta": 0.25},
    ]


def test_values_that_look_like_gaps(tmp_path: Path) -> None:
    """A value None or NA, as in many spaces of machine learning, would be taken for an inactive
    parameter.
    """
    (tmp_path / "own").write_text("a\nNone\nNA\n")
    listed = read_configurations(tmp_path / "own", Space.parse("a {None,NA,x} [x]\n"))
    assert [one.values["a"] for one in listed] == ["None", "NA"]


@pytest.mark.parametrize(
    "text", ["", "alpha,mode\n99,a\n", "alpha,mode\n3,a\n3\n", "[1]", "{", "alpha,gamma\n3,1\n"]
)
def test_wrong_files_of_configurations(tmp_path: Path, text: str) -> None:
    """A mistake in the file would be found after hours of runs, or never."""
    (tmp_path / "own").write_text(text)
    with pytest.raises(InputError, match="own: "):
        read_configurations(tmp_path / "own", Space.parse(LISTED))
