"""`truecost doctor`."""

from truecost.cli.options import Json
from truecost.cli.printing import Toned, print_json, print_table


def doctor(json: Json = False) -> None:
    """What this machine offers: threads, ways to limit and measure runs, solvers, extras."""
    from dataclasses import asdict

    from truecost import doctor as machine

    findings = machine.examine()
    if json:
        print_json([asdict(finding) for finding in findings])
        return
    rows: list[list[str | Toned]] = [
        [f.area, f.name, Toned("yes", "good") if f.there else Toned("no", "open"), f.detail]
        for f in findings
    ]
    print_table("This machine", ["", "", "", ""], rows, left=4)
