import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import show_records as records
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from truecost.errors import InputError
from truecost.judge.assessment import Assessment
from truecost.show import figures
from truecost.show.figures.style import svg

SAME = (figures.same_instances, figures.scatter, figures.ecdf, figures.deciding)
RUNS = (figures.ranking, figures.matrix)
ALL = (*SAME, *RUNS, figures.incumbents, figures.over_tuning)
NAMES = ("quality", "scores", "families", "seeds", "refused", "tests of the winner only",
         "hostile names", "one configuration")  # fmt: skip


def figure_of(ax: Axes) -> Figure:
    """The figure of axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


@pytest.mark.parametrize("draw", ALL)
def test_figures_draw_into_given_axes(draw: Callable[..., Axes]) -> None:
    """A user's grid of panels would stay empty, or the figures of a notebook look different."""
    ax, before = Figure().add_subplot(), dict(mpl.rcParams)
    assert draw(records.assessment(), ax=ax) is ax
    assert ax.has_data() or ax.images
    svg(ax)
    assert dict(mpl.rcParams) == before


def test_no_figure_needs_pyplot() -> None:
    """Figures would pile up in memory, and a machine without a display would fail."""
    code = (
        "import sys; sys.path.insert(0, 'tests'); import show_records; "
        "from truecost.show.page import page; page(show_records.assessment()); "
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", ALL)
def test_logs_of_every_kind_are_drawn(draw: Callable[..., Axes], name: str) -> None:
    """A log of scores, families, seeds, one configuration or without guarantees would have no
    figures, or end the report in a traceback.
    """
    sample = records.samples()[name]
    missing = {
        figures.over_tuning: sample.selection is None,
        figures.incumbents: not sample.log.steps,
    } | dict.fromkeys(SAME, sample.same is None)
    if missing.get(draw):
        with pytest.raises(InputError):
            draw(sample)
    else:
        assert svg(draw(sample)).startswith("<svg")


def test_points_are_the_instances() -> None:
    """The scatter plot would show runs, or leave instances out."""
    ax = figures.scatter(records.assessment())
    drawn = np.vstack([np.asarray(points.get_offsets()) for points in ax.collections])
    costs = records.times().costs.mean(axis=2)
    expected = np.column_stack([costs[0], costs[4]])
    assert np.allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])


@pytest.mark.parametrize("name", ["tests", "families", "scores"])
def test_bars_add_up_to_the_difference(name: str) -> None:
    """The instances that decide would not make up the difference that the verdict gives."""
    sample = records.samples()[name]
    assert sample.same is not None
    total = sum(bar.get_width() for bar in figures.deciding(sample).patches)  # type: ignore[attr-defined]
    assert np.isclose(total, sample.same.difference)


def test_unsolved_runs_keep_the_curve_down() -> None:
    """A curve of running times would reach 100 % although runs timed out."""
    ax = figures.ecdf(records.assessment())
    solved = 1 - records.times().failed[[4, 0]].mean(axis=(1, 2))
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in ax.lines]
    assert np.allclose(ends, solved)


def test_training_and_test_are_apart() -> None:
    """Training costs would be drawn beside test costs as if they were comparable."""
    sample = records.samples()["tests"]
    training, test = (figures.incumbents(sample, test=which) for which in (False, True))
    assert training.figure is not test.figure
    assert "training" in training.get_ylabel()
    assert "test" in test.get_ylabel()
    costs = {row.configuration: row.test_cost for row in sample.ranking}
    drawn = [float(cost) for cost in np.asarray(test.lines[0].get_ydata())]
    assert drawn == [costs[step.configuration] for step in sample.log.steps]


def test_winner_and_default_are_always_ranked() -> None:
    """A default in place 300 would be missing from the ranking."""
    given = records.assessment()
    others = [replace(given.ranking[1], configuration=f"other {place}") for place in range(30)]
    sample = replace(given, ranking=(*others, given.ranking[0], given.ranking[-1]))
    labels = [text.get_text() for text in figures.ranking(sample).get_yticklabels()]
    assert [label.split()[0] for label in labels[-2:]] == ["winner", "default"]
    assert len(labels) < 20


def test_many_points_become_an_image() -> None:
    """A figure of 5,000 instances would take a viewer seconds to open."""
    same = records.assessment().same
    assert same is not None
    for instances, drawn in ((50, False), (2500, True)):
        runs = records.times(2, instances, 1)
        sample = records.assessment(same=replace(same, runs=runs))
        assert ("<image" in svg(figures.scatter(sample))) == drawn


@pytest.mark.parametrize(("width", "inches"), [("column", 3.35), ("page", 7.0)])
def test_files_have_the_width_of_the_paper(width: Any, inches: float, tmp_path: Path) -> None:
    """LaTeX would scale the figure, and its text would not be 8 points any more."""
    from PIL import Image

    ax = figures.deciding(records.assessment())
    sizes = [text.get_fontsize() for text in figure_of(ax).findobj(Text)]
    figures.save(ax, tmp_path / "figure.png", width=width)
    with Image.open(tmp_path / "figure.png") as image:
        assert abs(image.width - 300 * inches) <= 1
    # The figure on the screen stays as it was.
    assert [text.get_fontsize() for text in figure_of(ax).findobj(Text)] == sizes


def long_names() -> Assessment:
    """Winner and default with names of 60 letters, on instances with as long ones."""
    runs, long = records.times(), "very-long-name-" * 4
    runs = runs.replace(
        configurations=[f"{long}{name}" for name in runs.configurations],
        instances=[f"{long}{name}" for name in runs.instances],
    )
    steps = tuple(replace_step(step, long) for step in records.assessment().log.steps)
    return records.judged(runs, default=runs.configurations[0], steps=steps)


def replace_step(step: Any, prefix: str) -> Any:
    """A step of a configuration with a prefix."""
    return step._replace(configuration=f"{prefix}{step.configuration}")


@pytest.mark.parametrize("draw", ALL)
@pytest.mark.parametrize("make", [records.assessment, long_names])
def test_nothing_is_cut_off_in_a_column(
    draw: Callable[..., Axes], make: Callable[[], Assessment]
) -> None:
    """A label would end at the edge of the figure."""
    from truecost.show.figures.style import _sized

    figure = figure_of(draw(make()))
    with _sized(figure, 3.35):
        figure.savefig(io.BytesIO(), format="png")
        whole, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(whole.x0, whole.y0) >= -0.02
    assert whole.x1 <= width + 0.02
    assert whole.y1 <= height + 0.02


@pytest.mark.parametrize("ending", ["pdf", "svg", "png"])
def test_the_same_figure_makes_the_same_file(ending: str, tmp_path: Path) -> None:
    """A paper under version control would change with every run."""
    paths = [tmp_path / f"{place}.{ending}" for place in range(2)]
    for path in paths:
        figures.save(figures.ecdf(records.assessment()), path, width="column")
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    """A typing error in the ending would end in a traceback of matplotlib."""
    ax, wide = figures.ecdf(records.assessment()), {"width": "wide"}
    for name, how in (("figure.docx", {}), ("figure.pdf", wide)):
        with pytest.raises(InputError):
            figures.save(ax, tmp_path / name, **how)  # type: ignore[arg-type]


def test_any_script_can_be_drawn() -> None:
    """A Chinese instance name would print a warning for each letter."""
    runs = records.times().replace(instances=[f"实例-{place}" for place in range(50)])
    assert "实例" in svg(figures.deciding(records.judged(runs, default="0")))


def test_numbers_in_figures_keep_their_digits() -> None:
    """Shortening the file would cut 0.236 to 0.23."""
    same = records.assessment().same
    assert same is not None
    sample = records.assessment(same=replace(same, winner_cost=0.2361))
    assert "winner 0.236" in svg(figures.same_instances(sample))
