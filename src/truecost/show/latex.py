"""What a paper needs: sentences, a table and BibTeX entries."""

from importlib import metadata
from math import isfinite
from typing import TYPE_CHECKING, Final

from truecost.errors import Refusal
from truecost.judge.assess import CONDITIONS
from truecost.show.numbers import distinct_numbers, exact, label, number, signed
from truecost.show.words import capitalised, mean_of, scope_of, unit_of, values

if TYPE_CHECKING:
    from truecost.judge.assessment import Assessment

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "−": "$-$", "×": r"$\times$", "∞": r"$\infty$", "δ": r"$\delta$", "–": "--",
        "…": r"\ldots{}", "\u00a0": "~",
    }
)  # fmt: skip

BASIS: Final = {
    "test": "{instances} that played no part in tuning",
    "fixed before": "{instances}, with configurations fixed beforehand",
    "list": "{instances}, as the best of a fixed list of {candidates} configurations",
}
RESULT: Final = {
    "undecided": "The tuned configuration and the default cannot be told apart on average",
    "no relevant difference": "The tuned configuration and the default do not differ relevantly on "
    "average",
    "not testable": "The tuned configuration cannot be compared with the default on new instances",
} | {
    grade: f"The tuned configuration is {grade} than the default on average"
    for grade in ("better", "probably better", "probably worse", "worse")
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
    difference, wins = assessment.statement("difference"), assessment.statement("wins")
    if same is None or difference is None or wins is None:
        compared = assessment.default not in (None, assessment.winner)
        return f"{RESULT['not testable']}." if compared else "There was no default to compare with."
    unit, place = unit_of(assessment), capitalised(scope_of(assessment))
    observed, limits, near = map(escape, values(difference))
    noun = f"{'test ' if evidence.basis == 'test' else ''}instance{'s' * (same.instances > 1)}"
    basis = BASIS[evidence.basis].format(
        instances=f"{same.instances:,} {noun}", candidates=f"{evidence.candidates:,}"
    )
    units = {"family": f"{same.units:,} families, ", "seed": f"{same.units:,} seeds, "}
    results = RESULT | (RESULT_BY_WINS if question.primary == "wins" else {})
    lines = [
        f"{results[assessment.grade]} (compared on {units.get(same.unit, '')}{basis}, "
        f"{same.pairs:,} paired runs).",
        f"The difference in {escape(mean_of(assessment))} (tuned minus default) is "
        f"{observed}{unit}.",
    ]
    if isfinite(difference.lower) and isfinite(difference.upper):
        lines.append(
            f"{place} it lies between {limits.replace(' to ', ' and ')}{unit} (one-sided betting "
            f"confidence bounds, each with error probability {exact(question.delta)})."
        )
    if evidence.rivals > 1:
        lines.append(
            f"All bounds and intervals allow for the choice among {evidence.candidates:,} "
            "configurations (Bonferroni)."
        )
    conditions = (one.sentence for one in assessment.caveats if one.code in CONDITIONS)
    # What to type instead is not for a paper.
    lines += [escape(sentence.partition(" Judge by groups")[0]) for sentence in conditions]
    if evidence.watched:
        lines.append("The bounds are valid under early stopping.")
    if difference.approximate is not None:
        # Where runs cannot fail, Hall's interval extends it.
        kind = "$t$" if evidence.runs.can_fail else "$t$ and Hall"
        lines.append(f"The approximate paired {kind} interval is {near}{unit}.")
    lines += [
        f"The tuned configuration won {same.won:,} and lost {same.lost:,} of these runs.",
        f"{place} it wins {escape(values(wins)[1])} of the runs (ties count half).",
        *_penalty(assessment),
        f"Computed with truecost {_version()}~\\cite{{truecost,liu2020performance}}.",
    ]
    return "\n".join(lines)


def _penalty(assessment: "Assessment") -> list[str]:
    """Return the sentences on what a failed run costs."""
    runs, ladder = assessment.log.runs, assessment.ladder
    if runs.par is None or runs.cutoff is None:
        return []
    lines = [f"A failed run costs {exact(runs.par)} times the cutoff of {exact(runs.cutoff)} s."]
    if ladder is not None and ladder.proven is not None:
        side, *ends = ladder.proven
        low, high = (escape(exact(end)) for end in ends)
        lines.append(f"{capitalised(side)} is proven for penalties from {low} to {high} cutoffs.")
    return lines


def table(assessment: "Assessment") -> str:
    """Return the comparison on the same instances as a LaTeX table (booktabs); empty without a
    default.
    """
    same, difference = assessment.same, assessment.statement("difference")
    if same is None:
        return ""
    solved = same.winner_solved is not None
    unit = " (s)" if unit_of(assessment) else ""
    head = ["", f"{escape(mean_of(assessment))}{unit}", "runs won", "runs solved"]
    winner_cost, default_cost = distinct_numbers((same.winner_cost, same.default_cost))
    sides = (
        ("Default", assessment.default, default_cost, same.lost, same.default_solved),
        ("Tuned", assessment.winner, winner_cost, same.won, same.winner_solved),
    )
    rows = [
        [
            f"{role} ({escape(label(name or ''))})",
            escape(cost),
            f"{won:,} of {same.pairs:,}",
            f"{solved_runs or 0:,} of {same.pairs:,}",
        ]
        for role, name, cost, won, solved_runs in sides
    ]
    limits = near = "–"
    if difference is not None:
        _, limits, near = values(difference)
    amounts = {
        "Difference": signed(number(same.difference)),
        "Guaranteed limits": limits,
        "Approximate interval": near,
    }
    below = [[name, escape(text), "", ""] for name, text in amounts.items() if text != "–"]
    width = 4 if solved else 3
    body = [rf"{' & '.join(row[:width])} \\".replace("  ", " ") for row in (head, *rows, *below)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
            r"\toprule",
            body[0],
            r"\midrule",
            *body[1:3],
            r"\midrule",
            *body[3:],
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


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
