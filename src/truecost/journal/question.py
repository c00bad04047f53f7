"""What a campaign was asked, stored with its journal and compared when it is resumed.

One JSON record: the command, its settings and the scenario's fingerprint. Budget, workers, pool and
added instances are not in it. Values of environment variables, which may be passwords, are stored
as salted digests.
"""

import difflib
import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from truecost.errors import InputError

Kind = Literal["gather", "configure", "validate"]
# How many differences a message names.
NAMED = 3


def question_of(
    kind: Kind, scenario: Mapping[str, Any], settings: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, Any]:
    """The record of a command, a scenario's fingerprint and settings, with the salts of the record
    before, if any.
    """
    target = dict(scenario["target"])
    if environment := target.get("environment"):
        old = before.get("scenario", {}).get("target", {}).get("environment", {})
        target["environment"] = {
            name: _sealed(value, old.get(name, "")) for name, value in environment.items()
        }
    record = {"kind": kind, "scenario": {**scenario, "target": target}, "settings": settings}
    plain: dict[str, Any] = json.loads(json.dumps(record, sort_keys=True))
    return plain


def _sealed(value: str, before: str) -> str:
    """SALT:DIGEST, with the salt of an earlier one."""
    salt = before.partition(":")[0] or secrets.token_hex(16)
    return f"{salt}:{hashlib.scrypt(value.encode(), salt=salt.encode(), n=2**14, r=8, p=1).hex()}"


def refuse_changes(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to resume a journal with another question; says what differs."""
    if before != now:
        raise InputError(
            f"{path}: this journal was begun with other settings: {_differences(before, now)}. Put "
            "that back, or name another with --journal."
        )


def refuse_narrower(path: Path, before: tuple[float, float], now: tuple[float, float]) -> None:
    """Refuse a range of costs that was narrowed, which could be chosen after costs were seen."""
    if now[0] > before[0] or now[1] < before[1]:
        raise InputError(
            f"{path}: this journal was begun with costs from {before[0]:g} to {before[1]:g}. The "
            "range may be widened only. Correct low and high under [metric], or name another with "
            "--journal."
        )


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe the first differences of two records."""
    old, new = _flat(before), _flat(now)
    parts = []
    for key in sorted(old.keys() | new.keys()):
        was, now_is = old.get(key), new.get(key)
        if was == now_is:
            continue
        name = key.removeprefix("scenario.").removeprefix("settings.")
        if name == "space":
            texts = str(was).splitlines(), str(now_is).splitlines()
            lines = difflib.unified_diff(*texts, "", "", n=0, lineterm="")
            changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
            parts.append(f"space: {'; '.join(changed[:2]) or 'other line ends'}")
        elif name.startswith("target.environment.") and was and now_is:
            parts.append(f"{name} has another value")
        elif name.startswith("programs."):
            parts.append(f"the file {name.removeprefix('programs.')} has changed")
        else:
            parts.append(f"{name} was {_value(was)}, is {_value(now_is)}")
    more = f", and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
    return ", ".join(part[:200] for part in parts[:NAMED]) + more


def _value(value: Any) -> str:
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)


def _flat(nested: Mapping[str, Any]) -> dict[str, Any]:
    """{"limits.cpu": 5} of {"limits": {"cpu": 5}}."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{name}": inner for name, inner in _flat(value).items()}
        else:
            flat[key] = value
    return flat
