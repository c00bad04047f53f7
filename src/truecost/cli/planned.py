"""What `truecost plan` prints for people."""

import math
from typing import Any

from truecost.cli.printing import number, print_line, print_table


def print_plan(answer: dict[str, Any]) -> None:
    """The recommendation, the curve around it, and what the allocation of the pilot wastes."""
    best, asked = answer["recommendation"], answer["asked"]
    whose = "Assumed" if answer["configuration"] is None else f"{answer['configuration']}"
    if math.isnan(answer["across"]):
        print_line(f"{whose}: variance {number(answer['total'])}; within and across cannot be told apart.")
    else:
        print_line(f"{whose}: within {_component(answer, 'within')}, across {_component(answer, 'across')}.")
    goal = "error" if asked["error"] is not None else "bound" if asked["bound"] is not None else None
    if goal is None:
        bought = f"A budget of {asked['budget']} buys"
    else:
        what = "standard error" if goal == "error" else "bound"
        bought = f"A {what} of {asked[goal]:g} takes"
    each = f", for each of {best['configurations']:,} configurations" if best["configurations"] > 1 else ""
    print_line(f"{bought} {_counts(best)}{each}: {_errors(best, asked['delta'])}{_hours(best)}.")
    if answer["price_instance"] > 0:
        classical = best["classical_runs_per_instance"]
        shown = "as many as you like" if classical == float("inf") else number(classical, 3)
        print_line(f"Price {number(best['price'])}; the classical optimum of runs an instance is {shown}.")
    print_line()
    _print_curve(answer)
    if answer["if_noisier"] is not None:
        noisier = answer["if_noisier"]
        print_line(
            f"If both variances were one standard error higher: {_counts(noisier)}, {_errors(noisier, asked['delta'])}."
        )
    if answer["current"] is not None:
        _print_current(answer["current"])
    if answer["across"] < 0:
        print_line("across came out below 0, smaller than its own noise, and counts as 0.")
    _print_caveat(answer["caveat"])


def _print_curve(answer: dict[str, Any]) -> None:
    curve, best = answer["curve"], answer["recommendation"]
    bounded = best["bound"] is not None
    columns = ["", "K", "N", "N/K", "s.e.", *(["bound"] if bounded else []), "price"]
    rows = []
    for place, instances in enumerate(curve["instances"].tolist()):
        runs = curve["runs"][place].item()
        row = ["→" if instances == best["instances"] else "", f"{instances:,}", f"{runs:,}", number(runs / instances, 3)]
        row.append(number(curve["standard_error"][place]))
        if bounded:
            row.append(number(curve["bound"][place]))
        rows.append([*row, number(curve["price"][place])])
    print_line(f"Other numbers of instances {'for the same budget' if answer['asked']['budget'] else 'to the same end'}:")
    print_table("", columns, rows)


def _print_current(current: dict[str, Any]) -> None:
    line = (
        f"Now: {current['runs']:,} runs on {current['instances']:,} instances, standard error "
        f"{number(current['standard_error'])}."
    )
    if current["variance_ratio"] > 1 + 1e-9:
        line += (
            f" Spread evenly they would have {number(current['even_standard_error'])}, and {current['even_runs']:,} would "
            f"do: uneven counts cost {current['variance_ratio'] - 1:.0%} more variance."
        )
    else:
        line += " They are spread evenly."
    print_line(line)
    same, cheaper = current["same_price"], current["same_error"]
    if same["standard_error"] >= current["standard_error"] * (1 - 1e-9):
        print_line("Their price buys nothing better.")
        return
    saved = "" if cheaper is None else f"; the same error takes {_counts(cheaper)}, {_saved(current, cheaper)}"
    print_line(f"Their price buys {_counts(same)} with {number(same['standard_error'])}{saved}.")


def _saved(current: dict[str, Any], cheaper: dict[str, Any]) -> str:
    return f"{1 - cheaper['price'] / current['price']:.0%} less"


def _counts(best: dict[str, Any]) -> str:
    runs, instances = best["runs"], best["instances"]
    each = f"{number(runs / instances, 3)} on average" if runs % instances else f"{runs // instances} each"
    return f"{_many(runs, 'run')} on {_many(instances, 'instance')}, {'one each' if runs == instances else each}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _errors(best: dict[str, Any], delta: float) -> str:
    bound = "" if best["bound"] is None else f", bound {number(best['bound'])} at δ = {delta:g} ({best['theorem']})"
    return f"standard error {number(best['standard_error'])}{bound}"


def _hours(best: dict[str, Any]) -> str:
    return "" if best["cpu_hours"] is None else f", {number(best['cpu_hours'], 3)} CPU hours"


def _component(answer: dict[str, Any], name: str) -> str:
    value, spread = max(0.0, answer[name]), answer[f"{name}_error"]
    return number(value) if spread != spread else f"{number(value)} ± {number(spread, 2)}"


def print_comparison(answer: dict[str, Any], *, own: bool) -> None:
    """How many runs tell two configurations apart; `own` if the difference is the pilot's."""
    if answer["configurations"] is not None:
        first, second = answer["configurations"]
        seen = f"{number(answer['seen_difference'])} ± {number(answer['seen_standard_error'], 2)}"
        print_line(f"{first} − {second} in the pilot: {seen} (standard error over instances).")
    print_line(
        f"To find a difference of {number(answer['difference'])} with probability {answer['power']:.3f} at level "
        f"{answer['level']:g} takes {_many(answer['runs'], 'run')}: {answer['runs_each']:,} of both on each of "
        f"{answer['instances']:,} instances; price {number(answer['price'])}."
    )
    print_line(
        f"By the two-sided paired t-test on {answer['instances']:,} differences of instance means, whose standard deviation "
        f"is {number(answer['sd'])}; exact for normal ones."
    )
    if own:
        print_line("The difference is the pilot's own: if that chose the two, it is too large. --difference sets another.")
    _print_caveat(answer["caveat"])


def _print_caveat(caveat: str) -> None:
    if caveat:
        print_line(f"{caveat[0].upper()}{caveat[1:]}.", "open")
