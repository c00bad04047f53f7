"""The command line: parse, call, print. One file a command.

Exit codes: 0 done, or the answer is yes; 1 the answer is no; 2 bad input, with one line on stderr;
3 a fault of truecost; 130 interrupted. `options` turns the fields of records into options,
`printing` writes answers, `progress` says how far the work is.
"""

import gc
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from truecost.cli.options import Command
from truecost.cli.printing import write
from truecost.errors import TruecostError
from truecost.show.numbers import visible

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
OVERVIEW = """Usage: truecost COMMAND [OPTIONS] …

Is the tuned solver really better on new instances, by how much, and how sure?

{}

truecost COMMAND --help describes a command. Start with: truecost demo
"""


def app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands: one alone starts faster than all."""
    made = typer.Typer(
        name="truecost",
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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


def _common(version: Annotated[bool, typer.Option("--version")] = False) -> None:
    if version:
        from importlib import metadata

        write(f"{metadata.version('truecost')}\n")


def main() -> None:
    """Run a command; every fault of the input ends as one line and exit code 2."""
    # A closed stream, or one that knows no Greek, is no reason to fail.
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
        else:
            stream.reconfigure(errors="backslashreplace")
    # Imported modules stay until the end; collecting garbage among them is a quarter of the time of
    # a short command.
    gc.set_threshold(50_000)
    code = _run(sys.argv[1:])
    with suppress(OSError):
        write("")
    sys.exit(code)


def _run(words: list[str]) -> int:
    try:
        if words in ([], ["-h"], ["--help"]):
            # Without importing any command.
            write(OVERVIEW.format("\n".join(f"  {name:<10} {COMMANDS[name]}" for name in COMMANDS)))
            return 0
        named = [word for word in words[:1] if word in COMMANDS]
        answer = app(named or COMMANDS)(words, standalone_mode=False, prog_name="truecost")
        if answer == INTERRUPTED:
            raise KeyboardInterrupt
        return answer if isinstance(answer, int) else 0
    except typer.TyperException as error:
        message = error.format_message().partition(", unable to parse")[0]
        context = getattr(error, "ctx", None)
        see = "" if context is None else f" See: {context.command_path} --help"
        return _refuse(f"{message}{'' if message.endswith(('.', '?')) else '.'}{see}")
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
    except SystemExit:  # by typer, where nobody reads its help to the end
        return 0
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
    # The exit code is returned even if stderr is closed.
    with suppress(OSError):
        sys.stderr.write(f"truecost: {visible(' '.join(message.split()))}\n")
        sys.stderr.flush()
    return 2
