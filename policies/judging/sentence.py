"""What a finding says in words: one text for the command line, the webhook and events."""

from __future__ import annotations

from policies.judging.verdict import Judged
from policies.model.printing import plain


def sentence(judged: Judged) -> str:
    """`object: message; fix`, on one line.

    A finding that was there before the change says so, since it does not refuse the change.
    """
    return f"{plain(str(judged.finding.object))}: {statement(judged)}"


def statement(judged: Judged) -> str:
    """The same without the object, for where that is shown beside it."""
    finding = judged.finding
    before = " (as before this change)" if judged.standing else ""
    fix = f"; {flat(finding.fix)}" if finding.fix else ""
    return f"{flat(finding.message)}{before}{fix}"


def flat(text: str) -> str:
    """On one line, of characters that print, without a full stop at its end."""
    return plain(" ".join(text.split())).rstrip(".")
