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
KINDS = ("quality", "scores", "families", "seeds", "refused", "tests of the winner only",
         "hostile names")  # fmt: skip


@pytest.mark.parametrize("draw", ALL)
def test_figures_draw_into_given_axes(draw: Callable[..., Axes]) -> None:
    """A user's grid of panels would stay empty, or a window would open."""
    ax = Figure().add_subplot()
    assert draw(records.assessment(), ax=ax) is ax
    assert ax.has_data() or ax.images


@pytest.mark.parametrize("draw", ALL)
def test_figures_leave_settings_alone(draw: Callable[..., Axes]) -> None:
    """A figure of a user's own notebook would change its look after ours."""
    before = dict(mpl.rcParams)
    svg(draw(records.assessment()))
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


@pytest.mark.parametrize("name", KINDS)
def test_comparisons_of_every_kind_are_drawn(name: str) -> None:
    """A log of scores, families, seeds or without guarantees would have no figures."""
    for draw in SAME:
        assert svg(draw(records.samples()[name])).startswith("<svg")


@pytest.mark.parametrize("name", ["one configuration", "quality", "seeds", "hostile names"])
def test_runs_of_every_kind_are_drawn(name: str) -> None:
    """A log with one configuration or one instance would end the report."""
    for draw in RUNS:
        assert svg(draw(records.samples()[name])).startswith("<svg")


@pytest.mark.parametrize("draw", [*SAME, figures.over_tuning, figures.incumbents])
def test_missing_data_are_said(draw: Callable[..., Axes]) -> None:
    """A figure that cannot be drawn would end in a traceback that says nothing."""
    with pytest.raises(InputError):
        draw(records.samples()["one configuration"])


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
    assert np.isclose(total, sample.same.difference.observed)


def test_unsolved_runs_keep_the_curve_down() -> None:
    """A curve of running times would reach 100 % although runs timed out."""
    ax = figures.ecdf(records.assessment())
    runs = records.times()
    solved = 1 - runs.failed[[4, 0]].mean(axis=(1, 2))
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in ax.lines]
    assert np.allclose(ends, solved)


def test_training_and_test_are_apart() -> None:
    """Training costs would be drawn beside test costs as if they were comparable."""
    sample = records.samples()["tests"]
    training, test = (figures.incumbents(sample, test=which) for which in (False, True))
    assert training.figure is not test.figure
    assert "training" in training.get_ylabel()
    assert "test" in test.get_ylabel()


def test_winner_and_default_are_always_ranked() -> None:
    """A default in place 300 would be missing from the ranking."""
    labels = [text.get_text() for text in figures.ranking(records.assessment(), most=1)
              .get_yticklabels()]  # fmt: skip
    assert [label.split()[0] for label in labels] == ["winner", "default"]


def test_many_points_become_an_image() -> None:
    """A figure of 5,000 instances would take a viewer seconds to open."""
    few = svg(figures.scatter(records.assessment()))
    many = svg(figures.scatter(records.assessment(runs=records.times(5, 2500, 1))))
    assert "<image" in many
    assert "<image" not in few


@pytest.mark.parametrize(("width", "inches"), [("column", 3.35), ("page", 7.0)])
def test_files_have_the_width_of_the_paper(width: Any, inches: float, tmp_path: Path) -> None:
    """LaTeX would scale the figure, and its text would not be 8 points any more."""
    ax = figures.deciding(records.assessment())
    figure = ax.get_figure(root=True)
    assert figure is not None
    sizes = [text.get_fontsize() for text in figure.findobj(Text)]
    figures.save(ax, tmp_path / "figure.png", width=width)
    from PIL import Image

    with Image.open(tmp_path / "figure.png") as image:
        assert abs(image.width - 300 * inches) <= 1
    # The figure on the screen stays as it was.
    assert [text.get_fontsize() for text in figure.findobj(Text)] == sizes


def long_names() -> Assessment:
    """Winner and default with names of 60 letters, on instances with as long ones."""
    runs = records.times()
    runs = runs.replace(
        configurations=[f"{'very-long-name-' * 4}{name}" for name in runs.configurations],
        instances=[f"{'very-long-name-' * 4}{name}" for name in runs.instances],
    )
    return records.judged(runs, default=runs.configurations[0])


@pytest.mark.parametrize("draw", ALL)
@pytest.mark.parametrize("make", [records.assessment, long_names])
def test_nothing_is_cut_off_in_a_column(
    draw: Callable[..., Axes], make: Callable[[], Assessment]
) -> None:
    """A label would end at the edge of the figure."""
    from truecost.show.figures.style import _sized

    if draw is figures.incumbents and make is long_names:
        return
    figure = draw(make()).get_figure(root=True)
    assert figure is not None
    with _sized(figure, 3.35):
        figure.savefig(io.BytesIO(), format="png")
        whole = figure.get_tightbbox()
        width, height = figure.get_size_inches()
    assert whole.x0 >= -0.02
    assert whole.x1 <= width + 0.02
    assert whole.y0 >= -0.02
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
    with pytest.raises(InputError):
        figures.save(figures.ecdf(records.assessment()), tmp_path / "figure.docx")
    with pytest.raises(InputError):
        figures.save(figures.ecdf(records.assessment()), tmp_path / "f.pdf", width="wide")  # type: ignore[arg-type]


def test_any_script_can_be_drawn() -> None:
    """A Chinese instance name would print a warning for each letter."""
    runs = records.times().replace(instances=[f"实例-{place}" for place in range(50)])
    assert "实例" in svg(figures.deciding(records.judged(runs, default="0")))


def test_numbers_in_figures_keep_their_digits() -> None:
    """Shortening the file would cut 0.236 to 0.23."""
    assert "winner 4.52" in svg(figures.same_instances(records.assessment()))
    same = records.assessment().same
    assert same is not None
    small = replace(same, winner_cost=0.2361)
    assert "winner 0.236" in svg(figures.same_instances(records.assessment(same=small)))
