"""The command line: parse, call, print.

Exit code 0: done. 1: the answer is "no". 2: wrong input, one line on stderr. 3: a fault of ours.
"""

import atexit
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from truecost.cli import experiment, experiment_configure, scenario
from truecost.cli.audit import audit
from truecost.cli.bound import bound
from truecost.cli.certify import certify
from truecost.cli.configure import configure
from truecost.cli.demo import demo
from truecost.cli.doctor import doctor
from truecost.cli.flags import Command, flagged
from truecost.cli.gather import gather
from truecost.cli.import_ import import_
from truecost.cli.info import info
from truecost.cli.plan import plan
from truecost.cli.printing import visible
from truecost.cli.report import report
from truecost.cli.reproduce import reproduce
from truecost.cli.validate import validate
from truecost.errors import TruecostError

# What typer answers Ctrl-C by, as shells do: 128 and the number of the signal.
INTERRUPTED = 130

app = typer.Typer(
    name="truecost",
    help="How well a configured algorithm will really do on instances it has never seen, and how sure one can be.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, doctor, gather, configure, validate, info, bound, plan, certify, audit):
    app.command()(command)
app.command("import")(import_)
experiment.app.command("configure")(experiment_configure.configure)
app.add_typer(experiment.app, name="experiment", short_help="The paper's experiments, one by one.")
app.command()(report)
app.command()(reproduce)
app.add_typer(scenario.app, name="scenario", short_help="Solvers that are built in, with instances from a seed.")
# What a list of commands says of each, in a line of a terminal; the first sentence of its own help where that is short.
SHORT = {
    "demo": "Three tuned solvers: how good are their winners really?",
    "doctor": "What this machine offers: cores, limits, solvers, a browser.",
    "gather": "Run a solver: configurations on instances, into a journal.",
    "validate": "Run winner and default on new instances until it is shown.",
    "from-log": "Write the scenario of a log of irace or SMAC3.",
    "configure": "Search for a better configuration, and certify it.",
    "info": "What runs hold: how good each configuration is, how noisy.",
    "bound": "How far the true cost can lie above the mean of the runs.",
    "plan": "How many runs on how many instances.",
    "certify": "What a configuration costs at most on new instances.",
    "audit": "Is the winner over-tuned? Does it beat the default?",
    "import": "Take over runs of SMAC3, irace, ASlib, AClib or a table.",
    "report": "One page about recorded runs, the verdict first.",
    "reproduce": "The paper's whole experimental section on a matrix.",
    "estimators": "Three ways to spread runs over instances compared, exactly.",
    "experiment configure": "Configurators replayed on recorded runs.",
}
for each in (app, experiment.app, scenario.app):
    for registered in each.registered_commands:
        registered.cls = Command
        name = registered.name or str(getattr(registered.callback, "__name__", ""))
        registered.short_help = SHORT.get("experiment configure" if each is experiment.app and name == "configure" else name)


@app.callback(invoke_without_command=True)
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
    code = _run()
    # Numba uses colorama where that is installed, which would end what a terminal is shown by an escape sequence.
    if (colorama := sys.modules.get("colorama.initialise")) is not None:
        atexit.unregister(colorama.reset_all)
    sys.exit(code)


def _run() -> int:
    try:
        answer = app(standalone_mode=False, prog_name="truecost")
        sys.stdout.flush()  # here, where a closed pipe is still ours to answer for
        if answer == INTERRUPTED:
            sys.stderr.write("truecost: interrupted\n")
        return answer if isinstance(answer, int) else 0
    except typer.TyperException as error:
        asked = getattr(error, "ctx", None)
        return _refuse(error.format_message() + (f" See: {asked.command_path} --help" if asked is not None else ""))
    except TruecostError as error:
        return _refuse(str(error))
    except (BrokenPipeError, SystemExit):
        # The reader, `head` perhaps, has seen enough (typer answers that by SystemExit); Python must not complain about it
        # when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # the last door: whatever comes here is a fault of ours, and its traceback the report of it
        import traceback

        traceback.print_exc()
        sys.stderr.write("truecost: this is a fault in truecost, not in your input; please report the lines above\n")
        return 3


def _refuse(message: str) -> int:
    # Whoever closed stderr still gets the exit code.
    with suppress(OSError):
        sys.stderr.write(f"truecost: {visible(flagged(' '.join(message.split())))}\n")
        sys.stderr.flush()
    return 2
