"""`kind = "python"`: a function, called in a process of its own, which returns a number or a
mapping with status, value and time.
"""

import json
import sys
from pathlib import Path

from truecost.running.targets import Calling, Kind
from truecost.running.targets.wrapper import read_wrapper

SCRIPT = Path(__file__).parent.with_name("_call.py")


def call_python(call: Calling) -> list[str]:
    """Our script that calls the function, and everything that the function may ask for."""
    path, _, name = (call.target.function or "").rpartition(":")
    known = {
        "configuration": dict(call.configuration.values),
        "instance": call.instance.argument,
        "seed": call.seed,
        "cutoff": call.cutoff,
        "extras": dict(call.instance.extras),
    }
    return [sys.executable, str(SCRIPT), str(call.folder / path), name, json.dumps(known)]


KIND = Kind(
    call=call_python, read=lambda report: read_wrapper(report.text), needs="function", failing=True
)
