"""`truecost doctor`."""

from truecost.cli.options import Json
from truecost.cli.printing import Toned, answer, print_table


def doctor(json: Json = False) -> None:
    """What this machine offers: threads, ways to limit and measure runs, solvers, extras."""
    from truecost import doctor as machine

    findings = machine.examine()
    rows: list[list[str | Toned]] = [
        [
            finding.area,
            finding.name,
            Toned("yes", "good") if finding.there else Toned("no", "open"),
            finding.detail,
        ]
        for finding in findings
    ]
    answer(
        json,
        {"findings": findings},
        lambda: print_table("This machine", ["", "", "", ""], rows, left=4),
    )
