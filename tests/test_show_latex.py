import re

import pytest
import show_records as records

from truecost import __version__
from truecost.show import latex

NAMES = list(records.samples())


@pytest.mark.parametrize("name", NAMES)
def test_latex_is_balanced(name: str) -> None:
    """A paper would not compile: an open brace, a special character from a name, or an extra
    alignment tab.
    """
    sample = records.samples()[name]
    table = latex.table(sample)
    for text in (latex.sentence(sample), table):
        bare = re.sub(r"\\[\\{}&%$#_]|\\(?:begin|end)\{[^}]*\}(?:\{[lr]+\})?", "", text)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search(r"[%#_]", bare), bare
        assert text.isascii() or name == "hostile names", text
    rows = [line for line in table.splitlines() if " & " in line]
    assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) <= 1


def test_the_sentence_has_what_a_reviewer_asks_for() -> None:
    """A reviewer would ask for n, basis, method, error, penalty or version."""
    text = latex.sentence(records.proven("better"))
    for part in ("50 test instances", "betting", "0.05", "10 times the cutoff of 5 s",
                 "$t$ interval", "won 36", __version__):  # fmt: skip
        assert part in text
    assert "12 of these runs" in text


def test_the_primary_criterion_is_reported() -> None:
    """A result by runs won would be reported as one on means."""
    by_wins = records.by_wins("better")
    assert "wins more runs" in latex.sentence(by_wins).splitlines()[0]
    assert "on average" in latex.sentence(records.proven("better")).splitlines()[0]


def test_the_penalties_are_reported() -> None:
    """A paper would claim better without saying for which penalty."""
    text = latex.sentence(records.laddered("better", 1.0, 3.0))
    assert "penalties from 1 to 3 cutoffs" in text


def test_a_condition_is_reported() -> None:
    """A paper would claim better for configurations that were tuned on these instances."""
    runs = records.qualities().replace(low=0.0, high=20.0)
    sample = records.judged(runs, default="0", path="runs.csv")
    assert sample.condition is not None
    assert latex.escape(sample.condition) in latex.sentence(sample)


def test_the_sentence_names_the_unit() -> None:
    """Limits on new families or seeds would be reported as limits on new instances."""
    samples = records.samples()
    assert "On instances of new families it lies" in latex.sentence(samples["families"])
    assert "With new seeds it lies" in latex.sentence(samples["seeds"])


def test_nothing_is_claimed_after_a_refusal() -> None:
    """A paper would report a comparison on the instances that chose the winner."""
    text = latex.sentence(records.refused())
    assert "better" not in text
    assert "tuned on these instances" in text


def test_references_have_what_bibtex_needs() -> None:
    """BibTeX would skip an entry."""
    text = latex.bibtex()
    assert text.count("{") == text.count("}")
    assert re.findall(r"^@(\w+)\{(\w+),$", text, re.MULTILINE) == [
        ("software", "truecost"), ("inproceedings", "liu2020performance"),
    ]  # fmt: skip
    for key in ("author", "title"):
        assert len(re.findall(rf"^  {key}\s*=", text, re.MULTILINE)) == 2
