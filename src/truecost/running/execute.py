"""One run: the target called in a slot, its answer read, and checked where the scenario has a
check.
"""

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from truecost.running.caller import Caller
from truecost.running.instances import prepare
from truecost.running.slots import Ended, LostSlotError, Slot, pasted
from truecost.running.tables import Limits
from truecost.running.targets.kind import TargetAnswer
from truecost.runs import Instance, Outcome, Status
from truecost.space.space import Configuration

# What a check and a version command may take, in seconds: they are not part of a run.
CHECK_WALL, VERSION_WALL = 600.0, 60.0
VETO = 1
# So much of the end of stdout and stderr of a failed run is kept, in bytes.
KEPT_OUTPUT = 64_000
# What Python and R write before they exit with 1 for a fault of the program itself.
BROKE = ("Traceback (most recent call last):", "Execution halted")
CHECK_FAILED = "the check itself failed"


def execute(
    slot: Slot,
    caller: Caller,
    configuration: Configuration,
    instance: Instance,
    seed: int,
    cap: float | None = None,
) -> Outcome:
    """One run: the target called, its answer read, and checked where the scenario has a check.

    A cap, in seconds of the metric's clock, stops it below the scenario's limit. The target is not
    told: a run that ends before its cap is the run that would have been without.
    """
    scenario = caller.scenario
    clock = scenario.metric.clock
    limits = scenario.limits if cap is None else scenario.limits.model_copy(update={clock: cap})
    prepare(instance)
    keep = scenario.target.keep or ()
    words = caller.command_line(configuration, instance, seed)
    ended = _run(slot, caller, words, limits, keep, scenario.target.warm)
    answer = caller.read(ended.exit_code, ended.stdout, ended.stderr, ended.dropped)
    capped = cap is not None and ended.exceeded == clock
    status, detail = verdict(ended, answer)
    if capped:
        status, detail = Status.CENSORED, f"stopped at its cap of {cap:g} s"
    elif status == Status.SOLVED and scenario.target.check is not None:
        status, detail = _check(slot, caller, instance, seed, ended.stdout)
    outcome = Outcome(
        status=status,
        cpu=ended.cpu,
        wall=ended.wall,
        memory=ended.memory,
        exit_code=ended.exit_code,
        time=answer.time,
        value=answer.value,
        method=slot.method,
        detail=detail,
        cap=cap if capped else None,
        files=ended.files,
    )
    if status not in (Status.CRASHED, Status.VETOED, Status.ABORTED):
        return outcome
    return replace(
        outcome,
        stdout=ended.stdout[-KEPT_OUTPUT:],
        stderr=ended.stderr[-KEPT_OUTPUT:],
        # Values of the environment may be secrets, and this is written down.
        command=by_hand(caller, configuration, instance, seed, outcome, values=False),
    )


def _run(
    slot: Slot,
    caller: Caller,
    words: list[str],
    limits: Limits,
    keep: Sequence[str] = (),
    warm: bool = False,
) -> Ended:
    """A command of the scenario, in its folder and with its environment."""
    scenario = caller.scenario
    environment = scenario.target.environment
    return slot.run(
        words,
        folder=scenario.folder,
        limits=limits,
        environment=environment,
        own_folder=scenario.target.own_folder,
        keep=keep,
        warm=warm,
    )


def verdict(ended: Ended, answer: TargetAnswer) -> tuple[Status, str]:
    """How the run ended, and why: a limit that was passed goes before whatever the target said."""
    if ended.exceeded == "memory":
        return Status.MEMORY, "memory limit"
    if ended.exceeded is not None:
        return Status.TIMEOUT, f"{'CPU' if ended.exceeded == 'cpu' else 'wall'} limit"
    return answer.status, answer.detail


def _check(
    slot: Slot, caller: Caller, instance: Instance, seed: int, stdout: bytes
) -> tuple[Status, str]:
    if caller.check is not None:
        try:
            reason = caller.check(instance.argument, stdout.decode("utf-8", "replace"))
        except Exception as error:  # whatever somebody else's code raises
            return Status.ABORTED, f"{CHECK_FAILED}: {type(error).__name__}: {error}"
        return (Status.VETOED, str(reason)[:200]) if reason else (Status.SOLVED, "")
    # The supervisor tidies its folder when the check is over.
    output = slot.folder / "output"
    try:
        output.write_bytes(stdout)
    except FileNotFoundError as error:
        raise LostSlotError("the supervisor's folder is gone, and so is the supervisor.") from error
    line = caller.check_line(instance, seed, str(output))
    ended = _run(slot, caller, line, Limits(wall=CHECK_WALL, output=1.0))
    if ended.exceeded is None and ended.exit_code == 0:
        return Status.SOLVED, ""
    errors = ended.stderr.decode("utf-8", "replace").splitlines()
    lines = [*ended.stdout.decode("utf-8", "replace").splitlines(), *errors]
    last = next((text.strip()[:200] for text in reversed(lines) if text.strip()), "")
    broke = any(text.startswith(BROKE) for text in errors)
    if ended.exceeded is None and ended.exit_code == VETO and not broke:
        return Status.VETOED, last or "vetoed by the check"
    how = f"{ended.exceeded} limit" if ended.exceeded else f"exit code {ended.exit_code}"
    return Status.ABORTED, f"{CHECK_FAILED} ({how}): {last}".rstrip(": ")


def by_hand(
    caller: Caller,
    configuration: Configuration,
    instance: Instance,
    seed: int,
    outcome: Outcome,
    *,
    values: bool = True,
) -> str:
    """A run as a command line to paste into a shell; with its check where that is what went wrong,
    and with the values of the scenario's environment or with dots in their place.
    """
    scenario = caller.scenario
    environment = scenario.target.environment
    if not values:
        environment = dict.fromkeys(environment, "…")
    words = caller.command_line(configuration, instance, seed)
    line = pasted(words, scenario.folder, environment)
    broke = outcome.status == Status.ABORTED and outcome.detail.startswith(CHECK_FAILED)
    if outcome.status != Status.VETOED and not broke:
        return line
    output = str(Path(tempfile.gettempdir()) / "truecost-output")
    check = pasted(caller.check_line(instance, seed, output), None, environment)
    return f"{line} > {shlex.quote(output)}; {check}"


def version_of(slot: Slot, caller: Caller) -> str:
    """The first line the scenario's version command prints; empty if there is no such command."""
    line = caller.version_line()
    if not line:
        return ""
    ended = _run(slot, caller, line, Limits(wall=VERSION_WALL, output=1.0))
    if ended.exit_code != 0 or ended.exceeded is not None:
        # An error message is no version: it may differ from run to run, or be the same for all.
        return ""
    text = (ended.stdout + b"\n" + ended.stderr).decode("utf-8", "replace").strip()
    return text.partition("\n")[0].strip()[:200]
