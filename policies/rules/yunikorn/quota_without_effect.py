from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from policies.dialects import yunikorn
from policies.dialects.core import NAMESPACE, YUNIKORN, Namespace
from policies.dialects.odd_amounts import odd_in_yunikorn
from policies.dialects.resource_names import is_requested, likely_name
from policies.dialects.yunikorn_flaws import quoted, shortened
from policies.judging.rule import Proposal, rule
from policies.model.findings import STRICT_ONLY, Action, Finding
from policies.model.quantity import Quantity
from policies.text.json_members import scan

_LISTED = 100
"""The most findings for one Namespace. An annotation could have 10 000 such names."""
_SMALL = 1000
"""The number of units below which a fraction is a mistake, such as `100m` of memory or half a device. Above it, it is
not: 1.1Gi has a fraction of a byte, too."""


@rule(
    "quota-without-effect",
    source="YuniKorn: namespace annotations that are read and then do nothing, or are not read",
    kinds=(NAMESPACE,),
    default=Action.WARN,
    alone=True,
    no_cel="CEL cannot read the JSON in an annotation",
)
def quota_without_effect(proposal: Proposal) -> Iterator[Finding]:
    """A quota annotation can be read, but does not have the effect that it seems to have.

    Why it is reported: YuniKorn accepts all of these without a message.
    - Keys are case-sensitive: it reads neither `namespace.Quota` nor `enableYunikorn`, and no label of that name.
    - Pods request `cpu`, never `vcore`, `CPU` or `cpus`, and `nvidia.com/gpu`, never `nvidia.com/gpus`; a limit on
      these limits nothing.
    - A quota with only zeros counts as absent, so there is no limit.
    - `memory: 100m` is a tenth of a byte, rounded up to 1: no pod that requests memory ever fits.
    - `memory: 64` is 64 bytes, and `cpu: 9Gi` is nine thousand million cores.
    - `namespace.maxApps: "0"` means no limit, and a value with a sign never reaches the scheduler.
    Example: `yunikorn.apache.org/namespace.quota: '{"vcore":"4","memory":"64Gi"}'`; cpu is not limited.
    Fix: write what the message names.
    """
    version = proposal.configuration.yunikorn.version
    for _, namespace in proposal.changed(Namespace):
        for slip in islice(_slips(yunikorn.as_read(namespace, version)), _LISTED):
            yield Finding(
                namespace.ref,
                slip.field,
                slip.message,
                fix=slip.fix,
                subject=slip.subject,
                profiles=STRICT_ONLY,
                follows=((namespace.ref, slip.follows),) if slip.follows else (),
            )


@dataclass(frozen=True, slots=True)
class _Slip:
    """A finding about one annotation. `follows`: the field of a finding that may cause this one; empty for none."""

    field: str
    message: str
    fix: str
    subject: str = ""
    follows: str = ""


def _slips(namespace: Namespace) -> Iterator[_Slip]:
    yield from _keys(namespace)
    for key in (yunikorn.QUOTA, yunikorn.GUARANTEED):
        yield from _amounts(namespace, key)
    if not namespace.annotations.get(yunikorn.QUOTA):
        yield from _legacy(namespace)
    yield from _max_apps(namespace)
    yield from _switch(namespace)


# -- keys --------------------------------------------------------------------------------------------------------------


def _keys(namespace: Namespace) -> Iterator[_Slip]:
    for key in sorted(namespace.annotations):
        if key in yunikorn.NAMESPACE_KEYS:
            if not namespace.annotations[key] and key not in (yunikorn.ENABLE, yunikorn.GENERATE_APP_ID):
                message = f"{yunikorn.short(key)} is empty, which counts as absent"
                yield _Slip(yunikorn.field(key), message, f"write a value, or remove {yunikorn.short(key)}")
        elif key.startswith(YUNIKORN) and (fix := _near(yunikorn.short(key))):
            field = yunikorn.field(key)  # follows a finding of key-misspelt at this field, if there is one
            message = f"YuniKorn does not read {yunikorn.short(key)} on a Namespace"
            yield _Slip(field, message, fix, follows=field)
    first = ""
    for key in sorted(namespace.labels):
        if key in yunikorn.NAMESPACE_KEYS:
            message = f"{yunikorn.short(key)} is a label; YuniKorn reads only the annotation of that name"
            field = yunikorn.label_field(key)
            yield _Slip(field, message, "write it under metadata.annotations", follows=first)
            first = first or field


def _near(key: str) -> str:
    """The fix for an unknown key; empty for a key that is not meant for a Namespace."""
    for known in yunikorn.NAMESPACE_KEYS:
        if _letters(known) == _letters(key) and known not in yunikorn.LEGACY:
            return f"write {known}; keys are case-sensitive"
    if _letters(key).startswith("max"):
        return f"write the amount into {yunikorn.QUOTA}, which takes every resource"
    if key.casefold().startswith("namespace."):
        return "write one of " + ", ".join(map(yunikorn.short, yunikorn.NAMESPACE_KEYS))
    return ""


def _letters(key: str) -> str:
    """The key without the parts that are often wrong: case, separators, the plural and the word namespace."""
    stem = key.removeprefix(YUNIKORN).casefold().removeprefix("namespace.")
    return "".join(character for character in stem if character.isalnum()).removesuffix("s")


# -- amounts -----------------------------------------------------------------------------------------------------------


def _amounts(namespace: Namespace, annotation: str) -> Iterator[_Slip]:
    """Mistakes in members that can be read. quota-annotation-invalid reports the others, which invalidate all."""
    text = namespace.annotations.get(annotation, "")
    field = yunikorn.field(annotation)
    members = {member.key: member.value for member in scan(text).members if member.kind == "text"}
    for resource, value in members.items():
        problem = _unrequested(resource, value, "cpu" in members) or _implausible(resource, value)
        if problem:
            yield _Slip(field, *problem, subject=resource or '""')
    texts = yunikorn.strings(text)
    if scan(text).kind == "object" and texts is not None and _nothing(yunikorn.resource(texts)):
        yield _all_zero(annotation)


def _legacy(namespace: Namespace) -> Iterator[_Slip]:
    texts = yunikorn.legacy_texts(namespace)
    present = [key for key, resource in yunikorn.LEGACY.items() if resource in texts]
    for key in present:
        if problem := _implausible(yunikorn.LEGACY[key], texts[yunikorn.LEGACY[key]]):
            yield _Slip(yunikorn.field(key), *problem)
    if present and _nothing(yunikorn.resource(texts)):
        yield _all_zero(present[0])


def _nothing(amounts: yunikorn.Resource | None) -> bool:
    return amounts is not None and not any(amounts.values())


def _all_zero(annotation: str) -> _Slip:
    name = yunikorn.short(annotation)
    if annotation == yunikorn.GUARANTEED:
        message = f"{name} guarantees nothing, which counts as absent"
        return _Slip(yunikorn.field(annotation), message, f"write an amount above 0, or remove {name}")
    message = f"{name} has no amount above 0, which YuniKorn treats as no quota at all: everything is allowed"
    fix = 'to allow nothing, write one tiny amount beside the zeros, such as {"cpu":"0","memory":"1"}'
    return _Slip(yunikorn.field(annotation), message, f"{fix}; to allow everything, remove {name}")


def _unrequested(resource: str, text: str, beside_cpu: bool) -> tuple[str, str] | None:
    """The message and the fix for a name that no pod can request, or that is a misspelt name of a device; else None."""
    means = likely_name(resource)
    if is_requested(resource):
        return (f"{quoted(resource)} is nearly {means}", f"did you mean {means}?") if "/" in means else None
    if resource == yunikorn.VCORE and beside_cpu:
        return (
            '"vcore" and "cpu" are the same to YuniKorn, and chance decides which of the two counts',
            'remove "vcore"',
        )
    if resource == yunikorn.VCORE:
        quantity = Quantity.read(text)
        amount = f": {shortened(text)} is {quantity.units()}m of cpu" if quantity else ""
        return f'"vcore" counts thousandths of a core in an annotation{amount}', 'write "cpu", which counts cores'
    fix = f"write {quoted(means)}" if means else "write the name that pods use, such as cpu, memory or nvidia.com/gpu"
    return f"no pod requests a resource named {quoted(resource)}, so it limits nothing", fix


def _fraction(resource: str, text: str) -> tuple[str, str] | None:
    """The message and the fix for a small fraction, since nobody means milli-bytes or half a device; else None."""
    quantity = Quantity.read(text)
    if quantity is None or resource == "cpu" or quantity.nano % 10**9 == 0 or not 0 < quantity.units() < _SMALL:
        return None
    message = f"{resource}={text} is rounded up to {quantity.units()}"
    if resource not in ("memory", "ephemeral-storage"):
        return message, "write a whole amount"
    fix = f"write {text[:-1]}M or {text[:-1]}Mi" if text.endswith("m") else "write a whole number of bytes"
    return message + (" byte" if quantity.units() == 1 else " bytes"), fix


def _implausible(resource: str, text: str) -> tuple[str, str] | None:
    if problem := _fraction(resource, text):
        return problem
    found = odd_in_yunikorn("", resource, text)
    return (found.message, found.fix) if found else None


# -- other annotations -------------------------------------------------------------------------------------------------


def _max_apps(namespace: Namespace) -> Iterator[_Slip]:
    text = yunikorn.read_max_apps(namespace)
    field = yunikorn.field(yunikorn.MAX_APPS)
    if not text:
        return
    if not yunikorn.core_max_apps(text.lstrip("+-")):
        message = f"namespace.maxApps={shortened(text)} counts as absent and limits nothing"
        yield _Slip(field, message, "write a number above 0, or remove namespace.maxApps")
    elif not text.isdecimal():
        reason = "YuniKorn's scheduler cannot read the sign, so it limits nothing"
        message = f"namespace.maxApps={shortened(text)} is lost: {reason}"
        yield _Slip(field, message, f"write {text.lstrip('+-')}")


def _switch(namespace: Namespace) -> Iterator[_Slip]:
    text = namespace.annotations.get(yunikorn.ENABLE)
    if text is not None and text not in ("true", "false"):
        message = (
            f"namespace.enableYuniKorn={shortened(text)} is read as false, so YuniKorn does not schedule the pods here"
        )
        yield _Slip(yunikorn.field(yunikorn.ENABLE), message, "write true or false, in lower case")
