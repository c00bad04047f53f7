"""The configuration itself: parameters of winner and default side by side, ready to paste."""

from truecost.show.blocks import Block, Cell, Column, Commands, Section, Table, Text, Tone
from truecost.show.document.context import Case, opening
from truecost.show.numbers import counted, given

# Parameters a terminal shows.
MOST = 20


def configuration_section(case: Case) -> Section | None:
    """Return the parameters of winner and default, changed ones first; None if unknown."""
    assessment = case.assessment
    values = assessment.log.parameters.get(assessment.incumbent)
    if not values:
        return None
    incumbent, default = assessment.incumbent, assessment.default
    defaults = {} if default in (None, incumbent) else assessment.log.parameters.get(default, {})
    names = list(dict.fromkeys([*values, *defaults]))
    changed = [name for name in names if values.get(name) != defaults.get(name)]
    rows = []
    for name in [*changed, *(name for name in names if name not in changed)]:
        tone: Tone = "strong" if defaults and name in changed else ""
        shown = [_written(parameters.get(name)) for parameters in (values, defaults)]
        cells = (Cell(shown[0], shown[0], tone=tone), Cell(shown[1], shown[1]))
        rows.append((Cell(name, name), *(cells if defaults else cells[:1])))
    heads = ("parameter", "winner", "default")[: 3 if defaults else 2]
    columns = tuple(Column(head, numbers=False) for head in heads)
    what = f"has {counted(len(values), 'parameter')}"
    if defaults:
        of = f"{len(changed):,} of {counted(len(names), 'parameter')}"
        what = f"differs from the default in {of}"
    lead = f"{opening(case.winner)} {what}."
    arguments = assessment.log.arguments(incumbent)
    blocks: list[Block] = [
        Table("parameters", "", columns, tuple(rows), MOST),
        Commands(((arguments, "all parameters of the winner as arguments"),), "To paste"),
    ]
    if origin := assessment.log.origins.get(incumbent):
        blocks.append(Text(f"Proposed by: {origin}.", aside=True))
    return Section("configuration", "The configuration", lead, tuple(blocks))


def _written(value: object) -> str:
    """Return a value as people read it; a dash for a parameter that is not active."""
    if value is None:
        return "–"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return given(float(value)) if number else str(value)  # type: ignore[arg-type]
