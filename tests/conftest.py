import sys

import pytest
from commands import Ended, Run
from hypothesis import settings

# No test asserts a time, on machines that are as noisy as ours.
settings.register_profile("patient", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("patient")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line without the seconds that a process of its own takes."""
    from truecost.cli import main

    def call(*words: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["truecost", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out, err)

    return call
