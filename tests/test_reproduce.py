import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from commands import interrupt, run
from test_figures import named
from test_resample import runtimes, with_gaps

import truecost
from truecost.errors import InputError
from truecost.matrix import CostMatrix
from truecost.paper import resample, tables
from truecost.show import reproducing
from truecost.show.reproducing import reproduce

FIGURES = (
    "matrix",
    "variance-shares",
    "over-tuning",
    "uniform-error",
    "selection-error",
    "bounds",
    "estimators",
    "estimators-all",
)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but PDFs, whose parts come in any order."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".pdf"
    }


def test_everything_from_the_command_line(tmp_path: Path) -> None:
    """`truecost reproduce` would leave out a figure, its data or a verdict, or compute other
    numbers than `experiment`.
    """
    matrix, out = tmp_path / "m|<b>.npz", tmp_path / "new" / "results"
    runtimes(10, 20, 5).save(matrix)
    ended = run("reproduce", matrix, "--out", out, "--splits", 30, "--seed", 3, "--json")
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)["matrices"][matrix.name]
    assert {str(path) for path in out.rglob("*") if path.is_file()} == set(answer["files"])
    for name in FIGURES:
        for ending, start in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<svg")):
            assert (out / "figures" / f"{name}.{ending}").read_bytes().startswith(start)
    text = (out / "results.md").read_text()
    assert r"# The paper's experiments on m\|\<b\>\.npz" in text
    assert len(answer["claims"]) == 8
    for claim in answer["claims"]:
        assert f"| {claim['says']} | **{claim['verdict']}** |" in text
        assert claim["finding"] in text
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (out / link).is_file()
    alone = tmp_path / "n.parquet"
    assert (
        run("experiment", "n", matrix, "--splits", 30, "--seed", 3, "--out", alone).returncode == 0
    )
    assert pl.read_parquet(out / "data" / "error-n.parquet").equals(pl.read_parquet(alone))
    assert (
        run(
            "experiment", "estimators", matrix, "--splits", 30, "--seed", 3, "--out", alone
        ).returncode
        == 0
    )
    both = pl.read_parquet(out / "data" / "estimators-k10.parquet").join(
        pl.read_parquet(alone), on=["estimator", "k", "n"], suffix="_alone"
    )
    assert both.height == 48
    # A schedule of its own for each estimator: those that are simulated beside one another do not
    # matter.
    np.testing.assert_allclose(both["absolute"], both["absolute_alone"])


def test_interrupted_work_goes_on(tmp_path: Path) -> None:
    """Finished parts would be computed again, unfinished or foreign ones kept, or going on would
    change a number.
    """
    matrix, out = runtimes(6, 12, 2), tmp_path / "out"

    def again(seed: int = 1, matrix: CostMatrix = matrix) -> list[str]:
        return reproduce(matrix, out=out, splits=20, seed=seed, formats=[]).kept

    assert again() == []
    first = contents(out)
    (out / "results.md").unlink()
    (out / "data" / "error-k.parquet").unlink()
    (out / "data" / "error-m.parquet").write_bytes(b"PAR1 and no more")
    tables.save(pl.DataFrame({"n": [1]}), out / "data" / "error-n.parquet", seed=1, splits=20)
    kept = again()
    assert len(kept) == len(list((out / "data").iterdir())) - 3
    assert not {"error-k", "error-m", "error-n"} & set(kept)
    assert contents(out) == first
    assert again(seed=2) == []
    changed = np.array(matrix.costs)
    changed[0, 0, 0] += 1e-9
    assert (
        again(seed=2, matrix=CostMatrix(changed, matrix.configurations, matrix.instances, 0, 100))
        == []
    )
    assert again(seed=1) == []
    assert contents(out) == first


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    """Progress would go back, stop before the end, or not say what is being done."""
    seen: list[tuple[str, float]] = []
    reproduce(
        runtimes(5, 16, 3),
        out=tmp_path,
        splits=20,
        formats=[],
        progress=lambda *step: seen.append(step),
    )
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    assert "error against N" in {what for what, _ in seen}
    assert "estimators at K = 8" in {what for what, _ in seen}


def test_forecasts_do_not_count_compilation_or_kept_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour to go would be forecast for a minute of work after kernels were compiled, or nothing
    after tables were read.
    """
    seen: list[str] = []
    sweep, compare = resample.sweep, resample.compare_estimators

    def swept(of: CostMatrix, kind: Any, **words: Any) -> Any:
        seen.append(kind)
        return sweep(of, kind, **words)

    def compared(of: CostMatrix, **words: Any) -> Any:
        seen.append("estimators")
        return compare(of, **words)

    monkeypatch.setattr(resample, "sweep", swept)
    monkeypatch.setattr(resample, "compare_estimators", compared)

    def report(what: str, _: float) -> None:
        seen.append(what)

    def again() -> list[str]:
        seen.clear()
        reproduce(runtimes(5, 16, 3), out=tmp_path, splits=20, formats=[], progress=report)
        return seen

    kernels = ["m", "n", "k", "estimators"]
    assert again()[:5] == [*kernels, "error against m"]
    (tmp_path / "data" / "error-k.parquet").unlink()
    assert again()[:6] == [*kernels, "error against K", "k"]


def test_interruption(tmp_path: Path) -> None:
    """Ctrl-C would end in a traceback, lose finished parts, leave half a file, or a page of results
    that are not there.
    """
    path, out = tmp_path / "matrix.npz", tmp_path / "out"
    runtimes(60, 100, 5).save(path)
    out.mkdir()
    (out / "results.md").write_text("of another matrix")
    interrupt("reproduce", path, "--out", out, "--splits", "10000", when=b"error against N")
    left = {path.name for path in out.rglob("*") if path.is_file()}
    assert "error-m.parquet" in left
    assert not {name for name in left if name == "results.md" or name.endswith(".unfinished")}


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (with_gaps(6, 12, 4, least=2), ["S† is undefined", "missing"]),
        (runtimes(5, 13, 1), ["With one run per instance", "none missing"]),
        (named(np.full((4, 8, 2), 7.0)), ["**cannot be judged**"]),
        (
            named(np.random.default_rng(1).normal(0, 1, (5, 9, 2)), low=-9, high=9),
            ["costs in [-9, 9]"],
        ),
    ],
    ids=["gaps", "single runs", "constant", "negative"],
)
def test_unusual_matrices(matrix: CostMatrix, words: list[str], tmp_path: Path) -> None:
    """A matrix unlike the paper's would end in a fault, or the page would not say what is
    different.
    """
    reproduce(matrix, out=tmp_path, splits=20, formats=[])
    text = (tmp_path / "results.md").read_text()
    for each in words:
        assert each in text
    assert "nan" not in re.sub("instance", "", text)
    assert "![" not in text


def test_bad_input(tmp_path: Path) -> None:
    """Wrong input would cost work, leave something behind, or end in more than one line."""
    good, holes = tmp_path / "good.npz", tmp_path / "holes.npz"
    runtimes(6, 12, 2).save(good)
    costs = np.array(runtimes(6, 12, 2).costs)
    costs[2, 3] = np.nan
    named(costs).save(holes)
    (tmp_path / "file").write_text("")
    before = contents(tmp_path)
    out = tmp_path / "out"
    for words, message in (
        ([good], "--out"),
        ([good, "--out", tmp_path / "file"], "file"),
        ([good, "--out", out, "--threads", 999], "threads"),
        ([holes, "--out", out], "'c2' has none on 'i3'"),
    ):
        ended = run("reproduce", *words)
        assert ended.returncode == 2, (words, ended)
        assert ended.stdout == ""
        assert ended.stderr.count("\n") == 1
        assert message in ended.stderr
        assert contents(tmp_path) == before
    for matrix, settings, message in (
        (runtimes(6, 12, 2), {"delta": 1.0}, "delta between 0 and 1, got 1"),
        (runtimes(6, 12, 2), {"splits": 1}, "at least 2 splits, got 1"),
        (runtimes(3, 12, 2), {}, "at least 4 configurations and 8 instances, .* got 3 and 12"),
        (runtimes(6, 7, 2), {}, "at least 4 configurations and 8 instances, .* got 6 and 7"),
        (runtimes(6, 12, 2).replace(high=np.inf), {}, "Theorem 2 needs it"),
    ):
        with pytest.raises(InputError, match=message):
            reproduce(matrix, out=out, **settings)
    assert not out.exists()


def test_it_is_reached_from_the_top() -> None:
    """`truecost.reproduce` would be a module that nobody can call."""
    assert truecost.reproduce is reproduce


def test_names_are_no_markup() -> None:
    """A name on the page would become a link, a heading, a table cell or HTML."""
    name = "a_b*c*[x](http://x)<b>`|\n# y\x1b"
    shown = reproducing.escaped(name)
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown) == name.replace("\n", "\\n").replace(
        "\x1b", "\\x1b"
    )
    assert not re.search(r"(?<!\\)[_*\[<`|#]", shown)
