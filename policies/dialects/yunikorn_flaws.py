"""Finds all faults in the text of YuniKorn's quota annotations, with their positions.

YuniKorn itself accepts all of them and continues without a quota. A readable annotation without effect is not a flaw
here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from policies.dialects import yunikorn
from policies.dialects.core import Namespace
from policies.model.quantity import INT64_MAX, BadQuantity, Quantity, correction
from policies.text.json_members import JsonMember, Scan, article, scan
from policies.text.positions import position

_IN_JSON = 'write a quantity in double quotes, such as "4", "500m" or "64Gi"'
_PLAIN = "write a quantity, such as 4, 500m or 64Gi"
_SHOWN = 40
_WHOLE = 400
"""The most characters of an object that a fix shows."""
_NAME = r"""["'\s]*([A-Za-z][\w./-]*)["'\s]*"""
_AMOUNT = r"""["'\s]*([0-9][\w.]*)["'\s]*"""
_PAIR = re.compile(f"{_NAME}:{_AMOUNT}")
_PAIRS = re.compile(rf"\{{?{_NAME}:{_AMOUNT}(?:,{_NAME}:{_AMOUNT})*(?:,\s*)?\}}?").fullmatch
"""Each blank fits one place only: otherwise, all ways to share out 400 blanks would be tried, which takes seconds."""
_LISTED = 100
"""The most flaws of one annotation that are listed. An annotation could have 40 000."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One fault of an annotation.

    `subject`: the key in the JSON, or empty for the whole text. It distinguishes the flaws of one annotation.
    `where`: the position in a JSON text.
    `outcome`: how YuniKorn treats it; empty means that YuniKorn ignores the whole annotation.
    `follows`: whether the fix of another flaw of the annotation fixes this one, too.
    `write`: the text that the annotation certainly means, if it fixes this flaw. All flaws that it fixes have the same
    text.
    """

    annotation: str
    subject: str
    message: str
    fix: str
    where: str = ""
    outcome: str = ""
    follows: bool = False
    write: str | None = None


def flaws(namespace: Namespace) -> Iterator[Flaw]:
    """The flaws of the quota annotations, up to 100 of each. As in YuniKorn, an empty text counts as absent."""
    notes = namespace.annotations
    for key in (yunikorn.QUOTA, yunikorn.GUARANTEED):
        if notes.get(key):
            found = list(islice(_of_json(key, notes[key]), _LISTED + 1))
            yield from _with_cure(key, notes[key], found[:_LISTED])
            if len(found) > _LISTED:
                yield Flaw(key, "(more)", "there are more faults than are listed here", "correct the listed ones first")
    for key, resource in yunikorn.LEGACY.items():
        if notes.get(key):
            yield from _of_quantity(resource, notes[key], Flaw(key, resource, "", _PLAIN))
    if text := notes.get(yunikorn.MAX_APPS):
        yield from _of_max_apps(text)


def _with_cure(annotation: str, text: str, found: list[Flaw]) -> Iterator[Flaw]:
    meant = _meant(text) if found and len(text) <= _WHOLE else None
    left = {flaw.subject for flaw in _of_json(annotation, meant)} if meant else set()
    for flaw in found:
        yield flaw if meant is None or flaw.subject in left else replace(flaw, write=meant)


def _meant(text: str) -> str:
    """The annotation with all amounts corrected that are certain, and as a JSON object if that is clear."""
    found = scan(text)
    meant = (_object(found, text) or text) if found.error else text
    for member in reversed(scan(meant).members):
        amount = member.source if member.kind == "number" else member.value if member.kind == "text" else None
        written = amount if amount is None or Quantity.read(amount) else correction(amount)
        if written is not None:
            end = member.value_at + len(member.source)
            meant = f"{meant[: member.value_at]}{json.dumps(written)}{meant[end:]}"
    return meant


def deciding(namespace: Namespace) -> Iterator[Flaw]:
    """The flaws of the annotations that count. The legacy annotations do not count if namespace.quota is set."""
    overruled = yunikorn.LEGACY if namespace.annotations.get(yunikorn.QUOTA) else ()
    return (flaw for flaw in flaws(namespace) if flaw.annotation not in overruled)


def _of_json(annotation: str, text: str) -> Iterator[Flaw]:
    found = scan(text)
    for flaw in _of_members(annotation, text, found):
        yield replace(flaw, follows=True) if found.error else flaw
    if found.error:
        where = str(position(text, found.error.offset))
        yield Flaw(annotation, "", found.error.message, _as_object(found, text), where)


def _of_members(annotation: str, text: str, found: Scan) -> Iterator[Flaw]:
    bare = [member.key for member in found.members if member.kind == "number"]
    meant = _requoted(text) if len(bare) > 1 else ""
    times: dict[str, int] = {}
    for member in found.members:
        times[member.key] = time = times.get(member.key, 0) + 1
        subject = (member.key or '""') + (f" ({time})" if time > 1 else "")
        flaw = Flaw(annotation, subject, f"{quoted(member.key)}: ", _IN_JSON, str(position(text, member.value_at)))
        if meant and member.kind == "number":
            yield replace(_but(flaw, _bare(member), f"write {meant}"), follows=member.key != bare[0])
        else:
            yield from _of_member(member, flaw)
    last = {member.key: member for member in found.members}
    for key, count in times.items():
        if count > 1:
            yield Flaw(
                annotation,
                f"{key} (twice)",
                f"the key {quoted(key)} appears {count} times",
                f"write {quoted(key)} once",
                str(position(text, last[key].key_at)),
                f"YuniKorn would take the last, {last[key].source[:_SHOWN]}",
            )


def _of_member(member: JsonMember, flaw: Flaw) -> Iterator[Flaw]:
    """The flaw of one member of the JSON object. `flaw`: the template, whose message only names the key so far."""
    if member.kind == "text":
        yield from _of_quantity(member.key, member.value, flaw)
    elif member.kind == "number":
        yield _but(flaw, _bare(member), f'write "{member.source[:_SHOWN]}", in double quotes')
    else:
        yield _but(flaw, f"a string is expected, not {article(member.kind)}")


def _bare(member: JsonMember) -> str:
    return f"{member.source[:_SHOWN]} is a number, not a string"


def _of_quantity(resource: str, text: str, flaw: Flaw) -> Iterator[Flaw]:
    try:
        quantity = Quantity.parse(text)
    except BadQuantity as error:
        fault, found, fix = str(error).rpartition(", write ")
        wrong = _but(flaw, fault if found else str(error), f"write {fix}" if found else "")
        yield replace(wrong, write=correction(text)) if flaw.annotation in yunikorn.LEGACY else wrong
        return
    if quantity < Quantity.ZERO:
        yield _but(flaw, f"{shortened(text)} is negative", "write an amount of 0 or more")
    elif not yunikorn.fits(yunikorn.amount(resource, quantity)):
        most = INT64_MAX // 1000 if resource == "cpu" else INT64_MAX
        outcome = "the number overflows in YuniKorn, and the resulting limit is undefined"
        yield _but(flaw, f"{shortened(text)} is more than YuniKorn can count", f"write {most} or less", outcome)


def _but(flaw: Flaw, message: str, fix: str = "", outcome: str = "") -> Flaw:
    return replace(flaw, message=flaw.message + message, fix=fix or flaw.fix, outcome=outcome)


def _of_max_apps(text: str) -> Iterator[Flaw]:
    """The flaw of namespace.max.apps. A sign and 0 are not flaws: they have no effect, but the shim can read them."""
    if yunikorn.is_count(text):
        return
    problem = "is not a whole number of 0 or more in digits"
    if re.fullmatch(r"\+?[0-9]+", text):
        problem = f"is more than YuniKorn can count, which is {INT64_MAX}"
    yield Flaw(
        yunikorn.MAX_APPS, "", f"{shortened(text)} {problem}", "write the number of applications in digits, such as 5"
    )


def _as_object(found: Scan, text: str) -> str:
    """The fix for a text that is not a JSON object. It has the object that was meant, if that is clear."""
    if meant := _object(found, text):
        return f"write {meant}"
    return 'write one JSON object of quantities in double quotes, such as {"cpu":"4","memory":"64Gi"}'


def _object(found: Scan, text: str) -> str:
    """The JSON object that a text was meant to be; empty if that is not clear."""
    meant = _decoded(text) if found.kind == "text" else text.replace("'", '"')
    return meant if len(meant) <= _WHOLE and scan(meant).error is None else _requoted(text)


def _requoted(text: str) -> str:
    """The names and amounts of the text in double quotes; empty if the text has anything else."""
    if len(text) > _WHOLE or not _PAIRS(text.strip()):
        return ""
    meant = "{" + ", ".join(f'"{name}": "{amount}"' for name, amount in _PAIR.findall(text)) + "}"
    return meant if scan(meant).error is None else ""


def _decoded(text: str) -> str:
    """The content of a JSON string; empty if the text is not one."""
    try:
        return str(json.loads(text))
    except ValueError:
        return ""


def quoted(name: str) -> str:
    """A JSON key for a message. A long key is cut."""
    text = json.dumps(name[:_SHOWN])
    return text if len(name) <= _SHOWN and len(text) <= 2 * _SHOWN else text[:_SHOWN] + '..."'


def shortened(text: str) -> str:
    """A text for a message, shortened and quoted if needed."""
    if len(text) <= _SHOWN and text.isprintable() and text and text.strip() == text:
        return text
    safe = repr(text[:_SHOWN])
    return safe if len(text) <= _SHOWN and len(safe) <= 2 * _SHOWN else safe[:_SHOWN] + "...'"
