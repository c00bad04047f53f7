"""A configuration as clasp's options: the parts that the space lists one by one, put together."""

from collections.abc import Mapping

# yes: --name, no: nothing; or no: --no-name, where clasp has that.
FLAGS = "learn-explicit eq-dfs no-gamma update-act"
SWITCHES = "backprop restart-on-model init-moms sign-fix berk-huang local-restarts"
PLAIN = (
    "configuration trans-ext reset-restarts sign-def score-other score-res save-progress "
    "init-watches rand-freq partial-check del-max del-estimate del-on-restart otfs update-lbd "
    "reverse-arcs loops"
)
# What is used where its switch, or the option itself, is not `no`: option -> switch and parts, a
# part that begins with a colon behind the option's own name.
COMPOSED = {
    "opt-strategy": "opt-strategy opt-strategy :bb oll:usc :usc",
    "heuristic": "heuristic heuristic :vsids :vmtf :berkmin",
    "dom-mod": "dom-mod:mod :mod :pick",
    "lookahead": "lookahead lookahead :limit",
    "restarts": "restarts restarts :first :window :luby-limit :factor :factor-limit :addend "
    ":addend-limit :margin :lbd-limit",
    "counter-restarts": "counter-restarts :rate :bump",
    "deletion": "deletion :algorithm :percent :score",
    "del-init": "deletion :fraction :low :width",
    "del-glue": "deletion :lbd :ignore",
    "del-cfl": "del-cfl del-cfl :first :factor :addend :limit",
    "del-grow": "del-grow :factor :stop :schedule :schedule-first :schedule-factor "
    ":schedule-addend :schedule-limit",
    "strengthen": "strengthen strengthen :type",
    "contraction": "contraction :size",
    "eq": "eq :iterations",
}


def build(values: Mapping[str, object]) -> list[str]:
    """The options of clasp; an option none of whose parameters is active is left out."""
    # A comma would end a value in a parameter file, so the space writes + for it.
    known = {
        name: str(value).replace("+", ",") if len(str(value)) > 1 else str(value)
        for name, value in values.items()
    }
    if known.get("opt-strategy") == "usc":
        known["oll:usc"] = "oll"
    words = [f"--{name}" for name in FLAGS.split() if known.get(name) == "yes"]
    words += [
        f"--{name}" if known[name] == "yes" else f"--no-{name}"
        for name in SWITCHES.split()
        if name in known
    ]
    words += [f"--{name}={known[name]}" for name in PLAIN.split() if name in known]
    for option, composition in COMPOSED.items():
        switch, *parts = composition.split()
        parts = [f"{option}{part}" if part.startswith(":") else part for part in parts]
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
