"""Writes a finding as a sentence, which is the same for the command line, the webhook and Events."""

from __future__ import annotations

import re

from policies.judging.verdict import Judged
from policies.model.findings import Finding
from policies.model.printing import plain

_PREDICATES = ("is required", "is unknown", "is null", "is empty")
"""The beginnings of messages whose subject is the field itself."""


def sentence(judged: Judged) -> str:
    """The finding as `object: field: message; fix` on one line.

    A finding that existed before the change has a note, since it does not refuse the change.
    """
    return f"{plain(str(judged.finding.object))}: {statement(judged)}"


def statement(judged: Judged) -> str:
    """The sentence without the object, for reports that show it separately."""
    return f"{_subject(judged.finding)}{assertion(judged)}"


def assertion(judged: Judged) -> str:
    """The sentence without object and field, for reports that show both separately."""
    finding = judged.finding
    before = " (as before this change)" if judged.preexisting else ""
    fix = f"; {flat(finding.fix)}" if finding.fix else ""
    return f"{flat(finding.message)}{before}{fix}"


def flat(text: str) -> str:
    """The text on one line, in printable characters, without a final full stop."""
    return plain(" ".join(text.split())).rstrip(".")


def _subject(finding: Finding) -> str:
    """The field for the sentence; empty if the message has it, or if it is the name, which the object has already.

    An object whose name cannot be read has none.
    """
    if not finding.field or _names(finding.message, finding.field):
        return ""
    if finding.message.startswith(_PREDICATES):
        return f"{flat(finding.field)} "
    is_shown = finding.field == "metadata.name" and not finding.object.name.startswith("*")
    return "" if is_shown else f"{flat(finding.field)}: "


def _names(message: str, field: str) -> bool:
    return field in message and re.search(rf"(?<![\w.]){re.escape(field)}(?![\w\[]|\.\w)", message) is not None
