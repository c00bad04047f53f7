"""Quasigroup completion: random Latin squares with holes, as CNF files that are satisfiable by
construction.

A square is drawn by the Markov chain of Jacobson and Matthews ("Generating uniformly distributed
random Latin squares", 1996). With *balanced* holes, as many in every row and column, the formulas
are far harder than with holes anywhere.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Square = NDArray[np.int64]


def latin_square(order: int, rng: np.random.Generator) -> Square:
    """A random Latin square: where the chain, started at a cyclic one, is proper for the
    2·order²-th time.

    A square is a cube of zeros and ones whose every line adds up to 1. Improper ones on the way
    have a single −1, on lines with two ones. Proper visits are counted because they are uniform in
    the limit; the first after that many moves is not.
    """
    # Where the one is on each line: over row and column, over row and symbol, over column and
    # symbol. Only the three lines through a −1 have a second one, which `second` has.
    symbols = [[(row + column) % order for column in range(order)] for row in range(order)]
    columns = [[(symbol - row) % order for symbol in range(order)] for row in range(order)]
    rows = [[(symbol - column) % order for symbol in range(order)] for column in range(order)]
    visits = 0
    negative, second = None, (0, 0, 0)
    while True:
        draws = rng.integers(0, [order, order, order, 2, 2, 2], size=(order**2, 6)).tolist()
        for row, column, symbol, *coins in draws:
            if negative is None:
                other_symbol, other_column = symbols[row][column], columns[row][symbol]
                other_row = rows[column][symbol]
                if other_symbol == symbol:
                    continue
                symbols[row][column], columns[row][symbol] = symbol, column
                rows[column][symbol] = row
            else:
                row, column, symbol = negative
                other_symbol, other_column, other_row = second
                # What was not chosen is what the line has from now on.
                if not coins[0]:
                    other_symbol, symbols[row][column] = symbols[row][column], other_symbol
                if not coins[1]:
                    other_column, columns[row][symbol] = columns[row][symbol], other_column
                if not coins[2]:
                    other_row, rows[column][symbol] = rows[column][symbol], other_row
            # The subcube's corners: ones go where zeros were, and the other way round.
            symbols[row][other_column] = symbols[other_row][column] = other_symbol
            columns[row][other_symbol] = columns[other_row][symbol] = other_column
            rows[column][other_symbol] = rows[other_column][symbol] = other_row
            # The last corner loses a one, if it has one.
            if symbols[other_row][other_column] == other_symbol:
                symbols[other_row][other_column] = symbol
                columns[other_row][other_symbol] = column
                rows[other_column][other_symbol] = row
                negative = None
                visits += 1
                if visits == 2 * order**2:
                    return np.array(symbols)
            else:
                negative, second = (other_row, other_column, other_symbol), (symbol, column, row)


def with_holes(square: Square, holes: int, rng: np.random.Generator, *, balanced: bool) -> Square:
    """The square with `holes` cells emptied, marked by −1.

    Balanced holes are as many in every row and column, so their number is a multiple of the order.
    """
    order = len(square)
    if balanced:
        # The cells of some symbols of another random square.
        empty = latin_square(order, rng) < holes // order
    else:
        empty = np.zeros(order * order, dtype=bool)
        empty[rng.choice(order * order, size=holes, replace=False)] = True
        empty = empty.reshape(order, order)
    return np.where(empty, -1, square)


def cnf(partial: Square, comment: str) -> str:
    """DIMACS CNF: which symbols fill the holes, with a variable for each that neither row nor
    column has yet.

    Each hole takes one symbol; each symbol that a row or a column lacks goes into one of its holes;
    nothing twice.
    """
    order = len(partial)
    # Only what neither row nor column has becomes a variable: far fewer than order³.
    missing_of_row = [set(range(order)) - set(row.tolist()) for row in partial]
    missing_of_column = [set(range(order)) - set(column.tolist()) for column in partial.T]
    cells: dict[tuple[str, int, int], list[int]] = {}
    variables = 0
    for row, column in np.argwhere(partial < 0).tolist():
        for symbol in sorted(missing_of_row[row] & missing_of_column[column]):
            variables += 1
            for line in (("cell", row, column), ("row", row, symbol), ("column", column, symbol)):
                cells.setdefault(line, []).append(variables)
    clauses = []
    for line_variables in cells.values():
        clauses.append(line_variables)
        # At most one: pairwise, as the formulas of the literature have it.
        clauses += [[-a, -b] for a, b in combinations(line_variables, 2)]
    lines = [f"c {comment}", f"p cnf {variables} {len(clauses)}"]
    lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
    return "\n".join([*lines, ""])


def instance(order: int, holes: int, balanced: bool, rng: np.random.Generator, name: str) -> str:
    """A random quasigroup completion problem as CNF."""
    partial = with_holes(latin_square(order, rng), holes, rng, balanced=balanced)
    kind = "balanced" if balanced else "random"
    return cnf(partial, f"{name}: quasigroup of order {order} with {holes} {kind} holes")
