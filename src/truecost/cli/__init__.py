"""The command line: parse, call, print.

Exit code 0: done. 1: the answer is "no". 2: wrong input, one line on stderr. 3: a fault of ours.
"""

import atexit
import gc
import io
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from truecost.cli.command import Command, flagged
from truecost.cli.printing import visible
from truecost.errors import TruecostError

# What typer answers Ctrl-C by, as shells do: 128 and the number of the signal.
INTERRUPTED = 130

# Every command, and what a list of them says of it in a line of a terminal.
COMMANDS = {
    "demo": "Three solvers: how good are their winners really?",
    "doctor": "What this machine offers: cores, limits, solvers, a browser.",
    "gather": "Run a solver: configurations on instances, into a journal.",
    "configure": "Search for a better configuration, and certify it.",
    "validate": "Run winner and default on new instances until decided.",
    "watch": "Follow a running campaign in a browser.",
    "explain": "Which parameter changes matter, and which can be undone?",
    "info": "Summarise runs: how good each configuration is, how noisy.",
    "bound": "How far the true cost can lie above the mean of the runs.",
    "plan": "How many runs on how many instances.",
    "certify": "What a configuration costs at most on new instances.",
    "audit": "Is the winner over-tuned? Does it beat the default?",
    "compare": "Is a new version of a solver slower than the old one?",
    "import": "Read logs and tables of other tools.",
    "report": "Write an HTML report on runs, the verdict first.",
    "reproduce": "All experiments of the paper, on a matrix of runs.",
    "experiment": "The experiments of the paper, one by one.",
    "scenario": "Built-in scenarios, and scenarios written from a log.",
}
# Commands that share a file; its name is that of the others.
HOMES = {
    "import": "import_",
    "bound": "plan",
    "gather": "campaign",
    "explain": "configure",
    **dict.fromkeys(("audit", "certify", "info", "report"), "asking"),
    **dict.fromkeys(("doctor", "reproduce"), "demo"),
}


def app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line, with these commands: one alone starts faster than all."""
    made = typer.Typer(
        name="truecost",
        help="How good is a tuned algorithm on instances it has never seen, and how certain is it?",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_common)
    for name in names:
        module = import_module(f"truecost.cli.{HOMES.get(name, name)}")
        group: typer.Typer | None = getattr(module, "app", None)
        if group is None:
            call = getattr(module, "import_" if name == "import" else name)
            made.command(name, cls=Command, short_help=COMMANDS[name])(call)
            continue
        for command in group.registered_commands:
            command.cls = Command
        made.add_typer(group, name=name, short_help=COMMANDS[name])
    return made


def _common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from importlib import metadata

        typer.echo(metadata.version("truecost"))
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run a command; every fault of the input ends as one line and exit code 2."""
    # A closed stream, or one that knows no Greek, is no reason to fail.
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")
    _outlive_reader()
    # What was imported stays until the end: to look through it for garbage, meanwhile and once more
    # at the exit, is a quarter of the time of a short command.
    gc.set_threshold(50_000)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    code = _run()
    # Numba uses colorama where that is installed, which would end what a terminal is shown by an
    # escape sequence.
    if (colorama := sys.modules.get("colorama.initialise")) is not None:
        atexit.unregister(colorama.reset_all)
    sys.exit(code)


class _Output(io.FileIO):
    """Standard output that goes on when its reader, `head` perhaps, has seen enough."""

    # A command whose output nobody reads to the end still has its exit code.

    failed = False

    def write(self, content: Any, /) -> int:
        """Write, or drop what nobody reads; a full disk is told once, not again at the exit."""
        try:
            return len(content) if self.failed else super().write(content) or 0
        except BrokenPipeError:
            self.failed = True
            return len(content)
        except OSError as error:
            self.failed = True
            raise OSError(error.errno, error.strerror, "standard output") from error


def _outlive_reader() -> None:
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # not a file, in tests for instance
        return
    if not sys.stdout.isatty():
        sys.stdout.flush()
        output = io.BufferedWriter(_Output(os.dup(number), "w"))
        sys.stdout = io.TextIOWrapper(output, sys.stdout.encoding, "backslashreplace")


def _run() -> int:
    try:
        asked = [word for word in sys.argv[1:2] if word in COMMANDS]
        answer = app(asked or COMMANDS)(standalone_mode=False, prog_name="truecost")
        sys.stdout.flush()  # here, where a closed pipe is still ours to answer for
        if answer == INTERRUPTED:
            raise KeyboardInterrupt
        return answer if isinstance(answer, int) else 0
    except typer.TyperException as error:
        where = getattr(error, "ctx", None)
        return _refuse(
            error.format_message().replace("Value error, ", "")
            + (f" See: {where.command_path} --help" if where is not None else "")
        )
    except TruecostError as error:
        return _refuse(str(error))
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{path}{error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):  # the latter at a question
        sys.stderr.write("truecost: interrupted\n")
        return INTERRUPTED
    except Exception:
        # The last door: whatever comes here is a fault of ours, and its traceback the report of it.
        import traceback

        traceback.print_exc()
        fault = "this is a fault in truecost, not in your input; please report the lines above"
        sys.stderr.write(f"truecost: {fault}\n")
        return 3


def _refuse(message: str) -> int:
    # Whoever closed stderr still gets the exit code.
    with suppress(OSError):
        text = " ".join(message.split())
        # Library messages begin with a capital or not; what a terminal shows begins alike.
        text = f"Expected{text[8:]}" if text.startswith("expected ") else text
        sys.stderr.write(f"truecost: {visible(flagged(text))}\n")
        sys.stderr.flush()
    return 2
