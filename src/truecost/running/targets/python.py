"""`kind = "python"`: a function, called in a process of its own, which returns a number or a
mapping with status, value and time.
"""

import json
import sys
from pathlib import Path

from truecost.running.targets import Call, Kind
from truecost.running.targets.wrapper import read

SCRIPT = Path(__file__).parent.with_name("_call.py")


def call(call: Call) -> list[str]:
    """Our script that calls the function, and everything that the function may ask for."""
    known = {
        "configuration": dict(call.configuration.values),
        "instance": call.instance.argument,
        "seed": call.seed,
        "cutoff": call.scenario.limits.cutoff,
        "extras": dict(call.instance.extras),
    }
    return words(call.scenario.folder, call.scenario.target.function or "", known)


def words(folder: Path, reference: str, payload: object) -> list[str]:
    """The command that calls the function 'file.py:name' of a folder."""
    path, _, name = reference.rpartition(":")
    return [sys.executable, str(SCRIPT), str(folder / path), name, json.dumps(payload)]


KIND = Kind(call=call, read=read, failing=True)
