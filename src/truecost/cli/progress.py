"""Progress of long commands, on stderr: one changing line where somebody watches, a line a minute
elsewhere, nothing with --quiet.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from truecost.show.numbers import visible

if TYPE_CHECKING:
    from truecost.campaigns.campaign import Progress

# Seconds between lines where nobody watches, and between changes of the line where somebody does.
LINE_EVERY, CHANGE_EVERY = 60.0, 0.2
# Forecasts end here, in seconds: three years.
LONGEST = 1e8


class Meter:
    """How far some work is. Rate and forecast count from the first report: what an earlier call
    did is not taken for work done since.
    """

    def __init__(self, what: str, *, quiet: bool) -> None:
        self._what, self._quiet = what, quiet
        self._watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._started = time.monotonic()
        self._written = 0.0 if self._watched else self._started
        self._first: tuple[float, float] | None = None

    def update(
        self,
        share: float,
        *,
        count: int | None = None,
        total: int | None = None,
        cpu: float | None = None,
        note: str = "",
    ) -> None:
        """Report the share of the work that is done, the number of parts, and CPU seconds."""
        now = time.monotonic()
        if self._first is None:
            self._first = (now, share)
        if self._quiet or now - self._written < (CHANGE_EVERY if self._watched else LINE_EVERY):
            return
        self._written = now
        parts = [f"{min(share, 1.0):.0%}"]
        if count is not None:
            parts.append(f"{count:,}{'' if total is None else f'/{total:,}'} {self._what}")
        if cpu is not None:
            parts.append(f"CPU {_clock(cpu)}")
        parts.append(f"{_clock(now - self._started)} elapsed")
        since, before = self._first
        if share > before:
            parts.append(f"{_clock((now - since) * (1 - share) / (share - before))} left")
        line = ", ".join([*parts, visible(note)] if note else parts)
        if self._watched:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            line = f"\r\x1b[K{line[: width - 1]}"
        else:
            line += "\n"
        sys.stderr.write(line)
        sys.stderr.flush()

    def count(self, what: str, done: int, total: int) -> None:
        """Report how many of the parts are done, and what they are."""
        self.update(done / max(total, 1), count=done, total=total, note=what)

    def clear(self) -> None:
        """Remove the changing line."""
        if self._watched and not self._quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def progress(what: str, *, quiet: bool) -> Iterator[Meter]:
    """A meter to report to: `what` is counted."""
    meter = Meter(what, quiet=quiet)
    try:
        yield meter
    finally:
        meter.clear()


def campaign_note(now: "Progress") -> str:
    """What a campaign found so far, in a few words."""
    parts = []
    if now.incumbent is not None:
        parts.append(f"best so far {now.incumbent}: {now.estimate:.3g}")
    elif now.quantity:
        low, high = now.interval
        limits = f"[{low:.3g}, {high:.3g}]"
        parts.append(f"{now.instances:,} instances, {now.quantity} {now.estimate:.3g} in {limits}")
    return " · ".join([*parts, f"{now.unsolved:,} not solved"] if now.unsolved else parts)


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(max(0.0, min(seconds, LONGEST)))))
