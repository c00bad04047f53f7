"""Ready for a paper: a sentence with all that a reviewer asks for, and BibTeX."""

from hashlib import sha256

from truecost.show.blocks import Commands, Section
from truecost.show.document.context import Case
from truecost.show.document.wording import words_of
from truecost.show.numbers import confidence

SOFTWARE = """@software{{truecost, title = {{truecost}}, author = {{{{The truecost authors}}}}, \
version = {{{version}}}, year = {{2026}}}}"""
PAPER = """@inproceedings{liu2020performance, title = {On Performance Estimation in Automatic \
Algorithm Configuration}, author = {Liu, Shengcai and Tang, Ke and Lei, Yunwen and Yao, Xin}, \
booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence}, year = {2020}}"""


def citation(case: Case, version: str) -> Section:
    """Return the sentence and the references."""
    lines = (
        (paper_sentence(case, version), "a sentence for the results section"),
        (SOFTWARE.format(version=version), "BibTeX of truecost"),
        (PAPER, "BibTeX of the paper behind it"),
    )
    lead = "A sentence with the numbers a reviewer asks for, and the references."
    return Section("paper", "For a paper", lead, (Commands(lines, "To copy"),), folded=True)


def paper_sentence(case: Case, version: str) -> str:
    """Return the primary result with n, method, δ, criterion, input and version."""
    assessment = case.assessment
    primary = "difference" if assessment.primary == "mean" else "wins"
    if assessment.comparison is None:
        primary = "mean"
    level = confidence(assessment.question.delta)
    end = f"truecost {version}, input sha256 {digest(case)[:12]}"
    statement = next((s for s in assessment.statements if s.quantity == primary), None)
    if statement is None:
        reason = assessment.no_certificate or "no statement is available"
        return f"No guarantee can be given for {case.context.name}: {reason} ({end})."
    words = words_of(statement, case.mean_scale)
    upper, value, (_, observed_value) = case.on_scale(statement)
    whose = case.called(statement.configuration)
    if statement.default is not None:
        whose += f" against {case.called(statement.default)}"
    result = f"{words.label} {words.limit(value, upper)}"
    observed = f"observed {words.value(observed_value)}"
    many = statement.configurations
    corrected = f", Bonferroni correction over {many:,} configurations" if many > 1 else ""
    condition = "" if statement.condition is None else f", if {statement.condition}"
    return (
        f"For {whose} on {case.units(statement.instances)} of {case.context.name}, {result} "
        f"({observed}; {level} confidence, one-sided, {statement.method}{corrected}{condition}; "
        f"primary criterion: {words.label}; {end})."
    )


def digest(case: Case) -> str:
    """Return a digest of the runs: costs, names and range."""
    matrix = case.assessment.matrix
    names = "\0".join((*matrix.configurations, "", *matrix.instances))
    content = matrix.costs.tobytes() + names.encode(errors="surrogatepass")
    return sha256(content + repr((matrix.low, matrix.high)).encode()).hexdigest()
