"""Records as a notebook and `print` show them, from the same document as terminal and page."""

from truecost.judge.assessment import Assessment
from truecost.judge.statements import Certificate
from truecost.show import html
from truecost.show.document import Context, audited
from truecost.show.document.certificate import of_certificate


def sentence(record: Assessment | Certificate) -> str:
    """Return the answer in a sentence or two."""
    if isinstance(record, Certificate):
        return of_certificate(record, Context()).lead
    document = audited(record, Context())
    return f"{document.verdict} {document.more}"


def fragment(record: Assessment | Certificate) -> str:
    """Return a piece of HTML."""
    if isinstance(record, Certificate):
        return html.fragment([of_certificate(record, Context())])
    return html.fragment(audited(record, Context()))
