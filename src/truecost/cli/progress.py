"""Progress of long commands, on stderr: a bar where somebody watches, a line a minute elsewhere,
nothing with --quiet.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from truecost.cli.printing import console, duration, number, visible
from truecost.show.text import WIDTH

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

# Where nobody watches a bar, a line so often, in seconds.
LINE_EVERY = 60.0
NARROWEST_BAR = 8
# Forecasts end here, in seconds: three years.
LONGEST = 1e8


class Meter:
    """How far some work is.

    Rate and forecast start at the first report: neither what was there before, nor the compilation
    of kernels at the very first start, is taken for work done since.
    """

    def __init__(self, what: str = "", note: str = "", *, lines: bool = False) -> None:
        self._what, self._note, self._lines = what, note, lines
        self._share: float | None = None
        self._count: int | None = None
        self._total: int | None = None
        self._cpu: float | None = None
        self._started = self._written = self._told = time.monotonic()
        self._first: tuple[float, float, int, float] | None = None

    def tell(
        self,
        share: float,
        *,
        count: int | None = None,
        total: int | None = None,
        cpu: float | None = None,
        note: str = "",
    ) -> None:
        """Report the share of all work that is done, how many of how many there are, and the CPU
        seconds of solvers.
        """
        self._share, self._count, self._total = min(share, 1.0), count, total
        self._cpu, self._note = cpu, note
        self._told = time.monotonic()
        if self._first is None:
            self._first = (self._told, self._share, count or 0, cpu or 0.0)
        if self._lines and self._told - self._written >= LINE_EVERY:
            self._written = self._told
            sys.stderr.write(f"{self.line(WIDTH)}\n")
            sys.stderr.flush()

    def say(self, note: str) -> None:
        """What holds the work up: shown at once, until the next report; as a line only once."""
        if self._lines and note != self._note:
            sys.stderr.write(f"{visible(note)}\n")
            sys.stderr.flush()
        self._note = note

    def count(self, done: int, total: int, note: str = "") -> None:
        """Report that `done` of `total` parts are finished."""
        self.tell(done / max(total, 1), count=done, total=total, note=note)

    def line(self, width: int) -> str:
        """Everything in one line that fits."""
        return ", ".join(self._parts(width, ", ", [visible(self._note)] if self._note else []))

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.cells import cell_len
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        room = options.max_width - NARROWEST_BAR - 2
        text = "  ".join(self._parts(room, "  "))
        row = Table.grid(expand=True, padding=(0, 2, 0, 0))
        row.add_column(ratio=1)
        row.add_column(no_wrap=True, width=min(cell_len(text), room))
        bar = ProgressBar(
            total=None if self._share is None else 1.0,
            completed=self._share or 0.0,
            pulse=self._share is None,
        )
        row.add_row(bar, Text(text))
        yield row
        if self._note:
            yield Text(visible(self._note), style="aside", no_wrap=True, overflow="ellipsis")

    def _parts(self, width: int, between: str, notes: Sequence[str] = ()) -> list[str]:
        """What there is to say, in its order; in a narrow place what counts least is left out
        first.
        """
        ranked = [pair for pair in self._said() if pair[1]] + [(9, note) for note in notes]
        while len(ranked) > 1 and len(between.join(text for _, text in ranked)) > width:
            # The largest rank counts least.
            ranked.remove(max(ranked))
        return [text for _, text in ranked]

    def _said(self) -> list[tuple[int, str]]:
        """Percentage, count, rate, CPU time, time gone and to go, each with its rank."""
        now = time.monotonic()
        gone = _clock(now - self._started)
        if self._share is None or self._first is None:
            return [(0, self._what), (1, gone)]
        since, share, count, cpu = self._first
        rate, to_go, spent = "", "", ""
        moved, took = self._share - share, self._told - since
        if moved > 0:
            # As forecast at the last report, less the time since then.
            left = took * (1 - self._share) / moved - (now - self._told)
            to_go = f"{_clock(max(0.0, left))} to go"
        if self._count is not None and self._count > count:
            rate = f"{number((self._count - count) / max(took, 1e-9), 3)}/s"
        if self._cpu is not None:
            spent = f"CPU {duration(self._cpu)}"
            if moved > 0:
                unit = spent.rpartition(" ")[2]
                whole = duration(self._cpu + (self._cpu - cpu) * (1 - self._share) / moved)
                # One unit behind the second number is enough for both.
                short = spent.removesuffix(f" {unit}") if whole.endswith(f" {unit}") else spent
                spent = f"{short}/{whole}"
        many = ""
        if self._count is not None:
            total = "" if self._total is None else f"/{self._total:,}"
            many = f"{self._count:,}{total} {self._what}"
        return [(0, f"{self._share:.0%}"), (1, many), (3, rate), (4, spent), (5, gone), (2, to_go)]


@contextmanager
def progress(what: str, *, quiet: bool, note: str = "") -> Iterator[Meter]:
    """A meter to report to: `what` is counted; `note` is shown until the first report."""
    if quiet:
        # It takes reports and shows none.
        yield Meter()
    elif not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Meter(what, note, lines=True)
    else:
        from rich.live import Live

        meter = Meter(what, note)
        with Live(
            meter,
            console=console(stderr=True),
            transient=True,
            refresh_per_second=8,
            # Answers go to standard output as they are.
            redirect_stdout=False,
        ):
            yield meter


@contextmanager
def steps(first: str, *, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Progress of work in parts, which tells what it is doing and the share of all that is done;
    `first` until it does.
    """
    with progress("", quiet=quiet, note=first) as meter:
        yield lambda what, share: meter.tell(share, note=what)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(min(seconds, LONGEST))))
