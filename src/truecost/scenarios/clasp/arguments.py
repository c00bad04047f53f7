"""A configuration as clasp's options.

The space lists the parts of an option one by one, as `option` or `option:part`, in the order in
which clasp reads them.
"""

from collections.abc import Mapping

# How these options say no: by nothing, by --no-NAME, or by 0. The others say --NAME=no.
SILENT = ("learn-explicit", "eq-dfs", "no-gamma", "update-act", "opt-heuristic")
SWITCHES = ("backprop", "restart-on-model", "init-moms", "sign-fix", "berk-huang", "local-restarts")
NO = {**dict.fromkeys(SILENT, ""), **{name: f"--no-{name}" for name in SWITCHES}, "eq": "--eq=0"}


def build(values: Mapping[str, object]) -> list[str]:
    """The options of clasp; an option none of whose parameters is active is left out."""
    options: dict[str, list[str]] = {}
    for name, value in values.items():
        option, _, part = name.partition(":")
        parts = options.setdefault(option, [])
        # These say only whether the next part is used.
        if part.endswith(("limited", "scheduled")):
            continue
        # A comma would end a value in a parameter file, so the space writes + for it.
        text = str(value).replace("+", ",") if len(str(value)) > 1 else str(value)
        parts.append(f"{part}={text}" if part in ("iter", "occ", "frozen") else text)
    words = []
    for option, (first, *others) in options.items():
        if first == "no":
            words.append(NO.get(option, f"--{option}=no"))
        elif first == "yes":
            others += ["time=0"] if option == "sat-prepro" else []
            words.append(f"--{option}={','.join(others)}" if others else f"--{option}")
        else:
            oll = ["oll"] if first == "usc" else []
            words.append(f"--{option}={','.join([first, *oll, *others])}")
    return [word for word in words if word]
