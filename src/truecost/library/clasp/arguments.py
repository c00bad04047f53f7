"""A configuration as clasp's options: the parts that the space lists one by one, put together."""

from collections.abc import Mapping

# yes: --name, no: nothing; or no: --no-name, where clasp has that.
FLAGS = ("learn-explicit", "eq-dfs", "no-gamma", "update-act")
SWITCHES = ("backprop", "restart-on-model", "init-moms", "sign-fix", "berk-huang", "local-restarts")
PLAIN = (
    "configuration", "trans-ext", "reset-restarts", "sign-def", "score-other", "score-res", "save-progress", "init-watches",
    "rand-freq", "partial-check", "del-max", "del-estimate", "del-on-restart", "otfs", "update-lbd", "reverse-arcs", "loops",
)  # fmt: skip
# What is used where its switch, or the option itself, is not `no`: option -> switch, parts.
COMPOSED = {
    "opt-strategy": ("opt-strategy", ("opt-strategy", "opt-strategy:bb", "oll:usc", "opt-strategy:usc")),
    "heuristic": ("heuristic", ("heuristic", "heuristic:vsids", "heuristic:vmtf", "heuristic:berkmin")),
    "dom-mod": ("dom-mod:mod", ("dom-mod:mod", "dom-mod:pick")),
    "lookahead": ("lookahead", ("lookahead", "lookahead:limit")),
    "restarts": (
        "restarts",
        (
            "restarts", "restarts:first", "restarts:window", "restarts:luby-limit", "restarts:factor",
            "restarts:factor-limit", "restarts:addend", "restarts:addend-limit", "restarts:margin", "restarts:lbd-limit",
        ),
    ),
    "counter-restarts": ("counter-restarts", ("counter-restarts:rate", "counter-restarts:bump")),
    "deletion": ("deletion", ("deletion:algorithm", "deletion:percent", "deletion:score")),
    "del-init": ("deletion", ("del-init:fraction", "del-init:low", "del-init:width")),
    "del-glue": ("deletion", ("del-glue:lbd", "del-glue:ignore")),
    "del-cfl": ("del-cfl", ("del-cfl", "del-cfl:first", "del-cfl:factor", "del-cfl:addend", "del-cfl:limit")),
    "del-grow": (
        "del-grow",
        (
            "del-grow:factor", "del-grow:stop", "del-grow:schedule", "del-grow:schedule-first", "del-grow:schedule-factor",
            "del-grow:schedule-addend", "del-grow:schedule-limit",
        ),
    ),
    "strengthen": ("strengthen", ("strengthen", "strengthen:type")),
    "contraction": ("contraction", ("contraction:size",)),
    "eq": ("eq", ("eq:iterations",)),
}  # fmt: skip


def build(values: Mapping[str, object]) -> list[str]:
    """The options of clasp; an option none of whose parameters is active is left out."""
    known = {
        name: str(value).replace("+", ",") if len(str(value)) > 1 else str(value)
        for name, value in values.items()
    }
    if known.get("opt-strategy") == "usc":
        known["oll:usc"] = "oll"
    words = [f"--{name}" for name in FLAGS if known.get(name) == "yes"]
    words += [
        f"--{name}" if known[name] == "yes" else f"--no-{name}"
        for name in SWITCHES
        if name in known
    ]
    words += [f"--{name}={known[name]}" for name in PLAIN if name in known]
    for option, (switch, parts) in COMPOSED.items():
        if known.get(switch) == "no":
            words += [f"--{option}={'0' if option == 'eq' else 'no'}"] if switch == option else []
        elif switch in known:
            words.append(f"--{option}=" + ",".join(known[part] for part in parts if part in known))
    if known["sat-prepro"] == "yes":
        limits = [f"{key}={known[f'sat-prepro:{key}']}" for key in ("iter", "occ", "frozen")]
        words.append("--sat-prepro=" + ",".join([known["sat-prepro:level"], *limits, "time=0"]))
    else:
        words.append("--sat-prepro=no")
    return words + (
        [] if known["opt-heuristic"] == "no" else [f"--opt-heuristic={known['opt-heuristic']}"]
    )
