"""Detects templates, which are manifests with placeholders instead of values, and objects that are not judged."""

from __future__ import annotations

import re
from typing import Any

from policies.dialects import READERS
from policies.dialects.declared import DECLARED
from policies.dialects.reading import Manifest, group_kind, mapping, metadata, text
from policies.dialects.yunikorn_config.configmap import QUEUES
from policies.model.objects import GroupKind, Ref
from policies.text import yaml_values
from policies.text.positions import BadText

TEXT = re.compile(rb"\{\{|\{%|%\{|<%|\$\{[A-Za-z_]|@[A-Z][A-Z0-9_]*@|%[A-Z][A-Z0-9_]*%")
"""Matches the beginning of a placeholder of Go templates, Jinja, ERB, Terraform, Flux, OpenShift and sed."""
MAY_HAVE = re.compile(rb"\{\{|\{%|%\{|<%|\$\{?[A-Za-z_]|<[A-Za-z]|__[A-Za-z]|[@%][A-Z]")
"""Matches the beginning of any placeholder. Other text, such as a script, may match too."""
_PLACEHOLDER = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|%\{.*?\}|<%.*?%>|\$\{\{?[A-Za-z_][^}]*\}\}?"
    r"|\A[\w./-]*?(?:\$[A-Z_][A-Z0-9_]*|<[A-Za-z][^<>]*>|@[A-Z][A-Z0-9_]*@|%[A-Z][A-Z0-9_]*%)[\w./$<>@%-]*\Z"
    r"|\A\(\$[A-Za-z_]\w*\)\Z"
    r"|\A__[A-Za-z]\w*__[\w./-]*\Z|\A[\w./-]*?__[A-Za-z]\w*__\Z",
    re.DOTALL,
)
"""Matches a placeholder anywhere in a text; `$NAME`, `<name>`, `@NAME@`, `%NAME%`, `($name)` and `__NAME__` only
in a name or an amount.

`__NAME__` is a placeholder at the start or the end of a text. In the middle it may be a part of a valid label.
"""
_NOT_READ = frozenset(
    {
        *("command", "args", "arguments", "entrypoint", "env", "lifecycle"),
        *("annotations", "data", "description", "managedFields", "status", "stringData"),
        *("extendClusters", "nodeGroupAffinity", "nodeGroupAntiAffinity"),
        *("image", "imagePullSecrets", "serviceAccountName", "volumeMounts", "volumes"),
    }
)
"""Keys below which placeholders do not count: a shell or another program may use them, or no rule reads the value."""
_IDENTITY = re.compile(rb"""\b(apiVersion|kind)["']?\s*:\s*["']?([A-Za-z0-9./-]+)""")


_BY_KYVERNO = frozenset({"data", "clone"})
"""A Kyverno policy that generates an object has one of these fields beside kind, name and namespace."""


def has_placeholder(manifest: Any) -> bool:
    """Whether a value that rules read, such as a name or an amount, is a placeholder. It also reads a queues.yaml."""
    left = [manifest]
    queues = mapping(mapping(manifest).get("data")).get(QUEUES)
    if isinstance(queues, str):
        try:
            left.append(yaml_values.single(queues))
        except BadText:  # it is a template, or broken
            return TEXT.search(queues.encode()) is not None
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += (inner for key, inner in value.items() if key not in _NOT_READ)
            if any(isinstance(key, str) and _PLACEHOLDER.search(key) for key in value):
                return True
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str) and _PLACEHOLDER.search(value):
            return True
    return False


def hidden_object(manifest: Manifest) -> frozenset[Ref]:
    """The object that a template declares, without a name if the name is a placeholder; empty for work."""
    kind = GroupKind.of(str(manifest.get("apiVersion")), str(manifest.get("kind")))
    if kind not in DECLARED:
        return frozenset()
    meta = metadata(manifest)
    name = text(meta.get("name")) or ""
    return frozenset([Ref(*kind, text(meta.get("namespace")) or "", "" if _PLACEHOLDER.search(name) else name)])


def carried_objects(manifest: Manifest) -> frozenset[Ref]:
    """The objects inside an object of another kind: a ManifestWork sends them to a cluster, Kyverno generates them."""
    found: frozenset[Ref] = frozenset()
    left = [] if group_kind(manifest) in READERS else [*manifest.values()]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
            if "metadata" in value:  # without it, it is a reference
                found |= hidden_object(value)
            elif not _BY_KYVERNO.isdisjoint(value):
                found |= hidden_object({**value, "metadata": value})
        elif isinstance(value, list):
            left += value
    return found


def hidden_kinds(data: bytes) -> frozenset[Ref]:
    """An object without a name for each kind that people keep in files and that the text of a template has."""
    words = {each.decode() for match in _IDENTITY.findall(data) for each in match}
    groups = {each.rpartition("/")[0] for each in words}
    return frozenset(Ref(*each, "", "") for each in DECLARED if each.kind in words and each.group in groups)
