"""Which reader a source is for, by its name and content."""

from typing import Any

from truecost.matrix.log import Log
from truecost.matrix.reading import Reading


def import_runs(source: Any, reading: Reading = Reading()) -> Log:  # noqa: B008 - frozen
    """Read recorded runs.

    Parameters
    ----------
    source
        A path; the name of an example, such as "kissat"; a pandas DataFrame; an array of costs
        (configurations × instances, or with runs as the third axis); a `CostMatrix`, a `Log`, or a
        study of Optuna.
    reading
        What the source does not say itself, and which format it has.
    """
    raise NotImplementedError
