import re

from commands import Run
from pages import ROOT


def test_the_demo_says_what_the_readme_says(run: Run, tmp_path: object) -> None:
    """The true cost and the error quoted in the README would not be those of the demo."""
    said = " ".join(run("demo", "--out", tmp_path, "--splits", 0).stdout.split())
    cost, error = re.findall(
        r"is (\d+\.\d+) in that model, and the largest estimation error of the 40 is (\d+\.\d+)",
        (ROOT / "README.md").read_text(),
    )[0]
    assert f"the true cost of random-26 is {cost}" in said
    assert f"the uniform error of all is {error}" in said
