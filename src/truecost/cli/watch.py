"""`truecost watch`."""

import threading
import time
import webbrowser
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from json import loads
from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.command import declared
from truecost.cli.options import Json, asked
from truecost.cli.printing import print_json, print_line
from truecost.errors import InputError, TruecostError

# Other machines cannot reach it.
HOST = "127.0.0.1"
# A page may run what it carries and ask its own server, nobody else.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'"
)
# A state is read again when it is this many times older than reading it took, and seconds old.
PATIENCE, OLDEST = 10.0, 1.5


@declared
def watch(
    journal: Annotated[
        Path, typer.Argument(help="The journal of a campaign, running or finished.")
    ],
    port: int = asked("The port; any free one if not given.", min=0, max=65535, default=0),
    browser: bool = asked("Whether to open a browser.", "--browser/--no-browser", default=False),
    json: Json = False,
) -> None:
    """Follow a journal in a browser while `gather`, `configure`, `validate` or `explain` writes it.

    Serves a page on this machine only, which reads the journal every few seconds and never writes.
    Every limit it shows is valid at every look. Ctrl-C ends it; the campaign goes on. With --json
    one snapshot is printed instead.
    """
    states = States(journal)
    snapshot = states.read()
    if json:
        print_json(loads(snapshot))
        return
    try:
        server = ThreadingHTTPServer((HOST, port), _handler(states))
    except OSError as error:
        raise InputError(
            f"Expected a `port` that is free, got {port}: {error.strerror}."
        ) from error
    address = f"http://{HOST}:{server.server_address[1]}/"
    print_line(f"{journal}: {address} (Ctrl-C ends it)", wrap=False)
    if browser:
        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print_line()
    finally:
        server.server_close()


class States:
    """The state of a journal, read when it is asked for and not more often than that pays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._state, self._until = b"", 0.0

    def read(self) -> bytes:
        """The latest state as JSON."""
        from truecost.campaigns.watching import as_json, state_of
        from truecost.journal.journal import Journal

        # Several tabs may ask at once, and one reading serves them all.
        with self._lock:
            start = time.monotonic()
            if start >= self._until:
                with Journal.read(self._path) as journal:
                    self._state = as_json(state_of(journal))
                now = time.monotonic()
                self._until = now + max(OLDEST, PATIENCE * (now - start))
            return self._state


def _handler(states: States) -> type[BaseHTTPRequestHandler]:
    page = files("truecost.show").joinpath("watch.html").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        """The page and its state; nothing else, to nobody else."""

        def do_GET(self) -> None:
            # A page elsewhere could have its own name point here.
            if self.headers.get("Host", "").rpartition(":")[0] not in (HOST, "localhost"):
                self._send(403, "text/plain", b"This page is for this machine only.\n")
            elif self.path == "/":
                self._send(200, "text/html; charset=utf-8", page)
            elif self.path == "/state.json":
                self._send(200, "application/json", self._state())
            else:
                self._send(404, "text/plain", b"Not here.\n")

        def _state(self) -> bytes:
            from truecost.campaigns.watching import as_json

            try:
                return states.read()
            except TruecostError as error:
                return as_json({"error": str(error)})
            except OSError as error:
                # It may be moved away while it is followed.
                return as_json({"error": f"{error.filename}: {error.strerror}"})

        def _send(self, code: int, kind: str, content: bytes) -> None:
            self.send_response(code)
            for name, value in (
                ("Content-Type", kind),
                ("Content-Length", str(len(content))),
                ("Content-Security-Policy", POLICY),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
            ):
                self.send_header(name, value)
            # A tab that was closed meanwhile is no fault.
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing: requests come every two seconds."""

    return Handler
