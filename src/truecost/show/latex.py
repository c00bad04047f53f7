"""What a paper needs: sentences, a table and BibTeX entries."""

from importlib import metadata
from math import isfinite
from typing import TYPE_CHECKING, Final

from truecost.errors import Refusal
from truecost.show.numbers import given, label, number
from truecost.show.sections import CONDITIONS, values
from truecost.show.verdict import mean_of, opening, unit_of, where

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment, SameInstances

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "−": "$-$", "×": r"$\times$", "∞": r"$\infty$", "δ": r"$\delta$", "–": "--",
        "…": r"\ldots{}", "\u00a0": "~",
    }
)  # fmt: skip

BASIS: Final = {
    "test": "test instances that played no part in tuning",
    "fixed before": "instances, with configurations fixed beforehand",
    "list": "instances, as the best of a fixed list of {candidates} configurations",
}
RESULT: Final = {
    "better": "The tuned configuration is better than the default on average",
    "probably better": "The tuned configuration is probably better than the default on average",
    "undecided": "The tuned configuration and the default cannot be told apart on average",
    "probably worse": "The tuned configuration is probably worse than the default on average",
    "worse": "The tuned configuration is worse than the default on average",
    "no relevant difference": "The tuned configuration and the default do not differ relevantly on "
    "average",
    "not testable": "The tuned configuration cannot be compared with the default on new instances",
}
RESULT_BY_WINS: Final = {
    "better": "The tuned configuration wins more runs than the default",
    "undecided": "The tuned configuration is not proven to win more runs than the default",
    "worse": "The tuned configuration wins fewer runs than the default",
}


def escape(text: str) -> str:
    """Return text for LaTeX."""
    return text.translate(_SPECIAL).replace(" \\%", "\\,\\%")


def sentence(assessment: "Assessment") -> str:
    """Return the result in sentences for a paper: n, basis, method, error, penalty, version."""
    same, evidence, question = assessment.same, assessment.evidence, assessment.question
    if isinstance(evidence, Refusal):
        return escape(evidence.reason)
    if same is None:
        return "No default was compared with."
    difference, unit, delta = same.difference, unit_of(assessment), given(question.delta)
    observed, limits, near = map(escape, values(difference))
    basis = BASIS[evidence.basis].format(candidates=f"{evidence.candidates:,}")
    if same.instances == 1:
        basis = basis.replace("instances", "instance", 1)
    unit_count = f"{same.units:,} {'families' if same.unit == 'family' else 'seeds'}, "
    size = f"{'' if same.unit == 'instance' else unit_count}{same.instances:,}"
    results = RESULT_BY_WINS if question.primary == "wins" else RESULT
    result = results.get(assessment.grade, RESULT[assessment.grade])
    mean, place = escape(mean_of(assessment)), opening(where(assessment))
    lines = [
        f"{result} (compared on {size} {basis}, {same.runs:,} paired runs).",
        f"The difference in {mean} (tuned minus default) is {observed}{unit}.",
    ]
    if isfinite(difference.lower) and isfinite(difference.upper):
        lines.append(
            f"{place} it lies between {limits.replace(' to ', ' and ')}{unit} "
            f"(one-sided betting confidence bounds, each with error probability {delta})."
        )
    if evidence.candidates > 1:
        lines.append(
            f"All bounds and intervals allow for the choice among {evidence.candidates:,} "
            "configurations (Bonferroni)."
        )
    held = (one.sentence for one in assessment.caveats if one.code in CONDITIONS)
    # What to type instead is not for a paper.
    lines += [escape(sentence.partition(" Judge by groups")[0]) for sentence in held]
    if evidence.watched:
        lines.append("The bounds are valid under early stopping.")
    if difference.approximate is not None:
        # Where runs cannot fail, Hall's interval extends it.
        kind = "$t$" if evidence.runs.can_fail else "$t$ and Hall"
        lines.append(f"The approximate paired {kind} interval is {near}{unit}.")
    lines.append(f"The tuned configuration won {same.won:,} and lost {same.lost:,} of these runs.")
    if same.wins is not None:
        wins = escape(values(same.wins)[1])
        lines.append(f"{place} it wins {wins} of the runs (ties count half).")
    lines += _penalty(assessment)
    lines.append(f"Computed with truecost {_version()}~\\cite{{truecost,liu2020performance}}.")
    return "\n".join(lines)


def _penalty(assessment: "Assessment") -> list[str]:
    """Return the sentences on what a failed run costs."""
    runs, ladder = assessment.log.runs, assessment.ladder
    if runs.par is None or runs.cutoff is None:
        return []
    lines = [f"A failed run costs {given(runs.par)} times the cutoff of {given(runs.cutoff)} s."]
    proven = None if ladder is None else ladder.better or ladder.worse
    if ladder is not None and proven is not None:
        side = "Better" if ladder.better is not None else "Worse"
        low, high = (escape(given(end)) for end in proven)
        lines.append(f"{side} is proven for penalties from {low} to {high} cutoffs.")
    return lines


def table(assessment: "Assessment") -> str:
    """Return the comparison on the same instances as a LaTeX table (booktabs); empty without a
    default.
    """
    same = assessment.same
    if same is None:
        return ""
    unit = unit_of(assessment).strip()
    head = ["", f"{escape(mean_of(assessment))}{f' ({unit})' if unit else ''}", "runs won"]
    if same.solved_both is not None:
        head.append("runs solved")
    observed, limits, near = map(escape, values(same.difference))
    empty = " &" * (len(head) - 2)
    lines = [
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        rf"{' & '.join(head)} \\",
        r"\midrule",
        _row("Default", same, winner=False),
        _row("Tuned", same, winner=True),
        r"\midrule",
        rf"Difference & {observed}{empty} \\",
    ]
    if limits != "--":
        lines.append(rf"Guaranteed limits & {limits}{empty} \\")
    if near != "--":
        lines.append(rf"Approximate interval & {near}{empty} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _row(role: str, same: "SameInstances", *, winner: bool) -> str:
    """Return the line of one side."""
    if winner:
        name, cost, won = same.winner, same.winner_cost, same.won
        alone = same.solved_only_winner
    else:
        name, cost, won = same.default, same.default_cost, same.lost
        alone = same.solved_only_default
    cells = [f"{role} ({escape(label(name))})", escape(number(cost)), f"{won:,} of {same.runs:,}"]
    if same.solved_both is not None:
        cells.append(f"{same.solved_both + (alone or 0):,} of {same.runs:,}")
    return rf"{' & '.join(cells)} \\"


def _version() -> str:
    return metadata.version("truecost")


def bibtex() -> str:
    """Return the entries to cite: this software, and the paper it implements."""
    return rf"""@software{{truecost,
  author  = {{{{The truecost authors}}}},
  title   = {{truecost: How Good Is a Tuned Algorithm on Instances It Has Never Seen?}},
  version = {{{_version()}}},
}}

@inproceedings{{liu2020performance,
  author    = {{Liu, Shengcai and Tang, Ke and Lei, Yunwen and Yao, Xin}},
  title     = {{On Performance Estimation in Automatic Algorithm Configuration}},
  booktitle = {{Proceedings of the AAAI Conference on Artificial Intelligence}},
  year      = {{2020}},
  doi       = {{10.1609/aaai.v34i03.5618}},
}}"""
