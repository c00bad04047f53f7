"""Files of parameter spaces: what is read, and what is refused."""

import json
import random
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import ConfigSpace
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from space_texts import IRACE, JSON, NEW_PCS, OLD_PCS, TEXTS

from truecost.errors import InputError
from truecost.space.arguments import arguments
from truecost.space.space import Space

SHARED = Path("/work/shared/data/spaces")


def active(text: str, number: int = 300) -> list[dict[str, Any]]:
    """The values of that many configurations of a space."""
    return [dict(one.values) for one in Space.parse(text).configurations(number, seed=1)]


def test_defaults() -> None:
    """A default would be another than the file says, or list inactive parameters."""
    values = {"algo": "walk", "noise": 0.5, "@1:F:scale": 0.01, "flag": "no"}
    assert Space.parse(OLD_PCS).default().values == values
    names = ["algo", "noise", "@1:F:scale", "size", "flag"]
    assert list(Space.parse(NEW_PCS).default().values) == names
    assert Space.parse("a [1e6,1e14] [1e12]\n").default().values == {"a": 1e12}
    values = {"z": 0.01, "n": 3, "k": 2, "o": "lo", "c": 7, "g": 0.5, "b": 3, "h": "u"}
    assert Space.parse(JSON).default().values == values


def test_default_of_irace_is_the_middle() -> None:
    """A table without defaults would have none, a forbidden one, or one its digits cannot say."""
    assert Space.parse(IRACE).default().values == {
        "algorithm": "as", "localsearch": "0", "alpha": 2.5, "rho": 0.032, "ants": 22, "size": "small",
    }  # fmt: skip
    forbidden = 'a "" c (x, y)\nb "" c (u, v) | a == "x"\nr "" r (0, 1)\n[forbidden]\na == "x"\n'
    assert Space.parse(forbidden).default().values["a"] == "y"
    with pytest.raises(InputError):
        Space.parse('a "" c (x, y)\n[forbidden]\na %in% c("x", "y")\n')


def test_conditions_of_pcs() -> None:
    """A condition of a PCS file, several lines for one parameter, or a chain would be misread."""
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
    """!= and ! would hold for an inactive parameter."""
    text = (
        'a "" c (x, y)\nb "" i (1, 3) | a == "x"\nc "" r (0, 1) | b != 2\n'
        'd "" r (0, 1) | !(b > 1)\ne "" r (0, 1) | b >= 2\n'
    )
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
    assert all(is_active == holds(x, y) for (x, y), is_active in seen.items())


CHAIN = "\n".join(f"p{n + 1} | p{n} in {{a}} && p0 in {{a}}" for n in range(29))
JSON_CHAIN = json.dumps({
    "hyperparameters": [
        {"type": "categorical", "name": f"p{n}", "choices": ["a", "b"], "default_value": "a"}
        for n in range(30)
    ],
    "conditions": [
        {"type": "OR", "child": f"p{n + 1}", "conditions": [
            {"type": "EQ", "child": f"p{n + 1}", "parent": f"p{n}", "value": value}
            for value in "ab"
        ]}
        for n in range(29)
    ],
    "forbiddens": [],
    "format_version": 0.4,
})  # fmt: skip
# Files that cannot be used, and the line that is wrong (None: the file as a whole).
BAD: list[tuple[str, int | None]] = [
    ("", None),
    ("a {x}[x]\nnonsense\n", 2),
    ("name: null\nhyperparameters:\n- type: constant\n", None),
    ("a {x}[x]\n\na {x}[x]", 3),
    ("a {x,}[x]", 1),
    ('{"hyperparameters": [{"type": "constant", "name": "a", "value": "\\u0000"}]}', None),
    ('{"hyperparameters": [{"type": "constant", "name": "a", "value": "\\ud800"}]}', None),
    ('{"hyperparameters": [{"type": "constant", "name": 5, "value": 1}]}', None),
    ("a {x,y}[z]", 1),
    ("a {x,x}[x]", 1),
    ("a [1,2][3]", 1),
    ("a [2,1][1]", 1),
    ("a [0,1][1]l", 1),
    ("a [1,2,3][1]", 1),
    ("a [1,b][1]", 1),
    ("a [1,1e999][1]", 1),
    ("a [1,2.5][1]i", 1),
    ("a [1,99999999999999999999][1]i", 1),
    ("a [1e-15,1][1]l", 1),
    ("a [1,2][1]x", 1),
    ("a real {1,2}[1]", 1),
    ("a ordinal [1,2][1]", 1),
    ("a {x,y}[x]\nb | a in {x}", 2),
    ("a {x,y}[x]\nb {u}[u]\nb | c in {x}", 3),
    ("a {x,y}[x]\nb {u}[u]\nb | a in {z}", 3),
    ("a {x,y}[x]\nb {u}[u]\nb | a in {}", 3),
    ("a {x,y}[x]\nb {u}[u]\nb | a in {x", 3),
    ("a {x,y}[x]\nb {u}[u]\nb | a < x", 3),
    ("a {x,y}[x]\nb {u}[u]\nb | a == x y", 3),
    ("a [1,5][1]i\nb {u}[u]\nb | 1 < a < 5", 3),
    ("a [1,5][1]i\nb {u}[u]\nb | a > 7", 3),
    ("a {x,y}[x]\nb {u,v}[u]\nb | a in {x}\na | b in {u}", 4),
    ("a {x,y}[x]\nb {u,v}[u]\n{a=x, b=u}", 3),
    ("".join(f"p{n} {{a,b}}[a]\n" for n in range(30)) + CHAIN, None),
    ('a "" c (x)\nb "-b" q (1, 2)', 2),
    ('a "" c (x)\nb "-b" i (1, a)', 2),
    ('a "" c,log (x)', 1),
    ('a "" c (x,,y)', 1),
    ('a "" r (0.01, 1)\n[global]\ndigits = 1', 1),
    ('a "" r (0, 1)\n[global]\nfoo = 1', 3),
    ('a "" r (0, 1)\nb "" r (0, 1) | a > runif(1)', 2),
    ('a "" r (0, 1)\nb "" r (0, 1) | a > c', 2),
    ('a "" r (0, 1)\nb "" r (0, 1)\n[forbidden]\na + b > 1', 4),
    ('a "" i (1, 9)\nb "" i (1, "a")', 2),
    # irace reads these otherwise than they look.
    ('a "" o (low, high)\nb "" i (1, 3) | a > "low"', 2),
    ('a "" o (1, 2, 10)\nb "" i (1, 3) | a > 2', 2),
    ('a "" i (1, 20)\nb "" i (1, 3) | a < "5"', 2),
    ('a "" c (b, y)\nb "" c (u, v)\n[forbidden]\na == b', 4),
    ('a "" c (x, y)\nb "" c (u, v) | a == "x"\nd "" i (1, 3) | !(b %in% c("u"))', 3),
    (JSON_CHAIN, None),
    ('{"hyperparameters": [\n{]}', 2),
    ('{"a": 1}', None),
    ('{"hyperparameters": [{"type": "constant", "name": "a", "value": [1]}]}', None),
    ('{"hyperparameters": [{"type": "constant", "name": "a", "value": NaN}]}', None),
    ('{"hyperparameters": [{"type": "odd", "name": "a"}]}', None),
    (JSON.replace('"upper": 9,', '"upper": 9, "q": 2,'), None),
    ("a {x}[x]\nb {\0}[x]", 2),
]


@pytest.mark.parametrize(("text", "line"), BAD)
def test_bad_files(tmp_path: Path, text: str, line: int | None) -> None:
    """A file that cannot be used would be taken, or refused without its line in one line."""
    path = tmp_path / "space"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Space.read(path)
    place = f"{path}: " if line is None else f"{path}: line {line}: "
    assert str(caught.value).startswith(place)
    assert "\n" not in str(caught.value)


def test_values_that_cannot_be_compared() -> None:
    """Drawing from a JSON space that compares text with numbers would end in a traceback."""
    hyperparameters = [
        {"type": "categorical", "name": "a", "choices": ["w", "x"]},
        {"type": "categorical", "name": "b", "choices": ["y", 2], "default_value": "y"},
    ]
    forbiddens = [{"type": "RELATION_GT", "left": "a", "right": "b"}]
    space = {"hyperparameters": hyperparameters, "conditions": [], "forbiddens": forbiddens}
    text = json.dumps(space | {"python_module_version": "1.2.2", "format_version": 0.4})
    with pytest.raises(InputError, match="compared"):
        Space.parse(text).configurations(3, seed=0)


def test_odd_files(tmp_path: Path) -> None:
    """A byte-order mark, Windows line ends or bytes that are no text would end in another library's
    exception.
    """
    path = tmp_path / "space"
    for text in TEXTS.values():
        path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        assert Space.read(path).default() == Space.parse(text).default()
    path.write_bytes(b"a {x}[x] # \xff")
    with pytest.raises(InputError):
        Space.read(path)
    old_default = JSON.replace('"default_value": 3', '"default": 3')
    assert Space.parse(old_default).default() == Space.parse(JSON).default()


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(TEXTS.values())), st.randoms(use_true_random=False))
def test_damaged_files_raise_our_error(text: str, rng: random.Random) -> None:
    """Some damaged file would end in another library's exception, or in more than one line."""
    marks = [*'|{}[](),"!&#\n 0é\u2028%', "in", "-1", "1e9", "1e308"]
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice([0, 1, 1, 2, 10, 200]))
        middle = rng.choice([*marks, "", text[end : end + 20][::-1], text[start:end] * 2])
        text = text[:start] + middle + text[end:]
    try:
        space = Space.parse(text)
        for configuration in space.configurations(2, seed=0):
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
    ours = sorted(map(repr, space.configspace.forbidden_clauses))
    assert ours == sorted(map(repr, theirs.forbidden_clauses))
    for configuration in space.configurations(50, seed=1):
        values = dict(configuration.values)
        ConfigSpace.Configuration(theirs, values=values).check_valid_configuration()
