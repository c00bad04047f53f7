"""Tables of any kind: long, a row for every run, or wide, a column for every configuration."""

from dataclasses import replace

from truecost.errors import InputError
from truecost.importers import long, wide
from truecost.importers.columns import Table, check_numeric
from truecost.importers.roles import NEEDED, SYNONYMS, listed, roles_by_name
from truecost.matrix.families import is_rule
from truecost.matrix.log import Log
from truecost.matrix.reading import Reading


def read(table: Table, reading: Reading, name: str) -> Log:
    """The runs in a table; `name` is that of its only configuration, where no column has any."""
    given = dict(reading.columns)
    if isinstance(reading.families, str) and reading.families in table:
        given["family"] = reading.families
    elif not is_rule(reading.families):
        raise InputError(
            f"families is {reading.families!r:.60}, no column and no file. The table has "
            f"{listed(table)}."
        )
    # With nothing on the right a column is left out: --columns n_vars=.
    table = {column: cells for column, cells in table.items() if given.get(column, column).strip()}
    if not table:
        raise InputError("Every column is left out. Leave out fewer.")
    given = {key: column for key, column in given.items() if key in SYNONYMS or column.strip()}
    reading = replace(reading, columns=given)
    if reading.format != "wide":
        if roles := long.roles_of(table, reading):
            return long.read(table, roles, reading, name)
        if reading.format is not None or not wide.is_wide(table, reading):
            raise _neither(table, reading)
    return wide.read(table, reading)


def _neither(table: Table, reading: Reading) -> InputError:
    """What to say of a table that is neither long nor wide."""
    if len(table) == 1:
        return InputError(
            f"The table has one column, {listed(table)}. Separate its columns by commas."
        )
    roles = roles_by_name(list(table), reading.columns)
    for name in list(table)[1:]:
        if name not in roles.values():
            check_numeric(table[name], name)
    missing = [role for role in NEEDED if role not in roles]
    hint = ",".join(f"{role}=NAME" for role in missing)
    return InputError(
        f"No column is called {' or '.join(missing)}: the table has {listed(table)}. Give "
        f"--columns {hint}, or write a wide table: instances in the first column, then a column of "
        "numbers for each configuration."
    )
