"""Manifests drawn from the structural schemas: every field may be there or not, with a value that fits."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from hypothesis import strategies as st

from policies.dialects.kueue_kinds import GROUP
from policies.schema import declarations
from policies.schema.declarations import Schema

Values = st.SearchStrategy[Any]
_TEXTS = ["a", "b", "spot-1", "main", "rack.example.com"]
NAMES = st.sampled_from(_TEXTS)
_UNBOUNDED = 3
"""Entries of a list or mapping; more add time and nothing else."""


def manifests(kind: str, version: str) -> Values:
    """Objects of a kind of Kueue that the schema of the version takes."""
    declared = declarations.load(declarations.FILES[GROUP, kind])["versions"]
    properties = next(each["schema"]["properties"] for each in declared if each["name"] == version)
    parts = {key: values(node) for key, node in properties.items() if key != "metadata"}
    annotations = st.dictionaries(st.sampled_from(["note", "other"]), st.text(max_size=5), min_size=1)
    metadata = st.fixed_dictionaries({"name": NAMES}, optional={"annotations": annotations})
    head = {"apiVersion": st.just(f"{GROUP}/{version}"), "kind": st.just(kind), "metadata": metadata}
    return st.fixed_dictionaries(head, optional=parts)


def values(node: Schema) -> Values:
    """What this part of a schema takes."""
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if "x-kubernetes-int-or-string" in node:
        return st.integers(0, 9) | st.sampled_from(["1", "500m", "2Gi"])
    match node.get("type"):
        case "object":
            return _mappings(node)
        case "array":
            return _lists(node)
        case "integer":
            return st.integers(max(node.get("minimum", 0), 0), 50)
        case "boolean":
            return st.booleans()
    if node.get("format") == "date-time":
        return st.just("2026-11-21T07:00:00Z")
    return st.sampled_from([name for name in _TEXTS if re.search(node.get("pattern", ""), name)])


def _mappings(node: Schema) -> Values:
    if "properties" in node:
        parts = {key: values(inner) for key, inner in node["properties"].items()}
        required = {key: parts.pop(key) for key in node.get("required", ())}
        return st.fixed_dictionaries(required, optional=parts)
    each = node.get("additionalProperties")
    return st.dictionaries(NAMES, values(each) if isinstance(each, dict) else NAMES, max_size=_UNBOUNDED)


def _lists(node: Schema) -> Values:
    keys = node.get("x-kubernetes-list-map-keys", ())
    most = min(node.get("maxItems", _UNBOUNDED), _UNBOUNDED)
    entries = values(node["items"])
    if keys:
        told_apart = partial(_key, keys)
    elif node.get("x-kubernetes-list-type") == "set":
        told_apart = partial(_key, ())
    else:
        return st.lists(entries, min_size=node.get("minItems", 0), max_size=most)
    return st.lists(entries, min_size=node.get("minItems", 0), max_size=most, unique_by=told_apart)


def _key(keys: tuple[str, ...], entry: Any) -> str:
    return str([entry.get(key) for key in keys]) if keys else str(entry)
