import json
import math
import random
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import ConfigSpace
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from truecost.errors import InputError
from truecost.space.space import Configuration, Space, arguments, name_of

SHARED = Path("/work/shared/data/spaces")

OLD_PCS = """\
# a solver
algo {greedy, walk ,tabu}[walk]  # three of them
tenure [1,1000][10]il
noise [0.0, 1] [0.5]
@1:F:scale[1e-6,0.1][0.01]l
depth [2,6] [5]i
flag{yes,no}[no]

Conditionals:
tenure | algo in {tabu}
noise | algo in {walk,tabu}
noise | flag in {no}
depth | tenure in {10, 20}
Forbidden:
{algo=greedy, flag=yes}
"""
NEW_PCS = """\
algo categorical {greedy, walk, tabu} [walk]
tenure integer [1, 1000] [10] log
noise real [0, 1] [0.5]
@1:F:scale real [1e-6, 0.1] [0.01] log
size ordinal {small, medium, large} [medium]
depth integer [2, 6] [5]
flag categorical {yes, no} [no]

tenure | algo == tabu
noise | algo != greedy && flag == no || size > medium
depth | tenure > 5 && tenure < 500
{algo=greedy, flag=yes}
{noise > 0.9 && depth >= 6}
"""
IRACE = """\
# name       switch           type  values               [conditions (using R syntax)]
algorithm    "--"             c     (as,mmas,"a,b",acs)
localsearch  "--localsearch " c     (0, 1, 2, 3)  # none, 2-opt, ...
alpha        "-a"             r     (0.00, 5.00)
rho          "--rho="         r,log (0.001, 1.00)
ants         "--ants "        i,log (5, 100)
size         "-s "            o     (small, medium, large)
q0           "--q0 "          r     (0.0, 1.0)           | algorithm == "acs"
nnls         "--nnls "        i     (5, 50)              | localsearch %in% c(1,2,3) & (ants <= 50 | size != "small")
dlb          ""               c     ("", "--dlb", "--dlb 2") | !(localsearch %in% c("0"))

[forbidden]
(alpha == 0.0) & (rho == 1)
algorithm == "mmas" & localsearch != 3
nnls > ants
[global]
digits = 3
"""
JSON = json.dumps(
    {
        "name": None,
        "hyperparameters": [
            {
                "type": "uniform_float",
                "name": "z",
                "lower": 0.001,
                "upper": 1.0,
                "default_value": 0.01,
                "log": True,
                "meta": None,
            },
            {
                "type": "uniform_int",
                "name": "n",
                "lower": 1,
                "upper": 9,
                "default_value": 3,
                "log": False,
                "meta": None,
            },
            {
                "type": "categorical",
                "name": "k",
                "choices": ["a", 2, True, None],
                "weights": [1, 1, 2, 0],
                "default_value": 2,
            },
            {"type": "ordinal", "name": "o", "sequence": ["lo", "hi"], "default_value": "lo"},
            {"type": "constant", "name": "c", "value": 7},
            {
                "type": "normal_float",
                "name": "g",
                "mu": 0.5,
                "sigma": 0.2,
                "lower": 0.0,
                "upper": 1.0,
                "default_value": 0.5,
            },
            {
                "type": "beta_int",
                "name": "b",
                "alpha": 2,
                "beta": 3,
                "lower": 0,
                "upper": 9,
                "default_value": 3,
            },
        ],
        "conditions": [{"type": "EQ", "child": "n", "parent": "k", "value": 2}],
        "forbiddens": [
            {
                "type": "AND",
                "clauses": [
                    {"type": "EQUALS", "name": "n", "value": 5},
                    {"type": "IN", "name": "o", "values": ["hi"]},
                ],
            }
        ],
        "python_module_version": "1.2.2",
        "format_version": 0.4,
    },
    indent=1,
)
TEXTS = {"old": OLD_PCS, "new": NEW_PCS, "irace": IRACE, "json": JSON}


def made(**values: Any) -> Configuration:
    """A configuration with these values."""
    return Configuration(name=name_of(values), values=values)


def active(text: str, number: int = 300) -> list[dict[str, Any]]:
    """The values of that many configurations of a space."""
    return [
        dict(configuration.values)
        for configuration in Space.parse(text).configurations(number, rng=1)
    ]


def test_defaults() -> None:
    """A default would be another than the file says, or list parameters that are not active."""
    assert Space.parse(OLD_PCS).default().values == {
        "algo": "walk",
        "noise": 0.5,
        "@1:F:scale": 0.01,
        "flag": "no",
    }
    assert list(Space.parse(NEW_PCS).default().values) == [
        "algo",
        "noise",
        "@1:F:scale",
        "size",
        "flag",
    ]
    assert Space.parse(JSON).default().values == {
        "z": 0.01,
        "n": 3,
        "k": 2,
        "o": "lo",
        "c": 7,
        "g": 0.5,
        "b": 3,
    }


def test_default_of_irace_is_the_middle() -> None:
    """A table without defaults would have none, or one that its digits cannot say."""
    assert Space.parse(IRACE).default().values == {
        "algorithm": "as", "localsearch": "0", "alpha": 2.5, "rho": 0.032, "ants": 22, "size": "small",
    }  # fmt: skip
    forbidden = 'a "" c (x, y)\nb "" c (u, v) | a == "x"\nr "" r (0, 1)\n[forbidden]\na == "x"\n'
    assert Space.parse(forbidden).default().values["a"] == "y"
    with pytest.raises(
        InputError, match="expected configurations that are not forbidden, got none"
    ):
        Space.parse('a "" c (x, y)\n[forbidden]\na %in% c("x", "y")\n')


@pytest.mark.parametrize("kind", TEXTS)
def test_a_longer_list_begins_with_the_shorter(kind: str) -> None:
    """Configuration i would depend on how many are asked for, or on what was drawn before from the
    same space.
    """
    space = Space.parse(TEXTS[kind])
    longer = space.configurations(60, rng=3)
    assert Space.parse(TEXTS[kind]).configurations(7, rng=3) == longer[:7]
    assert space.configurations(60, rng=3) == longer
    assert space.configurations(60, rng=4)[1:] != longer[1:]
    assert longer[0] == space.default()
    assert len({configuration.name for configuration in longer}) == 60


def test_drawn_configurations_stay() -> None:
    """Another version would draw other configurations from the same seed, and old journals would no
    longer fit.
    """
    assert [
        configuration.name for configuration in Space.parse(OLD_PCS).configurations(3, rng=1)
    ] == [
        "2af34f364c",
        "09fee1a390",
        "e6bdffc1a8",
    ]


@pytest.mark.parametrize("kind", TEXTS)
def test_configspace_agrees(kind: str) -> None:
    """A configuration would have inactive parameters, lack active ones, or be forbidden in
    ConfigSpace's own eyes.
    """
    space = Space.parse(TEXTS[kind])
    for configuration in space.configurations(200, rng=0):
        theirs = ConfigSpace.Configuration(space.configspace, values=dict(configuration.values))
        assert dict(theirs) == configuration.values


def test_conditions_of_pcs() -> None:
    """A condition of a PCS file, several lines for one parameter, or a chain of conditions would be
    misread.
    """
    for values in active(OLD_PCS):
        assert ("tenure" in values) == (values["algo"] == "tabu")
        assert ("noise" in values) == (
            values["algo"] in ("walk", "tabu") and values["flag"] == "no"
        )
        assert ("depth" in values) == (values.get("tenure") in (10, 20))
        assert not (values["algo"] == "greedy" and values["flag"] == "yes")
    for values in active(NEW_PCS):
        assert ("noise" in values) == (
            (values["algo"] != "greedy" and values["flag"] == "no") or values["size"] == "large"
        )
        assert ("depth" in values) == (5 < values.get("tenure", 0) < 500)
        assert not (values.get("noise", 0) > 0.9 and values.get("depth", 0) >= 6)


def test_conditions_of_irace() -> None:
    """R's operators, their precedence, lists or forbidden relations would be misread."""
    seen = Counter[str]()
    for values in active(IRACE, 600):
        assert ("q0" in values) == (values["algorithm"] == "acs")
        assert ("nnls" in values) == (
            values["localsearch"] != "0" and (values["ants"] <= 50 or values["size"] != "small")
        )
        assert ("dlb" in values) == (values["localsearch"] != "0")
        assert not (values["algorithm"] == "mmas" and values["localsearch"] != "3")
        assert values.get("nnls", 0) <= values["ants"]
        assert values["rho"] == round(values["rho"], 3)
        seen.update(values.keys())
    assert min(seen.values()) > 50


def test_opposites_of_inactive_parameters() -> None:
    """!= and ! would hold for a parameter that is not active."""
    text = 'a "" c (x, y)\nb "" i (1, 3) | a == "x"\nc "" r (0, 1) | b != 2\nd "" r (0, 1) | !(b > 1)\ne "" r (0, 1) | b >= 2\n'
    for values in active(text):
        assert ("c" in values) == (values.get("b", 2) != 2)
        assert ("d" in values) == (values.get("b", 2) == 1)
        assert ("e" in values) == (values.get("b", 1) >= 2)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("x = 2 | y = 2 & x = 3", lambda x, y: x == 2 or (y == 2 and x == 3)),
        ("(x == 2 || y == 2) && x != 3", lambda x, y: (x == 2 or y == 2) and x != 3),
        ("! x == 2 & y <= 2", lambda x, y: x != 2 and y <= 2),
        ("!(x == 2 & y <= 2) | x == 2 & x < 4", lambda x, y: not (x == 2 and y <= 2) or x == 2),
        ("!(x %in% c(1, 4) | y > 1)", lambda x, y: x not in (1, 4) and y <= 1),
        ("x %in% 3 & x > 1 & x < 4", lambda x, _: x == 3),
        ("`x` %in% c('2','3')", lambda x, _: x in (2, 3)),
        ("x in {2,3} && y >= 2", lambda x, y: x in (2, 3) and y >= 2),
        ("x %in% c (2, 3)&(((y==1)))", lambda x, y: x in (2, 3) and y == 1),
        ("x ! in {2,3}", lambda x, _: x not in (2, 3)),
        ("y!=2&x!=2", lambda x, y: y != 2 and x != 2),
    ],
)
def test_expressions(condition: str, holds: Any) -> None:
    """A condition would bind otherwise than in R."""
    text = f'x "" i (1, 4)\ny "" o (1, 2, 3)\nz "" c (p, q) | {condition}\n'
    seen = {(values["x"], int(values["y"])): "z" in values for values in active(text, 12)}
    assert len(seen) > 5
    assert all(is_there == holds(x, y) for (x, y), is_there in seen.items())


def test_log_scales() -> None:
    """Parameters on a log scale would not be drawn log-uniformly, or others not uniformly, or ends
    too rarely.
    """
    rows = active(
        "a [0.001,1][1]l\nb [1,1000][1]il\nc [0,1][0]\nd [1,4][1]i\ne {u,v,w}[u]\n", 4000
    )[1:]
    logs = np.log10([row["a"] for row in rows])
    assert stats.kstest((logs + 3) / 3, "uniform").pvalue > 1e-3
    assert stats.kstest([row["c"] for row in rows], "uniform").pvalue > 1e-3
    for name, values in (("d", (1, 2, 3, 4)), ("e", ("u", "v", "w"))):
        assert (
            stats.chisquare([sum(row[name] == value for row in rows) for value in values]).pvalue
            > 1e-3
        )
    chance = math.log(1.5 / 0.5) / math.log(1000.5 / 0.5)
    assert stats.binomtest(sum(row["b"] == 1 for row in rows), len(rows), chance).pvalue > 1e-3
    assert all(isinstance(row["b"], int) and 1 <= row["b"] <= 1000 for row in rows)


def test_weights_and_priors_of_json() -> None:
    """Weights, constants or distributions other than uniform would be lost."""
    rows = active(JSON, 1000)
    counts = Counter(row["k"] for row in rows)
    assert set(counts) == {"a", 2, True}
    assert stats.binomtest(counts[True], 1000, 0.5).pvalue > 1e-3
    assert all(row["c"] == 7 and 0 <= row["g"] <= 1 and isinstance(row["b"], int) for row in rows)
    assert abs(np.mean([row["g"] for row in rows]) - 0.5) < 0.03


def test_names_are_of_values_only() -> None:
    """A name would change with the order of parameters or the kind of file, or be given to other
    values.
    """
    assert name_of({"a": 1, "b": "x"}) == name_of({"b": "x", "a": 1}) == "ecf9e98ec0"
    assert name_of({"a": 1}) != name_of({"a": "1"}) != name_of({"a": 1.5})
    assert (
        Space.parse(OLD_PCS).default().name
        == made(**{"@1:F:scale": 0.01, "algo": "walk", "flag": "no", "noise": 0.5}).name
    )
    with pytest.raises(InputError, match="expected the name"):
        Configuration(name="0123456789", values={"a": 1})


def test_small_spaces() -> None:
    """A space with too few configurations would be drawn from for ever, or its last configuration
    not be found.
    """
    space = Space.parse("a {x,y}[x]\nb {u,v,w}[u]\nb | a in {y}\nc [1,2][1]i\n")
    assert len(space.configurations(8, rng=0)) == 8
    with pytest.raises(
        InputError,
        match="expected a space with at least 9 different configurations, got one with 8",
    ):
        space.configurations(9, rng=0)
    with pytest.raises(InputError, match="at least 1 configuration"):
        space.configurations(0, rng=1)
    with pytest.raises(InputError, match="`rng`"):
        space.configurations(1, rng=-1)


def test_styles() -> None:
    """An argument would be glued, split or ordered otherwise than its style says."""
    configuration = made(b=1, a="two words", r=1e-05)
    assert arguments(configuration, "-name value") == ["-b", "1", "-a", "two words", "-r", "1e-05"]
    assert arguments(configuration, "--name value") == [
        "--b",
        "1",
        "--a",
        "two words",
        "--r",
        "1e-05",
    ]
    assert arguments(configuration, "--name=value") == ["--b=1", "--a=two words", "--r=1e-05"]
    assert arguments(configuration, "-p {name} :{value}:") == [
        "-p",
        "b",
        ":1:",
        "-p",
        "a",
        ":two words:",
        "-p",
        "r",
        ":1e-05:",
    ]
    assert arguments(made(a="{name} $(x)"), "{name}={value}") == ["a={name} $(x)"]
    for style in ("name value", "{name}", "{value} {0}", ""):
        with pytest.raises(InputError, match="or a template with"):
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
    with pytest.raises(InputError, match="a switch for every parameter, got none for 'x'"):
        arguments(made(x=1), switches)
    assert Space.parse(OLD_PCS).switches is None


@given(st.floats(1e-9, 1e9), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_reals_read_back(low: float, seed: int) -> None:
    """A real would be printed so that another one is read back, or leave its range."""
    space = Space.parse(f"x [{round(low, 9)!r},{round(low, 9) * 3 + 1!r}][{round(low, 9)!r}]l\n")
    for configuration in space.configurations(3, rng=seed):
        (text,) = arguments(configuration, "{value}")
        assert float(text) == configuration.values["x"]
        assert space.configspace["x"].legal_value(configuration.values["x"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected the names of all parameters, at least one"),
        ("a {x}[x]\nnonsense\n", "line 2: expected a parameter, a condition"),
        ("name: null\nhyperparameters:\n- type: constant\n", r"YAML: save it with .*to_json"),
        ("a {x}[x]\n\na {x}[x]", "line 3: expected every parameter once, got 'a' again"),
        ("a {x,}[x]", "line 1: expected a value at every comma, got '{x,}'"),
        (
            '{"hyperparameters": [{"type": "constant", "name": "a", "value": "\\u0000"}]}',
            "expected",
        ),
        (
            '{"hyperparameters": [{"type": "constant", "name": "a", "value": "\\ud800"}]}',
            "cannot be read",
        ),
        ('{"hyperparameters": [{"type": "constant", "name": 5, "value": 1}]}', "expected"),
        ("a {x,y}[z]", "line 1: expected a default of 'a' out of 'x', 'y', got 'z'"),
        ("a {x,x}[x]", "line 1: expected every value of 'a' once, got 'x' 2 times"),
        ("a [1,2][3]", r"line 1: expected a default of 'a' in \[1.0, 2.0\], got 3.0"),
        (
            "a [2,1][1]",
            "line 1: expected a range of 'a' whose first end is below its second, got 2.0 and 1.0",
        ),
        ("a [0,1][1]l", "line 1: expected a range of 'a' above 0 whose first end"),
        ("a [1,2,3][1]", "line 1: expected the two ends of the range of 'a', got 3"),
        ("a [1,b][1]", "line 1: expected a number, got 'b'"),
        ("a [1,1e999][1]", "line 1: expected a number, got '1e999'"),
        ("a [1,2.5][1]i", "line 1: expected a whole number up to .*, got '2.5'"),
        (
            "a [1,99999999999999999999][1]i",
            "line 1: expected a whole number up to 9007199254740992",
        ),
        ("a [1e-15,1][1]l", "line 1: expected at most 13 decimals"),
        (
            "a [1,2][1]x",
            "line 1: expected '' or 'i' or 'l' or 'il' or 'li' after the default of 'a', got 'x'",
        ),
        ("a real {1,2}[1]", r"line 1: expected a \[range\] of the real 'a', got"),
        ("a ordinal [1,2][1]", "line 1: expected {values} of the ordinal 'a'"),
        ("a {x,y}[x]\nb | a in {x}", "line 2: expected a parameter before '|', got 'b'"),
        (
            "a {x,y}[x]\nb {u}[u]\nb | c in {x}",
            "line 3: expected a parameter of this file in 'c in {x}', got 'c'",
        ),
        (
            "a {x,y}[x]\nb {u}[u]\nb | a in {z}",
            "line 3: expected a value of 'a' out of 'x', 'y', got 'z'",
        ),
        ("a {x,y}[x]\nb {u}[u]\nb | a in {}", "line 3: expected comparisons of parameters"),
        ("a {x,y}[x]\nb {u}[u]\nb | a in {x", "line 3: expected comparisons joined by & and |"),
        (
            "a {x,y}[x]\nb {u}[u]\nb | a < x",
            "line 3: expected a space that ConfigSpace can hold .*orderable",
        ),
        ("a {x,y}[x]\nb {u}[u]\nb | a == x y", "line 3: expected comparisons joined"),
        ("a [1,5][1]i\nb {u}[u]\nb | 1 < a < 5", "line 3: expected comparisons of parameters"),
        (
            "a [1,5][1]i\nb {u}[u]\nb | a > 7",
            r"line 3: expected a value of 'a' in \[1, 5\], got '7'",
        ),
        ("a {x,y}[x]\nb {u,v}[u]\nb | a in {x}\na | b in {u}", "line 4: .*[cC]ycl"),
        (
            "a {x,y}[x]\nb {u,v}[u]\n{a=x, b=u}",
            "line 3: expected a default configuration that is not forbidden",
        ),
        ('a "" c (x)\nb "-b" q (1, 2)', "line 2: expected name .switch. type"),
        ('a "" c (x)\nb "-b" i (1, a)', "line 2: expected a whole number .*, got 'a'"),
        ('a "" c,log (x)', "line 1: expected a value at every comma, and log for numbers only"),
        ('a "" c (x,,y)', "line 1: expected a value at every comma"),
        (
            'a "" r (0.01, 1)\n[global]\ndigits = 1',
            "line 1: expected at most 1 decimals in the range and default of 'a', got 0.01",
        ),
        ('a "" r (0, 1)\n[global]\nfoo = 1', "line 3: expected 'digits = NUMBER'"),
        (
            'a "" r (0, 1)\nb "" r (0, 1) | a > runif(1)',
            "line 2: expected comparisons of parameters with values",
        ),
        ('a "" r (0, 1)\nb "" r (0, 1) | a > c', "line 2: expected a number, got 'c'"),
        (
            'a "" r (0, 1)\nb "" r (0, 1)\n[forbidden]\na + b > 1',
            "line 4: expected comparisons joined by & and ., got .a . b > 1",
        ),
        ('{"hyperparameters": [\n{]}', "line 2: expected JSON"),
        ('{"a": 1}', "expected ConfigSpace JSON, with a list 'hyperparameters'"),
        (
            '{"hyperparameters": [{"type": "constant", "name": "a", "value": [1]}]}',
            r"finite numbers, true, false or null for 'a'",
        ),
        (
            '{"hyperparameters": [{"type": "constant", "name": "a", "value": NaN}]}',
            "cannot be read .*nan",
        ),
        ('{"hyperparameters": [{"type": "odd", "name": "a"}]}', "cannot be read .*odd"),
        (JSON.replace('"upper": 9,', '"upper": 9, "q": 2,'), "'q' was removed"),
        ("a {x}[x]\nb {\0}[x]", "line 2: expected text, got a NUL character"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, words: str) -> None:
    """A file that cannot be used would be taken, or refused without saying where and why in one
    line.
    """
    path = tmp_path / "space"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        Space.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_odd_files(tmp_path: Path) -> None:
    """A byte-order mark or Windows line ends would be stumbled over, or other bytes end in somebody
    else's exception.
    """
    path = tmp_path / "space"
    for text in TEXTS.values():
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        assert Space.read(path).default() == Space.parse(text).default()
    path.write_bytes(b"a {x}[x] # \xff")
    with pytest.raises(InputError, match="expected UTF-8 text"):
        Space.read(path)
    old_default = JSON.replace('"default_value": 3', '"default": 3')
    assert Space.parse(old_default).default() == Space.parse(JSON).default()


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(list(TEXTS.values())), st.randoms(use_true_random=False))
def test_damaged_files_raise_our_error(text: str, rng: random.Random) -> None:
    """Some damaged file would end in somebody else's exception, or in more than one line."""
    marks = [
        "|",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        '"',
        "!",
        "&",
        "in",
        "#",
        "\n",
        " ",
        "0",
        "-1",
        "1e9",
        "1e308",
        "é",
        "\u2028",
        "%",
    ]
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 1, 1, 2, 10, 200]))
        middle = rng.choice([*marks, "", text[end : end + 20][::-1], text[start:end] * 2])
        text = text[:start] + middle + text[end:]
    try:
        space = Space.parse(text)
        for configuration in space.configurations(2, rng=0):
            arguments(configuration, space.switches or "--name=value")
    except InputError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017


@pytest.mark.beside(SHARED)
@pytest.mark.parametrize(
    ("file", "parameters"), [("lkh.pcs", 24), ("satenstein.pcs", 54), ("clasp-3.1.pcs", 98)]
)
def test_real_files_as_configspace_reads_them(file: str, parameters: int) -> None:
    """A real solver's space would be read otherwise than ConfigSpace reads it, or its
    configurations not be legal there.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ConfigSpace.read_and_write import pcs

        with (SHARED / file).open() as lines:
            theirs = pcs.read(lines)
    space = Space.read(SHARED / file)
    assert len(space.parameters) == parameters
    assert dict(space.configspace) == dict(theirs)
    assert sorted(map(repr, space.configspace.conditions)) == sorted(map(repr, theirs.conditions))
    assert sorted(map(repr, space.configspace.forbidden_clauses)) == sorted(
        map(repr, theirs.forbidden_clauses)
    )
    configurations = space.configurations(50, rng=1)
    assert len({configuration.name for configuration in configurations}) == 50
    for configuration in configurations:
        ConfigSpace.Configuration(
            theirs, values=dict(configuration.values)
        ).check_valid_configuration()


@pytest.mark.beside(SHARED)
@pytest.mark.parametrize("file", ["lkh.pcs", "satenstein.pcs", "clasp-3.1.pcs"])
def test_neighbours_in_real_spaces(file: str) -> None:
    """A neighbour would be illegal for the solver, or as far from its parent as any other
    configuration.
    """
    space = Space.read(SHARED / file)
    rng = np.random.default_rng(1)
    legal = 0
    for configuration in space.configurations(40, rng=2):
        for _ in range(10):
            new = space.around(configuration, rng, spread=0.02, keep=0.95)
            before, after = configuration.values, new.values
            choices = [
                name
                for name in before.keys() & after.keys()
                if isinstance(space.configspace[name], ConfigSpace.CategoricalHyperparameter)
            ]
            assert sum(before[name] == after[name] for name in choices) >= len(choices) / 2
            if space.allows(new):
                legal += 1
                ConfigSpace.Configuration(
                    space.configspace, values=dict(after)
                ).check_valid_configuration()
    assert legal > 200


@pytest.mark.parametrize("text", [OLD_PCS, NEW_PCS, IRACE, JSON])
def test_neighbours_reach_every_value(text: str) -> None:
    """Some value of a parameter could not be reached by steps, or a step leave its range."""
    space = Space.parse(text)
    rng = np.random.default_rng(3)
    seen: dict[str, set[Any]] = {}
    configuration = space.default()
    for _ in range(2000):
        new = space.around(configuration, rng, spread=0.3, keep=0.5)
        configuration = new if space.allows(new) else configuration
        for name, value in configuration.values.items():
            seen.setdefault(name, set()).add(value)
    for name, parameter in space.configspace.items():
        assert all(map(parameter.legal_value, seen[name]))
        if isinstance(parameter, ConfigSpace.CategoricalHyperparameter):
            likely = parameter.probabilities > 0
            assert seen[name] == {
                choice for choice, there in zip(parameter.choices, likely, strict=True) if there
            }
        if isinstance(parameter, ConfigSpace.OrdinalHyperparameter):
            assert seen[name] == set(parameter.sequence)


def test_neighbours_lie_as_far_as_asked() -> None:
    """Numbers would be drawn too far from the parent, or on the wrong scale; or categories be kept
    too rarely.
    """
    space = Space.parse(
        "lin [0,100] [50]\nlog [1,10000] [100]l\nwhole [0,1000] [500]i\ncat {x,y,z} [x]\n"
    )
    rng = np.random.default_rng(4)
    moves: dict[str, list[float]] = {"lin": [], "log": [], "whole": []}
    kept = 0
    for _ in range(2000):
        new = space.around(space.default(), rng, spread=0.2, keep=0.4)
        kept += new.values["cat"] == "x"
        for name, values in moves.items():
            value = new.values[name]
            assert isinstance(value, int | float)
            values.append(
                math.log(value, 10000)
                if name == "log"
                else value / (100 if name == "lin" else 1000)
            )
    cut = stats.truncnorm(-2.5, 2.5, loc=0.5, scale=0.2)
    for values in moves.values():
        assert stats.kstest(values, cut.cdf).pvalue > 1e-4
    # What is not kept is drawn from all of them.
    assert stats.binomtest(kept, 2000, 0.4 + 0.6 / 3).pvalue > 1e-4


def test_where_nothing_can_change() -> None:
    """A space with one configuration would be searched without end."""
    space = Space.parse("a {x} [x]\n")
    assert (
        space.around(space.default(), np.random.default_rng(0), spread=0.2, keep=0.5)
        == space.default()
    )
    assert space.size() == 1


def test_sizes_of_spaces() -> None:
    """A space would be taken for smaller than it is, or be too large to be counted."""
    assert Space.parse("a {x,y,z} [x]\nb [1,10] [5]i\nc [1,100] [10]il\nd {q} [q]\n").size() == 3000
    assert Space.parse("a {x,y,z} [x]\nb [0,1] [0.5]\n").size() == math.inf
    many = "".join(f"p{number} [1,2000000000] [5]i\n" for number in range(40))
    assert Space.parse(many).size() == math.inf


def test_package_stays_light() -> None:
    """Importing the package would import ConfigSpace, which takes more than a second."""
    script = "import sys, truecost; sys.exit('ConfigSpace' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
