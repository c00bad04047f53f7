"""Quasigroup completion: random Latin squares with holes, as CNF files that are satisfiable by construction.

A square is drawn by the Markov chain of Jacobson and Matthews ("Generating uniformly distributed random Latin squares",
1996). With *balanced* holes, as many in every row and column, the formulas are far harder than with holes anywhere.
"""

import numpy as np
from numpy.typing import NDArray

Square = NDArray[np.int64]


def latin_square(order: int, rng: np.random.Generator) -> Square:
    """A random Latin square: where the chain, started at a cyclic one, is proper for the 2·order²-th time.

    A square is a cube of zeros and ones whose every line adds up to 1. Improper ones on the way have a single −1, on lines
    with two ones. Proper visits are counted because they are uniform in the limit; the first after so many moves is not.
    """
    symbols = [[[(row + column) % order] for column in range(order)] for row in range(order)]  # ones over row, column
    columns = [[[(symbol - row) % order] for symbol in range(order)] for row in range(order)]  # over row, symbol
    rows = [[[(symbol - column) % order] for symbol in range(order)] for column in range(order)]  # over column, symbol

    def add(row: int, column: int, symbol: int) -> None:
        symbols[row][column].append(symbol)
        columns[row][symbol].append(column)
        rows[column][symbol].append(row)

    def remove(row: int, column: int, symbol: int) -> None:
        symbols[row][column].remove(symbol)
        columns[row][symbol].remove(column)
        rows[column][symbol].remove(row)

    visits = 0
    negative = None
    while True:
        for row, column, symbol, *coins in rng.integers(0, [order, order, order, 2, 2, 2], size=(order**2, 6)).tolist():
            if negative is None:
                if symbols[row][column][0] == symbol:
                    continue
                add(row, column, symbol)
                coins = [0, 0, 0]
            else:
                row, column, symbol = negative
            other = symbols[row][column][coins[0]], columns[row][symbol][coins[1]], rows[column][symbol][coins[2]]
            other_symbol, other_column, other_row = other
            add(row, other_column, other_symbol)
            add(other_row, column, other_symbol)
            add(other_row, other_column, symbol)
            remove(row, column, other_symbol)
            remove(row, other_column, symbol)
            remove(other_row, column, symbol)
            if other_symbol in symbols[other_row][other_column]:
                remove(other_row, other_column, other_symbol)
                negative = None
                visits += 1
                if visits == 2 * order**2:
                    return np.array(symbols)[:, :, 0]
            else:
                negative = (other_row, other_column, other_symbol)


def with_holes(square: Square, holes: int, rng: np.random.Generator, *, balanced: bool) -> Square:
    """The square with so many cells emptied, marked by −1.

    Balanced holes are as many in every row and column, so their number is a multiple of the order.
    """
    order = len(square)
    if balanced:
        # The cells of so many symbols of another random square.
        empty = latin_square(order, rng) < holes // order
    else:
        empty = np.zeros(order * order, dtype=bool)
        empty[rng.choice(order * order, size=holes, replace=False)] = True
        empty = empty.reshape(order, order)
    return np.where(empty, -1, square)


def cnf(partial: Square, comment: str) -> str:
    """DIMACS CNF: which symbols fill the holes, with a variable for each that neither row nor column has yet.

    Each hole takes one symbol; each symbol that a row or a column lacks goes into one of its holes; nothing twice.
    """
    order = len(partial)
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
    for each in cells.values():
        clauses.append(each)
        clauses += [[-a, -b] for place, a in enumerate(each) for b in each[place + 1 :]]
    lines = [f"c {comment}", f"p cnf {variables} {len(clauses)}"]
    lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
    return "\n".join([*lines, ""])


def instance(order: int, holes: int, balanced: bool, rng: np.random.Generator, name: str) -> str:
    """A random quasigroup completion problem as CNF."""
    partial = with_holes(latin_square(order, rng), holes, rng, balanced=balanced)
    kind = "balanced" if balanced else "random"
    return cnf(partial, f"{name}: quasigroup of order {order} with {holes} {kind} holes")
