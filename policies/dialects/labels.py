"""Checks labels, label selectors, taints and tolerations as Kubernetes does. The CRDs accept any text there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policies.dialects.reading import listing, mapping
from policies.model import fields
from policies.model.objects import Defect

_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*").fullmatch
_BARE_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?").fullmatch
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+").fullmatch
_WITH_VALUES, _WITHOUT_VALUES = ("In", "NotIn"), ("Exists", "DoesNotExist")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LONGEST_NAME, _LONGEST_DOMAIN = 63, 253
_MOST_ANNOTATION_BYTES = 256 * 1024


def is_domain(name: str) -> bool:
    """Whether the name is a DNS subdomain, as the names of most objects must be."""
    return len(name) <= _LONGEST_DOMAIN and _DOMAIN(name) is not None


def is_qualified_name(name: str) -> bool:
    """Whether the name has up to 63 letters, digits and `-_.`, with an optional DNS domain and a slash before them."""
    domain, slash, bare = name.rpartition("/")
    if slash and not is_domain(domain):
        return False
    return len(bare) <= _LONGEST_NAME and _BARE_NAME(bare) is not None


def is_domain_prefixed_path(name: str) -> bool:
    """Whether the name is a DNS domain, a slash and a path, such as `example.com/gate`."""
    domain, _, path = name.partition("/")
    return is_domain(domain) and _PATH(path) is not None


def is_label_value(value: str) -> bool:
    return not value or (len(value) <= _LONGEST_NAME and _BARE_NAME(value) is not None)


def label_faults(labels: object, field: str) -> Iterator[Defect]:
    """The keys and values of labels that Kubernetes refuses."""
    for key, value in mapping(labels).items():
        at = fields.join(field, key)
        if not is_qualified_name(key):
            yield _bad_key(at, key)
        if isinstance(value, str) and not is_label_value(value):
            yield _bad_value(at, value)


def annotation_faults(annotations: object, field: str) -> Iterator[Defect]:
    """The keys of annotations that Kubernetes refuses, and too much text in all. Keys may have capital letters."""
    size = 0
    for key, value in mapping(annotations).items():
        size += len(key.encode()) + (len(value.encode()) if isinstance(value, str) else 0)
        if not is_qualified_name(key.lower()):
            yield _bad_key(fields.join(field, key), key)
    if size > _MOST_ANNOTATION_BYTES:
        yield Defect(field, f"{size} bytes of annotations; at most {_MOST_ANNOTATION_BYTES} are allowed")


def selector_faults(selector: object, field: str) -> Iterator[Defect]:
    yield from label_faults(mapping(selector).get("matchLabels"), f"{field}.matchLabels")
    for index, entry in enumerate(listing(mapping(selector).get("matchExpressions"))):
        yield from _expression_faults(mapping(entry), fields.join(field, "matchExpressions", index))


def _expression_faults(entry: Mapping[str, Any], at: str) -> Iterator[Defect]:
    key, operator, values = entry.get("key"), entry.get("operator"), listing(entry.get("values"))
    if operator in _WITH_VALUES and not values:
        yield Defect(f"{at}.values", f"the operator {operator} needs values; list at least one")
    elif operator in _WITHOUT_VALUES and values:
        yield Defect(f"{at}.values", f"the operator {operator} takes no values; remove them")
    elif operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
        known = ", ".join((*_WITH_VALUES, *_WITHOUT_VALUES))
        yield Defect(f"{at}.operator", f"{str(operator)[:40]!r} is not an operator; write one of {known}")
    if isinstance(key, str) and not is_qualified_name(key):
        yield _bad_key(f"{at}.key", key)
    for index, value in enumerate(values):
        if isinstance(value, str) and not is_label_value(value):
            yield _bad_value(fields.join(at, "values", index), value)


def taint_faults(taints: object, field: str) -> Iterator[Defect]:
    """The faults of the taints of nodes. Effects are left to the schema."""
    seen: set[tuple[str, object]] = set()
    for index, entry in enumerate(listing(taints)):
        at, taint = fields.join(field, index), mapping(entry)
        key, value, effect = taint.get("key"), taint.get("value"), taint.get("effect")
        if isinstance(key, str) and not is_qualified_name(key):
            yield _bad_key(f"{at}.key", key)
        if isinstance(value, str) and not is_label_value(value):
            yield _bad_value(f"{at}.value", value)
        if effect in _EFFECTS and isinstance(key, str):
            if (key, effect) in seen:
                yield Defect(at, f"the taint {key[:80]} with the effect {effect} is listed twice; keep one of them")
            seen.add((key, effect))


def toleration_faults(tolerations: object, field: str) -> Iterator[Defect]:
    for index, entry in enumerate(listing(tolerations)):
        key = mapping(entry).get("key")
        if isinstance(key, str) and key and not is_qualified_name(key):
            yield _bad_key(fields.join(field, index, "key"), key)


def _bad_key(at: str, key: str) -> Defect:
    return Defect(
        at,
        f"{key[:80]!r} is not a label key; write up to 63 letters, digits, '-_.', optionally after a DNS domain "
        "and '/'",
    )


def _bad_value(at: str, value: str) -> Defect:
    return Defect(at, f"{value[:80]!r} is not a label value; write up to 63 letters, digits, '-_.', or leave it empty")
