"""What the command line answers about every example and log, kept to compare two versions.

Works with any version of truecost that the interpreter has, so that two can be compared:

    .venv/bin/python tests/golden.py write FOLDER [--workers 2] [--only TEXT]
    .venv/bin/python tests/golden.py compare BEFORE AFTER [--rename OLD=NEW] [--ignore KEY]
    .venv/bin/python tests/golden.py sample tests/data/golden/sample.json.gz

`write` runs the whole cross product, one JSON file for each question. `compare` takes two of these
folders (or samples), and exits with 1 if they differ. `sample` writes the part that the tests run.
"""

import argparse
import gzip
import io
import json
import math
import multiprocessing
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    # Two processes with a thread of BLAS on every core would wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

DATA = Path(__file__).parent / "data"
SAMPLE = DATA / "golden" / "sample.json.gz"
ABSENT = "(absent)"

Answer = dict[str, Any]
Answers = dict[str, Answer]


class Source(NamedTuple):
    """Runs to ask about: words of a command, and two configurations that are in them."""

    words: tuple[str, ...]
    first: str
    second: str


def sources() -> list[Source]:
    """Every example and log, and some that are made from the examples; paths as in `prepared`."""
    examples = [
        Source((name,), *pair)
        for name, pair in {
            "kissat": ("2cb96f70a0", "0fa88eb8a1"),
            "lkh": ("ee23f799da", "cf050362c6"),
            "clasp": ("c0c0449c7a", "a2e0a2b60b"),
            "kissat-large": ("2cb96f70a0", "800a64f337"),
        }.items()
    ]
    irace = [
        Source((f"data/irace/{path.name}", *more, "--default=1"), "1", "12")
        for path in sorted((DATA / "irace").glob("*.Rdata"))
        for more in ((), ("--low=-100", "--high=100"))
    ]
    others = [
        Source(("data/runner/irace.Rdata",), "1", "24"),
        Source(("data/runner/irace.Rdata", "--low=0", "--high=20"), "1", "24"),
        Source(("data/smac/deterministic",), "1", "24"),
        Source(("data/smac/instances",), "1", "12"),
        Source(("data/smac/instances", "--low=0", "--high=10"), "1", "12"),
        Source(("data/smac/timeouts",), "1", "2"),
        Source(("data/smac/timeouts", "--cutoff=5", "--default=1"), "1", "2"),
        Source(("data/aslib/kissat-small",), "2cb96f70a0", "5e8e93afec"),
        Source(("data/aslib/kissat-small", "--default=2cb96f70a0"), "2cb96f70a0", "5e8e93afec"),
        *(
            Source((*words, "--default=2cb96f70a0"), "2cb96f70a0", "0fa88eb8a1")
            for words in (
                ("halved.npz", "--test=rest.npz"),
                ("raced.npz",),
                ("sparse.csv", "--cutoff=5"),
                ("kissat", "--utility=half-life=1"),
            )
        ),
        Source(("lkh", "--utility=linear=3"), "ee23f799da", "cf050362c6"),
    ]
    return [*examples, *irace, *others]


def cases() -> dict[str, tuple[str, ...]]:
    """Every question by its name; the words of a command."""
    asked = [words for source in sources() for words in _questions(source)]
    asked += _without_tests("bound", "--within=2", "--across=1", "--high=50", "--epsilon=0.5")
    asked += _without_tests("plan", "--within=2", "--across=1", "--error=0.1")
    asked += _without_tests("plan", "--sd=2", "--difference=0.3")
    for name, (kind, *more) in product(
        ("kissat", "clasp", "lkh"),
        (
            *(("estimators",), ("m", "--splits=60"), ("n", "--splits=60"), ("k", "--splits=60")),
            ("configure", "--repetitions=20", "--share=0.1"),
        ),
    ):
        asked += [("experiment", kind, name, *more, "--json")]
    named = {name_of(words): words for words in asked}
    assert len(named) == len(asked)
    return named


def name_of(words: Iterable[str]) -> str:
    """A question as the name of a file."""
    return re.sub(r"[^\w.=-]+", "_", " ".join(words).replace("--", ""))


def sample() -> dict[str, tuple[str, ...]]:
    """The questions the tests ask: of each kind a few, about all runs."""
    named = cases()
    texts = [name for name in named if named[name][0] != "report" and "--json" in named[name]]
    audits = [name for name in texts if named[name][0] == "audit"]
    others = [name for name in texts if named[name][0] != "audit"]
    slow = ("kissat-large", "experiment_configure")
    # Primes, so that the strides run through all combinations of options.
    taken = [*audits[::47], *others[::17]]
    return {name: named[name] for name in taken if not any(word in name for word in slow)}


def _questions(source: Source) -> Iterator[tuple[str, ...]]:
    words = source.words
    runs = tuple(word for word in words if not word.startswith("--test"))
    ways = ((), ("--chosen=from-list",), ("--chosen=on-part",), ("--chosen=before",))
    races = ((), ("--raced",), ("--no-raced",))
    deltas = ("--delta=0.05", "--delta=0.2")
    primaries = ((), ("--primary=mean",), ("--primary=wins",))
    for way, raced, delta in product(ways, races, deltas):
        named = (f"--configuration={source.second}",) if "--chosen=before" in way else ()
        for primary in primaries:
            yield ("audit", *words, *way, *named, *raced, delta, *primary, "--quiet", "--json")
        yield ("certify", *words, *way, *named, *raced, delta, "--json")
    for more in (("--list=500",), ("--seed=3",), (f"--configuration={source.second}",)):
        yield ("audit", *words, *more, "--quiet", "--json")
    fresh = "--fresh=fresh.txt"
    yield ("certify", *words, "--chosen=progressive", fresh, "--proposal=3", "--json")
    yield ("info", *runs, "--json")
    yield ("report", *words, "--out=page.html", "--splits=200", "--quiet", "--json")
    for goal in ("--error=0.2", "--bound=1", "--budget=5000runs", "--budget=1h"):
        yield ("plan", *runs, goal, "--json")
    for shown in ("mean", "wins", "wins=0.6", "speed-up=1.2", "solved=0.9"):
        yield ("plan", *runs, f"--show={shown}", "--json")
    yield ("plan", *runs, "--apart", source.first, source.second, "--json")
    yield ("bound", *runs, "--epsilon=1", "--json")
    # What people read; it may be worded in another way, and is compared only with --text.
    yield ("audit", *words, "--quiet")
    yield ("certify", *words)
    yield ("info", *runs)
    yield ("plan", *runs, "--error=0.2")
    yield ("plan", *runs, "--show=wins")


def _without_tests(*words: str) -> list[tuple[str, ...]]:
    return [(*words, "--json"), words]


# ---- asking ----------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    """Put everything that the questions speak of into a folder."""
    import numpy as np

    import truecost

    (folder / "data").symlink_to(DATA)
    matrix = truecost.load_example("kissat")
    instances = matrix.instances
    matrix.select(instances=instances[:20]).save(folder / "halved.npz")
    matrix.select(instances=instances[20:]).save(folder / "rest.npz")
    (folder / "fresh.txt").write_text("\n".join(instances[10:40]))
    # A race: later configurations are dropped after fewer instances.
    costs = matrix.costs.copy()
    for place in range(len(costs)):
        costs[place, max(3, 60 - 2 * place) :] = np.nan
    names = (matrix.configurations, instances, matrix.low, matrix.high)
    truecost.CostMatrix(costs, *names).save(folder / "raced.npz")
    costs = matrix.costs[:, :20].copy()
    costs[np.random.default_rng(1).random(costs.shape) < 0.4] = np.nan
    rows = [
        f"{matrix.configurations[c]},{instances[i]},{r},{costs[c, i, r]:.17g}"
        for c, i, r in np.argwhere(~np.isnan(costs)).tolist()
    ]
    header = "configuration,instance,seed,cost"
    (folder / "sparse.csv").write_text("\n".join([header, *rows]))


def ask(words: Iterable[str]) -> Answer:
    """What a command prints, as data where it is data; in this process and this folder."""
    from truecost import cli

    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
        for _ in range(2)
    )
    words = tuple(words)
    kept, sys.argv = sys.argv, ["truecost", *words]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            cli.main()
        code: Any = 0
    except SystemExit as ended:
        code = ended.code
    finally:
        sys.argv = kept
    printed, complaint = (stream.buffer.getvalue().decode() for stream in (out, err))
    answer: Answer = {"words": list(words), "code": code}
    if code in (2, 3):
        return answer | {"refusal": complaint.strip()}
    if "--json" in words:
        return answer | {"data": json.loads(printed)}
    return answer | {"text": printed.splitlines()}


def ask_all(named: Mapping[str, tuple[str, ...]], keep: Callable[[str, Answer], None]) -> None:
    """Ask each of these questions, in a folder of its own, and hand over the answers."""
    kept = dict(os.environ)
    os.environ |= {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    try:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            prepare(Path(folder))
            for name, words in named.items():
                keep(name, ask(words))
    finally:  # or other tests of this process would print at this width
        os.environ.clear()
        os.environ |= kept


def _write_part(folder: Path, named: dict[str, tuple[str, ...]]) -> None:
    def keep(name: str, answer: Answer) -> None:
        text = json.dumps(answer, indent=1, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")

    ask_all(named, keep)


def write(folder: Path, *, workers: int, only: str = "") -> None:
    """Ask everything whose name contains `only`; one file for each question."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    named = {name: words for name, words in cases().items() if only in name}
    parts = [dict(list(named.items())[k::workers]) for k in range(workers)]
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=_write_part, args=(folder, part)) for part in parts]
    for process in started:
        process.start()
    for process in started:
        process.join()
    if any(process.exitcode for process in started):
        raise SystemExit("some answers are missing: a process failed")


def write_sample(path: Path) -> None:
    """Ask what the tests ask; all answers in one packed file."""
    answers: Answers = {}
    ask_all(sample(), answers.__setitem__)
    content = json.dumps(answers, ensure_ascii=False, separators=(",", ":")).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, mtime=0))


def read(place: Path) -> Answers:
    """The answers in a folder or in a packed file."""
    if place.is_dir():
        return {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(place.glob("*.json"))
        }
    answers: Answers = json.loads(gzip.decompress(place.read_bytes()))
    return answers


# ---- comparing -------------------------------------------------------------------------------


def flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every number and text by its place: `noise.spread.0`."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from flat(part, f"{key}.{name}" if key else name)
    elif isinstance(value, list) and value:
        for place, part in enumerate(value):
            yield from flat(part, f"{key}.{place}")
    else:
        yield key, value


def same(before: Any, after: Any, tolerance: float) -> bool:
    """Whether two values agree; numbers up to a relative tolerance."""
    numbers = (int, float)
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if isinstance(before, numbers) and isinstance(after, numbers):
        return before == after or math.isclose(before, after, rel_tol=tolerance, abs_tol=tolerance)
    return bool(before == after)


def differences(
    before: Answer,
    after: Answer,
    *,
    tolerance: float = 0.0,
    renames: Mapping[str, str] | None = None,
) -> dict[str, tuple[Any, Any]]:
    """What differs between two answers, by place.

    `renames` are regular expressions for places of `before`, with what takes their place.
    """

    def renamed(key: str) -> str:
        for old, new in (renames or {}).items():
            key = re.sub(old, new, key)
        return key

    olds = {renamed(key): value for key, value in flat(before)}
    news = dict(flat(after))
    pairs = {key: (olds.get(key, ABSENT), news.get(key, ABSENT)) for key in {**olds, **news}}
    return {key: pair for key, pair in pairs.items() if not same(*pair, tolerance)}


def compare(asked: argparse.Namespace) -> bool:
    """Print what differs, a line for each place with the number of answers; whether nothing does."""
    before, after = read(asked.before), read(asked.after)
    renames = dict(pair.split("=", 1) for pair in asked.rename)
    places: dict[str, list[tuple[str, Any, Any]]] = defaultdict(list)
    compared = [name for name in before if name in after]
    differing = set()
    for name in compared:
        if not asked.text and "text" in before[name]:
            continue
        found = differences(before[name], after[name], tolerance=asked.tolerance, renames=renames)
        for key, pair in found.items():
            if not any(re.search(pattern, key) for pattern in asked.ignore):
                places[re.sub(r"\.\d+(?=\.|$)", ".*", key)].append((name, *pair))
                differing.add(name)
    lost = sorted(set(before) ^ set(after))
    say = sys.stdout.write
    for key, where in sorted(places.items()):
        names = {name for name, _, _ in where}
        say(f"{key}: {len(names)} answers\n")
        for name, old, new in where[: asked.most]:
            say(f"    {name}\n        {_short(old)}\n        {_short(new)}\n")
    if asked.names:
        say("".join(f"{name}\n" for name in sorted(differing)))
    if lost:
        say(f"{len(lost)} questions are in one of the two only, such as {lost[0]}\n")
    say(f"{len(compared)} answers compared, {len(differing)} differ\n")
    return not differing and not lost


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:197]}..."


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="ask everything")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--workers", type=int, default=2)
    writing.add_argument("--only", default="", help="only questions with this in their name")
    sampling = commands.add_parser("sample", help="ask what the tests ask")
    sampling.add_argument("file", type=Path, nargs="?", default=SAMPLE)
    comparing = commands.add_parser("compare", help="print what differs")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--rename", action="append", default=[], help="OLD=NEW, of places")
    comparing.add_argument("--ignore", action="append", default=[], help="places, as a pattern")
    comparing.add_argument("--tolerance", type=float, default=0.0)
    comparing.add_argument("--most", type=int, default=2, help="examples of each place")
    comparing.add_argument("--text", action="store_true", help="compare what people read, too")
    comparing.add_argument("--names", action="store_true", help="list answers that differ")
    asked = parser.parse_args()
    if asked.command == "write":
        write(asked.folder, workers=asked.workers, only=asked.only)
    elif asked.command == "sample":
        write_sample(asked.file)
    elif not compare(asked):
        sys.exit(1)


if __name__ == "__main__":
    main()
