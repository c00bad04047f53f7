"""Records that speak: how they print and how a notebook shows them comes from the document that
everybody prints.
"""

from importlib import import_module


class Spoken:
    """What `str` and a notebook show of a record.

    The words are loaded by name when first printed: no file of this folder knows the rooms that
    show things.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return str(import_module("truecost.show.notebook").sentence(self))

    def _repr_html_(self) -> str:
        return str(import_module("truecost.show.notebook").fragment(self))
