"""Which column of a table is what: given, or called by a name that leaves no doubt."""

import re
from collections.abc import Iterable, Mapping, Sequence

from truecost.errors import InputError, did_you_mean

# Words in the name of a column of which more may be better: its direction has to be given.
SCORES = frozenset({
    "accuracy", "acc", "score", "scores", "reward", "auc", "auroc", "f1", "r2", "precision",
    "recall", "fitness", "return", "profit", "throughput", "ndcg", "bleu", "iou",
})  # fmt: skip
# Of these more is better, too; they are costs only where the caller says so.
SUCCESSES = frozenset({"solved", "success", "correct"})
# Our names, and what others call it. A column with our name counts before those with others.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "configuration": (
        "configuration", "config", "algorithm", "algo", "solver", "setting", "method", "version",
    ),
    "instance": (
        "instance", "inst", "problem", "benchmark", "task", "dataset", "fold", "hash", "file",
        "filename", "formula",
    ),
    "cost": (
        "cost", "par10", "par2", "objective", "value", "quality", "loss", "error", "runtime",
        "run_time", "time", "cpu_time", "cputime", "walltime", "seconds", *SCORES,
    ),
    "seed": ("seed", "random_seed", "instance_seed"),
    "run": ("run", "repetition", "rep", "replicate"),
    "status": ("status", "runstatus", "run_status", "result", "outcome", "solved", "success"),
    "family": ("family", "families", "class", "group"),
}  # fmt: skip
NEEDED = ("configuration", "instance", "cost")
# What a name may end in without meaning something else.
ENDING = re.compile(r"_(name|id|file|path|s|sec)$")
# What stands in brackets, other units than seconds left out: a cutoff is in seconds.
BRACKETS = re.compile(r"[(\[](?!\W*(ns|us|µs|ms|msec|milli|m|min|minutes|h|hours)\b).*?[)\]]")


def plain_name(name: str) -> str:
    """The name of a column in small letters, without brackets, `_` for what separates its words."""
    # The start is enough, and brackets that never close take a square of the time.
    plain = re.sub(r"\W+", "_", BRACKETS.sub("", name[:200].lower())).strip("_")
    return ENDING.sub("", plain)


def roles_by_name(
    columns: Sequence[str], given: Mapping[str, str], wanted: Iterable[str] = SYNONYMS
) -> dict[str, str]:
    """The column of each role, as far as it is given or its whole name says it, whatever the case.

    A given "" says that no column has the role. Two columns that could have the same role are
    refused, unless one has our name for it.
    """
    roles = {role: name.strip() for role, name in given.items()}
    for role, name in roles.items():
        if role not in SYNONYMS:
            raise InputError(
                f"--columns has {role!r:.60} on the left. Choose one of {', '.join(SYNONYMS)}."
            )
        if name and name not in columns:
            raise InputError(
                f"The table has no column {name!r:.60}.{did_you_mean(name, columns)} It has "
                f"{listed(columns)}."
            )
    plain = {name: plain_name(name) for name in columns if name not in roles.values()}
    for role in wanted:
        candidates = [name for name in plain if plain[name] in SYNONYMS[role]]
        candidates = [name for name in candidates if plain[name] == role] or candidates
        if role in roles or not candidates:
            continue
        if len(candidates) > 1:
            raise InputError(
                f"{' and '.join(candidates):.200} could each be the {role}. Choose one: "
                f"--columns {role}={candidates[0]}."
            )
        roles[role] = candidates[0]
        del plain[candidates[0]]
    return {role: name for role, name in roles.items() if name}


def listed(names: Iterable[str]) -> str:
    """Names of columns in a message of one line, whatever is in them."""
    return f"{', '.join(name if name.isprintable() else repr(name) for name in names):.200}"
