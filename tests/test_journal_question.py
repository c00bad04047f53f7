"""What a campaign was asked is compared in one place when it is resumed."""

from pathlib import Path
from typing import Any

import campaign_tools as tools
import pytest

from truecost.errors import InputError
from truecost.journal.journal import Journal, Kind
from truecost.running.pools import Finished, Task
from truecost.running.scenario import Scenario
from truecost.runs import Status


def begin(
    path: Path,
    scenario: Scenario,
    settings: dict[str, Any] | None = None,
    kind: Kind = "gather",
    status: Status = Status.SOLVED,
) -> None:
    """A journal with one run."""
    with Journal.write(path, scenario, kind, settings or {}) as journal:
        default, instance = scenario.space.default(), scenario.instances[0]
        journal.enter([default], [instance])
        task = Task(configuration=default, instance=instance, number=0, seed=1)
        outcome = tools.outcome(0.5, status)
        journal.add([Finished(task=task, outcome=outcome, machine=tools.MACHINE)])


@pytest.mark.parametrize(
    ("file", "old", "new", "difference"),
    [
        ("scenario.toml", "cpu = 1.0", "cpu = 2.0", r"limits\.cpu was 1\.0, is 2\.0"),
        ("scenario.toml", "seed = 3", "seed = 4", "seed was 3, is 4"),
        ("scenario.toml", '["./solver.sh"]', '["./solver.sh", "-v"]', r"target\.command was .*is"),
        ("solver.sh", "#!/bin/sh\n", "#!/bin/sh\n#\n", r"the file solver\.sh has changed"),
        ("space.pcs", "[0]", "[2]", r"space: -x .*\[0\]; \+x .*\[2\]"),
    ],
)
def test_a_changed_scenario_is_refused(
    tmp_path: Path, file: str, old: str, new: str, difference: str
) -> None:
    """Runs of two different experiments would be mixed in one journal."""
    scenario = tools.scenario(tmp_path)
    begin(tmp_path / "runs.db", scenario)
    (tmp_path / file).write_text((tmp_path / file).read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=difference):
        Journal.write(tmp_path / "runs.db", Scenario.read(scenario.path), "gather", {})


def test_settings_are_compared(tmp_path: Path) -> None:
    """A validation would go on with another δ than it began with, or a refusal keep the lock."""
    scenario, path = tools.scenario(tmp_path), tmp_path / "v.db"
    begin(path, scenario, {"delta": 0.05, "margin": None}, "validate")
    with pytest.raises(InputError, match=r"delta was 0\.05, is 0\.1, margin was not given, is "):
        Journal.write(path, scenario, "validate", {"delta": 0.1, "margin": "5%"})
    with pytest.raises(InputError, match=r"created by `validate`.* --journal"):
        Journal.write(path, scenario, "gather", {})
    with Journal.write(path, scenario, "validate", {"delta": 0.05, "margin": None}) as journal:
        assert journal.settings == {"delta": 0.05, "margin": None}


def test_before_the_first_run_everything_may_change(tmp_path: Path) -> None:
    """A scenario mended after a first run that was aborted would need another journal."""
    scenario = tools.scenario(tmp_path)
    begin(tmp_path / "r.db", scenario, status=Status.ABORTED)
    scenario.path.write_text(scenario.path.read_text().replace("seed = 3", "seed = 4"))
    with Journal.write(tmp_path / "r.db", Scenario.read(scenario.path), "gather", {}) as journal:
        assert journal.question["scenario"]["seed"] == 4
        assert journal.is_blank


def test_another_metric_is_the_same_gathering(tmp_path: Path) -> None:
    """A corrected range or penalty would cost the runs."""
    begin(tmp_path / "runs.db", tools.scenario(tmp_path))
    changed = tools.scenario(tmp_path, metric={"kind": "value", "low": 0.0, "high": 5.0})
    with Journal.write(tmp_path / "runs.db", changed, "gather", {}) as journal:
        assert journal.matrix().high == 5


def test_secrets_are_not_written_down(tmp_path: Path) -> None:
    """A password in the scenario's environment would be in the journal in clear text."""
    target = {"kind": "wrapper", "command": ["./solver.sh"], "environment": {"TOKEN": "hush-hush"}}
    scenario = tools.scenario(tmp_path, target=target)
    begin(tmp_path / "runs.db", scenario)
    assert b"hush-hush" not in (tmp_path / "runs.db").read_bytes()
    Journal.write(tmp_path / "runs.db", Scenario.read(scenario.path), "gather", {}).close()
    scenario.path.write_text(scenario.path.read_text().replace("hush-hush", "other"))
    with pytest.raises(InputError, match=r"environment\.TOKEN has another value") as caught:
        Journal.write(tmp_path / "runs.db", Scenario.read(scenario.path), "gather", {})
    assert "hush" not in str(caught.value)
