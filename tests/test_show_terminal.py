import re
import subprocess
import sys
from dataclasses import replace

import pytest
import show_records as records

from truecost.judge.question import Question
from truecost.runs import Caveat
from truecost.show import sections, terminal

NAMES = list(records.samples())
ESCAPE = "\x1b"


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_fits_one_screen(name: str) -> None:
    """On a terminal of 80 × 24 the headline would have scrolled away, or the condition of the
    result be cut; or a pipe would be full of escape sequences.
    """
    sample = records.samples()[name]
    screen = terminal.screen(sample)
    lines = screen.splitlines()
    assert len(lines) < 24
    names = [line for line in lines if records.HOSTILE[3:6] in line or line.startswith("Next:")]
    assert all(len(line) <= 80 for line in lines if line not in names)
    caveats = sections.caveats(sample)
    assert not caveats or caveats[0] in " ".join(screen.replace("• ", "").split())
    assert ESCAPE not in screen


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_in_the_long_version(name: str) -> None:
    """`--all` would leave out a caveat, a statement or an assumption; or a long name cut numbers."""
    sample = records.samples()[name]
    lines = terminal.screen(sample, all=True).splitlines()
    text = re.sub(r"\s+", " ", " ".join(lines))
    assert ESCAPE not in text
    for line in (*sections.caveats(sample), *sections.assumptions(sample)):
        assert re.sub(r"\s+", " ", line) in text
    table = sections.statements(sample)
    place = next((k for k, head in enumerate(table.head) if head.startswith("limits")), 0)
    assert all(row[place] in text for row in table.rows)
    assert len(sample.ranking) > 2 or "All configurations" not in lines
    for row in sections.ranking(sample).rows if len(sample.ranking) > 2 else ():
        assert any(row[1] in line and row[-1] in line for line in lines)


def test_a_full_screen_keeps_whole_caveats() -> None:
    """Where there are many statements, no caveat would be left, or one end within its sentence."""
    caveats = tuple(Caveat(str(place), f"Caveat {place} {'word ' * 20}end.") for place in range(9))
    lines = terminal.screen(records.proven("better", caveats=caveats)).splitlines()
    assert lines[lines.index("  More caveats: --all") - 1].endswith("end.")
    more = tuple(
        records.statement(quantity, no_difference=1.0)
        for quantity in ("mean", "solved difference", "median speed-up", "geometric speed-up")
    )
    given = records.proven("probably better", question=Question(margin="5%"), caveats=caveats)
    sample = replace(given, statements=(*given.statements, *more, records.statement("margin")))
    text = terminal.screen(sample, steps=("truecost plan x", "truecost audit x"))
    assert len(text.splitlines()) < 24
    assert "Caveat 0" in text
    assert "--all" in text
    assert "Caveat 8" not in text
    assert "Caveat 8" in terminal.screen(sample, all=True)


def test_solved_runs_are_compared_where_runs_fail() -> None:
    """The first line about a target that reports costs would be that all of its runs ended."""
    given = records.proven("undecided")
    solved = records.statement("solved difference", observed=0.0, no_difference=0.0)
    sample = replace(given, statements=(*given.statements, solved))
    assert "runs solved" in terminal.screen(sample)
    runs = given.log.runs.replace(par=None, cutoff=None)
    costs = replace(sample, log=replace(given.log, runs=runs))
    assert "runs solved" not in terminal.screen(costs)
    failed = replace(costs, statements=(*given.statements, replace(solved, observed=0.1)))
    assert "runs solved" in terminal.screen(failed)


def test_colours_only_when_asked() -> None:
    """A terminal would have no colour, or a verdict in colour say something else."""
    sample = records.proven("better")
    coloured = terminal.screen(sample, colour=True)
    assert ESCAPE in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == terminal.screen(sample)


def test_names_from_files_cannot_act() -> None:
    """A configuration's name could clear the screen or print a verdict of its own."""
    assert "\\x1b" in terminal.screen(records.samples()["hostile names"])


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_sentences_keep_to_the_width(width: int) -> None:
    """Sentences would be broken by the terminal, in the middle of a word."""
    sample = records.proven("probably better")
    for line in terminal.screen(sample, width=width, steps=()).splitlines():
        assert len(line) <= width or line.startswith("  ")


def test_numbers_stay_with_their_units() -> None:
    """A line could end between 1.24 and s."""
    text = "The winner is 1.24 s faster in 95 % of 3 cutoffs, ties ½. " * 5
    for width in range(30, 60):
        for line in terminal.wrapped(text, width):
            assert not re.match(r"(s|cutoffs)\b|[%½]", line)
            assert "\u00a0" not in line


def test_given_steps_replace_the_usual() -> None:
    """A campaign could not print the command that continues it."""
    sample = records.assessment()
    assert "truecost validate x" in terminal.screen(sample, steps=("truecost validate x",))
    assert "Next:" not in terminal.screen(sample, steps=())


def test_the_terminal_needs_no_charts() -> None:
    """`audit` would load matplotlib or pandas, which takes longer than its answer."""
    code = (
        "import sys; sys.path.insert(0, 'tests'); import show_records; "
        "from truecost.show import terminal; "
        "terminal.screen(show_records.samples()['tests'], all=True); "
        "print(sorted({'matplotlib', 'jinja2', 'scipy.stats'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
