"""Writes findings as the warnings of a response, within the lengths that an API server passes on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from policies.judging.sentence import flat, sentence
from policies.judging.verdict import Judged
from policies.model.printing import plain

LENGTH = 256  # characters: if the warnings exceed TOTAL, the API server cuts each of them to this length
TOTAL = 4096  # characters of all warnings together; counted here in bytes, which are never fewer
LINES = 2  # the most warnings for a violation, and for its fix: enough for a cycle of fifty queues
_MORE = "and {} more warnings (quotree validate shows all)"
_OMITTED = " ..."
_GOES_ON = "... "
_CLAUSES = re.compile(r"(?<=[;,]) ")


def warnings(warned: Sequence[Judged]) -> list[str]:
    """The warnings of the findings, which come worst first. Findings that do not fit completely are only counted."""
    kept: list[str] = []
    room = TOTAL - len(_MORE) - len(str(len(warned)))
    for shown, judged in enumerate(warned):
        lines = warning(judged)
        room -= sum(len(line.encode(errors="replace")) for line in lines)
        if room < 0:
            return [*kept, _MORE.format(len(warned) - shown)]
        kept += lines
    return kept


def warning(judged: Judged) -> list[str]:
    """The warnings of one finding: its sentence, or if that is too long, its clauses and then its fix.

    Each ends with the rule's id, since a client may show warnings of several webhooks together.
    """
    suffix = f" [{judged.rule.id}]"
    room = LENGTH - len(suffix)
    whole = sentence(judged)
    if len(whole) <= room:
        return [whole + suffix]
    finding = judged.finding
    lines = list(_lines(sentence(replace(judged, finding=replace(finding, fix=""))), room))
    if finding.fix:
        lines += _lines(f"{plain(str(finding.object))}: fix: {flat(finding.fix)}", room)
    return [line + suffix for line in lines]


def _lines(text: str, room: int) -> Iterator[str]:
    """Split the text into at most LINES lines of whole clauses. Longer clauses and words are split."""
    lines = [text] if len(text) <= room else _packed(text, room - len(_GOES_ON) - len(_OMITTED))
    yield from lines[: LINES - 1]
    if len(lines) >= LINES:
        yield lines[LINES - 1] + _OMITTED * (len(lines) > LINES)


def _packed(text: str, room: int) -> list[str]:
    """Join clauses to lines of at most `room` characters. Each line after the first begins with an ellipsis, which does
    not count."""
    lines: list[str] = []
    for part in _parts(text, room):
        if lines and len(lines[-1]) + 1 + len(part) <= room:
            lines[-1] += f" {part}"
        else:
            lines.append(f"{_GOES_ON}{part}" if lines else part)
    return lines


def _parts(text: str, room: int) -> Iterator[str]:
    for clause in _CLAUSES.split(text):
        if len(clause) <= room:
            yield clause
        else:
            for word in clause.split():
                yield from (word[at : at + room] for at in range(0, len(word), room))
