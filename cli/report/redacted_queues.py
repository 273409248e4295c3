"""Removes confidential content from a queues.yaml: comments, names of users and groups, and unknown keys.

The text is written again from the keys that this module lists. A value of the wrong type is replaced by `redacted`, so
that YuniKorn still refuses a text that it refused before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

from policies.dialects.yunikorn_config.acl import EVERYBODY
from policies.dialects.yunikorn_config.settings import PROPERTIES, RESOLVERS
from policies.dialects.yunikorn_config.structure import SORT_TYPES
from policies.dialects.yunikorn_config.typed import MAX_NODES
from policies.text import yaml_nodes
from policies.text.positions import BadText
from policies.text.yaml_composer import first_document
from policies.text.yaml_nodes import Node, Scalar, SequenceNode

REDACTED = "redacted"

Hide = Callable[[str], str]
"""Returns a substitute for the name of a user or a group, or the title of a limit."""
Value: TypeAlias = "str | list[Value] | dict[str, Value]"
"""A scalar as written in YAML, or a list or mapping of values."""
_Kept = Callable[[Node, "_Writer"], Value]

_PLAIN = re.compile(r"[\w.+-]{1,63}", re.ASCII).fullmatch
_AMOUNT = re.compile(r"[-+]?[0-9.]{1,40}(e[-+]?[0-9]{1,3}|[A-Za-z]{1,2})?", re.ASCII).fullmatch
_NAME_IN_ACL = re.compile(r"[^\s,]+")


class _TooMany(Exception):
    """The text has more values, counted with the copies of YAML aliases, than this module allows."""


class _Writer:
    def __init__(self, hide: Hide) -> None:
        self.hide = hide
        self._left = MAX_NODES

    def visit(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _TooMany


def redacted_queues(text: str, hide: Hide) -> str:
    """The text with the same amounts, queue names and known properties, but with hidden users and groups."""
    try:
        node = first_document(text)
        return "" if node is None else "\n".join(_lines(_CONFIG(node, _Writer(hide)), "")) + "\n"
    except (BadText, _TooMany):
        return f"{REDACTED}\n"


# -- which values are kept ---------------------------------------------------------------------------------------------


def _fitting(fits: Callable[[Scalar], object]) -> _Kept:
    """A function that keeps a scalar if `fits` accepts it, or if it is null, and replaces other values."""

    def of(node: Node, writer: _Writer) -> Value:
        writer.visit()
        return _written(node) if isinstance(node, Scalar) and (node.value is None or fits(node)) else REDACTED

    return of


def _one_of(words: Collection[str]) -> _Kept:
    return _fitting(lambda scalar: scalar.text in words)


def _name(node: Node, writer: _Writer) -> Value:
    """Keep the name or path of a queue, or the name of a resource."""
    writer.visit()
    return _written(node) if isinstance(node, Scalar) else REDACTED


def _hidden(node: Node, writer: _Writer) -> Value:
    writer.visit()
    if not isinstance(node, Scalar):
        return REDACTED
    return _written(node) if node.text in ("", EVERYBODY) else json.dumps(writer.hide(node.text))


def _acl(node: Node, writer: _Writer) -> Value:
    """Hide the names in an ACL. Its spaces and commas are kept, since they decide whether YuniKorn can parse it."""
    writer.visit()
    if not isinstance(node, Scalar):
        return REDACTED
    names = _NAME_IN_ACL.sub(lambda each: each[0] if each[0] == EVERYBODY else writer.hide(each[0]), node.text)
    return json.dumps(names)


def _listed(kept: _Kept) -> _Kept:
    def of(node: Node, writer: _Writer) -> Value:
        writer.visit()
        return [kept(item, writer) for item in node.items] if isinstance(node, SequenceNode) else _substitute(node)

    return of


def _mapped(of_key: Callable[[str], _Kept | None]) -> _Kept:
    """A function that keeps the known keys of a mapping; a key `redacted` replaces all others."""

    def of(node: Node, writer: _Writer) -> Value:
        writer.visit()
        if not isinstance(node, yaml_nodes.Mapping):
            return _substitute(node)
        found: dict[str, Value] = {}
        for key, value in _entries(node, writer):
            kept = of_key(key)
            if kept is None or key in found:
                found[REDACTED] = '""'
            else:
                found[key] = kept(value, writer)
        return found

    return of


def _substitute(node: Node) -> Value:
    """The substitute for a value that should be a list or a mapping. Null is kept, since it counts as absent."""
    return "null" if isinstance(node, Scalar) and node.value is None else REDACTED


def _entries(node: yaml_nodes.Mapping, writer: _Writer) -> Iterator[tuple[str, Node]]:
    """The entries of a mapping, including the keys that `<<` merges in."""
    merged: dict[str, Node] = {}
    own = {key.text for key, _ in node.entries}
    for key, value in node.entries:
        if not (key.plain and key.text == "<<"):
            yield key.text, value
            continue
        for source in value.items if isinstance(value, SequenceNode) else (value,):
            writer.visit()
            inner = _entries(source, writer) if isinstance(source, yaml_nodes.Mapping) else [(REDACTED, source)]
            merged = {**dict(inner), **merged}
    yield from ((key, value) for key, value in merged.items() if key not in own)


def _keys(kept: Mapping[str, _Kept]) -> _Kept:
    return _mapped(kept.get)


def _valued(fits: Callable[[str], bool]) -> Callable[[Scalar], bool]:
    return lambda scalar: fits(scalar.text)


def _queue(node: Node, writer: _Writer) -> Value:
    return _QUEUE(node, writer)


def _rule(node: Node, writer: _Writer) -> Value:
    return _RULE(node, writer)


_SWITCH = _fitting(lambda scalar: isinstance(scalar.value, bool))
_NUMBER = _fitting(lambda scalar: _AMOUNT(scalar.text))
_AMOUNTS = _mapped(lambda _: _NUMBER)
_RESOURCES = _keys({"guaranteed": _AMOUNTS, "max": _AMOUNTS})
_PROPERTIES = _keys({key: _fitting(_valued(fits)) for key, (fits, _, _) in PROPERTIES.items()})
_LIMIT = _keys(
    {
        "limit": _hidden,
        "users": _listed(_hidden),
        "groups": _listed(_hidden),
        "maxresources": _AMOUNTS,
        "maxapplications": _NUMBER,
    }
)
_SHARED: Mapping[str, _Kept] = {"maxapplications": _NUMBER, "properties": _PROPERTIES, "resources": _RESOURCES}
_QUEUE = _keys(
    {
        **_SHARED,
        "name": _name,
        "parent": _SWITCH,
        "adminacl": _acl,
        "submitacl": _acl,
        "childtemplate": _keys(_SHARED),
        "queues": _listed(_queue),
        "limits": _listed(_LIMIT),
    }
)
_FILTER = _keys({"type": _one_of(("", "allow", "deny")), "users": _listed(_hidden), "groups": _listed(_hidden)})
_RULE = _keys({"name": _name, "create": _SWITCH, "filter": _FILTER, "parent": _rule, "value": _name})
_CONFIG = _keys(
    {
        "checksum": lambda _, __: '""',
        "partitions": _listed(
            _keys(
                {
                    "name": _name,
                    "queues": _listed(_queue),
                    "limits": _listed(_LIMIT),
                    "nodesortpolicy": _keys({"type": _one_of(SORT_TYPES), "resourceweights": _AMOUNTS}),
                    "preemption": _keys({"enabled": _SWITCH, "quotapreemptionenabled": _SWITCH}),
                    "usergroupresolver": _keys({"type": _one_of(RESOLVERS)}),
                    "placementrules": _listed(_rule),
                }
            )
        ),
    }
)


# -- writing YAML ------------------------------------------------------------------------------------------------------


def _written(scalar: Scalar) -> str:
    """The scalar as YAML of the same type: a number in quotes remains a text."""
    return scalar.text if scalar.plain and _PLAIN(scalar.text) else json.dumps(scalar.text)


def _lines(value: Value, indent: str) -> Iterator[str]:
    if isinstance(value, str) or not value:
        yield f"{indent}{_short(value)}"
    elif isinstance(value, list):
        for item in value:
            first, *rest = _lines(item, f"{indent}  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
    else:
        for key, held in value.items():
            name = key if _PLAIN(key) else json.dumps(key)
            if isinstance(held, str) or not held:
                yield f"{indent}{name}: {_short(held)}"
            else:
                yield f"{indent}{name}:"
                yield from _lines(held, f"{indent}  ")


def _short(value: Value) -> str:
    return value if isinstance(value, str) else "[]" if isinstance(value, list) else "{}"
