"""What a campaign was asked, stored with its journal and compared when it is resumed.

One JSON record: the scenario's fingerprint and the settings of the command. Budget, workers, pool
and added instances are not in it. Values of environment variables, which may be passwords, are
stored as salted digests.
"""

import difflib
import hashlib
import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truecost.errors import InputError

SEALED = "sealed"
# How many differences a message names.
NAMED = 3


def record(
    scenario: Mapping[str, Any], settings: Mapping[str, Any], like: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The record of a scenario's fingerprint and settings, with the salts of an earlier record."""
    before = {} if like is None else like.get("scenario", {})
    whole = {"scenario": _sealed(scenario, before), "settings": dict(settings)}
    plain: dict[str, Any] = json.loads(json.dumps(whole, sort_keys=True))
    return plain


def refuse_changes(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to resume a journal with another question; says what differs."""
    if before != now:
        raise InputError(
            f"{path}: this journal was begun with other settings: {differences(before, now)}. Put "
            "that back, or name another with --journal."
        )


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe the first differences of two records."""
    old, new = _flat(before), _flat(now)
    parts = []
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) == new.get(key):
            continue
        name = key.removeprefix("scenario.").removeprefix("settings.")
        if name == "space":
            lines = difflib.unified_diff(
                str(old[key]).splitlines(), str(new[key]).splitlines(), n=0, lineterm=""
            )
            changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
            parts.append(f"space: {'; '.join(changed[:2]) or 'other line ends'}")
        elif name.startswith("target.environment.") and key in old.keys() & new.keys():
            parts.append(f"{name} has another value")
        elif name.startswith("programs."):
            parts.append(f"the file {name.removeprefix('programs.')} has changed")
        else:
            parts.append(f"{name} was {_value(old.get(key))}, is {_value(new.get(key))}")
    more = f", and {len(parts) - NAMED} more" if len(parts) > NAMED else ""
    return ", ".join(part[:200] for part in parts[:NAMED]) + more


def _value(value: Any) -> str:
    return "not given" if value is None else json.dumps(value, ensure_ascii=False)


def _sealed(fingerprint: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """A fingerprint with digests in the place of environment values."""
    environment = fingerprint.get("target", {}).get("environment", {})
    if not environment:
        return dict(fingerprint)
    salts = before.get("target", {}).get("environment", {})
    digests = {}
    for name, value in environment.items():
        salt = str(salts.get(name, "")).partition(":")[2].partition(":")[0] or secrets.token_hex(16)
        digest = hashlib.scrypt(value.encode(), salt=salt.encode(), n=2**14, r=8, p=1).hex()
        digests[name] = f"{SEALED}:{salt}:{digest[:32]}"
    return {**fingerprint, "target": {**fingerprint["target"], "environment": digests}}


def _flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
