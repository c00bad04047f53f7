"""Records as a notebook and `print` show them: from the same document as the terminal and the page."""

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Certificate
from truecost.show import html
from truecost.show.document import Context, audited
from truecost.show.document.certificate import of_certificate


def sentence(found: Assessment | Certificate) -> str:
    """The answer in a sentence or two."""
    if isinstance(found, Certificate):
        return of_certificate(found, Context()).lead
    said = audited(found, Context())
    return f"{said.verdict} {said.more}"


def fragment(found: Assessment | Certificate) -> str:
    """A piece of HTML."""
    if isinstance(found, Certificate):
        return html.fragment([of_certificate(found, Context())])
    return html.fragment(audited(found, Context()))
