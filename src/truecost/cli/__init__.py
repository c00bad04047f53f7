"""The command line: parse, call, print.

Exit codes: 0 done, or the answer is yes; 1 the answer is no; 2 bad input, with one line on stderr;
3 a fault of truecost. There is one file a command; `options` turns the fields of records into
options, and `printing` writes answers.
"""

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

from truecost.cli.options import Command
from truecost.errors import InputError, TruecostError

# What typer answers Ctrl-C by, as shells do: 128 and the number of the signal.
INTERRUPTED = 130
OUR_FAULT = 3

COMMANDS = {
    "demo": "Three tuned solvers: are they really better?",
    "audit": "Is the winner better than the default on new instances?",
    "report": "The same as an HTML page with figures.",
    "validate": "Run winner and default on new instances until decided.",
    "compare": "Is a new version of a solver slower than the old one?",
    "plan": "How many instances and runs are needed?",
    "gather": "Run configurations on instances, into a journal.",
    "configure": "Search for a better configuration, and test it.",
    "import": "Read logs of other tools; write them as a table.",
    "scenario": "Built-in scenarios, and scenarios written from a log.",
    "reproduce": "Repeat the experiments of the paper on a matrix of runs.",
}
# Commands of 0.3, and what does their work in this version.
GONE = {
    "bound": "Python's truecost.bounds",
    "certify": "truecost audit --json",
    "doctor": "truecost gather, which names what is missing",
    "experiment": "truecost reproduce --only",
    "explain": "irace's own ablation",
    "info": "truecost import",
    "watch": "the progress line of the running command, or truecost audit on its journal",
}


def app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands: one alone starts faster than all."""
    made = typer.Typer(
        name="truecost",
        help="Is the tuned solver really better on new instances, by how much, and how sure?",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback(invoke_without_command=True)(_common)
    for name in names:
        module = import_module(f"truecost.cli.{'import_' if name == 'import' else name}")
        if (group := getattr(module, "app", None)) is not None:
            for command in group.registered_commands:
                command.cls = Command
            made.add_typer(group, name=name, short_help=COMMANDS[name])
        else:
            made.command(name, cls=Command, short_help=COMMANDS[name])(module.command)
    return made


def _common(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from importlib import metadata

        typer.echo(metadata.version("truecost"))
    elif context.invoked_subcommand is None:
        typer.echo(_overview())


def _overview() -> str:
    """The list of commands, without importing them."""
    lines = [f"  {name:<10} {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        (
            "Usage: truecost COMMAND [OPTIONS] …",
            "",
            "Is the tuned solver really better on new instances, by how much, and how sure?",
            "",
            *lines,
            "",
            "truecost COMMAND --help describes a command. Start with: truecost demo",
        )
    )


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
    # Imported modules stay until the end; collecting garbage among them is a quarter of the time of
    # a short command.
    gc.set_threshold(50_000)
    sys.exit(_run())


class _Output(io.FileIO):
    """Standard output that goes on when its reader, `head` perhaps, has seen enough: a command
    whose output nobody reads to the end still has its exit code.
    """

    failed = False

    def write(self, content: Any, /) -> int:
        """Write, or drop what nobody reads; a full disk is reported once."""
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
    words = sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        sys.stdout.write(f"{_overview()}\n")
        return 0
    try:
        if words and words[0] in GONE:
            raise InputError(f"`{words[0]}` is gone in this version. Use {GONE[words[0]]}.")
        named = [word for word in words[:1] if word in COMMANDS]
        answer = app(named or COMMANDS)(standalone_mode=False, prog_name="truecost")
        sys.stdout.flush()  # here, where a closed pipe can still be answered for
        if answer == INTERRUPTED:
            raise KeyboardInterrupt
        return answer if isinstance(answer, int) else 0
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        see = f" See: {context.command_path} --help" if context is not None else ""
        return _refuse(f"{error.format_message().replace('Value error, ', '')}{see}")
    except TruecostError as error:
        return _refuse(str(error))
    except OSError as error:
        path = f"{error.filename}: " if error.filename else ""
        absent = isinstance(error, FileNotFoundError | NotADirectoryError)
        check = " Check the path." if absent else ""
        return _refuse(f"{path}{error.strerror or error}.{check}")
    except (KeyboardInterrupt, typer.Abort):
        with suppress(OSError):
            sys.stderr.write("truecost: interrupted\n")
        return INTERRUPTED
    except Exception:
        # Whatever comes here is a fault of ours, and its traceback the report of it.
        import traceback

        traceback.print_exc()
        sys.stderr.write(
            "truecost: this is a fault in truecost, not in your input; "
            "please report the lines above\n"
        )
        return OUR_FAULT


def _refuse(message: str) -> int:
    from truecost.cli.printing import visible

    # Whoever closed stderr still gets the exit code.
    with suppress(OSError):
        sys.stderr.write(f"truecost: {visible(' '.join(message.split()))}\n")
        sys.stderr.flush()
    return 2
