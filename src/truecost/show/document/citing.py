"""Ready for a paper: a sentence with all that a reviewer asks for, and BibTeX."""

from hashlib import sha256

from truecost.judge.assessment import Assessment
from truecost.show.blocks import Commands, Section
from truecost.show.document.context import Context, called, mean_scale, on_scale
from truecost.show.document.wording import words_of
from truecost.show.numbers import confidence, counted

SOFTWARE = """@software{{truecost, title = {{truecost}}, author = {{{{The truecost authors}}}}, \
version = {{{version}}}, year = {{2026}}}}"""
PAPER = """@inproceedings{liu2020performance, title = {On Performance Estimation in Automatic Algorithm \
Configuration}, author = {Liu, Shengcai and Tang, Ke and Lei, Yunwen and Yao, Xin}, \
booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence}, year = {2020}}"""


def citation(assessment: Assessment, context: Context, version: str) -> Section:
    """Return the sentence and the references."""
    lines = (
        (paper_sentence(assessment, context, version), "a sentence for the results section"),
        (SOFTWARE.format(version=version), "BibTeX of truecost"),
        (PAPER, "BibTeX of the paper behind it"),
    )
    lead = "A sentence with the numbers a reviewer asks for, and the references."
    return Section("paper", "For a paper", lead, (Commands(lines, "To copy"),), folded=True)


def paper_sentence(assessment: Assessment, context: Context, version: str) -> str:
    """Return the primary result with n, method, δ, criterion, input and version."""
    delta = assessment.question.delta
    primary = "difference" if assessment.primary == "mean" else "wins"
    if assessment.comparison is None:
        primary = "mean"
    level, end = confidence(delta), f"truecost {version}, input sha256 {digest(assessment)[:12]}"
    statement = next((s for s in assessment.statements if s.quantity == primary), None)
    if statement is None:
        reason = assessment.no_certificate or "no statement is available"
        return f"No guarantee can be given for {context.name}: {reason} ({end})."
    words = words_of(statement, mean_scale(assessment))
    upper, value, (_, observed_value) = on_scale(assessment, statement)
    limit = words.most(value) if upper else words.least(value)
    whose = called(assessment, statement.configuration)
    against = ""
    if statement.default is not None:
        against = f" against {called(assessment, statement.default)}"
    result = f"{words.label} {'at most' if upper else 'at least'} {limit}"
    observed = f"observed {words.value(observed_value)}"
    many = statement.configurations
    corrected = f", Bonferroni correction over {many:,} configurations" if many > 1 else ""
    condition = "" if statement.condition is None else f", if {statement.condition}"
    return (
        f"For {whose}{against} on {counted(statement.instances, assessment.scope.unit)} of {context.name}, "
        f"{result} ({observed}; {level} confidence, one-sided, {statement.method}{corrected}"
        f"{condition}; primary criterion: {words.label}; {end})."
    )


def digest(assessment: Assessment) -> str:
    """Return a digest of the runs: costs, names and range."""
    matrix = assessment.matrix
    names = "\0".join((*matrix.configurations, "", *matrix.instances))
    content = matrix.costs.tobytes() + names.encode(errors="surrogatepass")
    return sha256(content + repr((matrix.low, matrix.high)).encode()).hexdigest()
