"""Detects templates: manifests with placeholders instead of values."""

from __future__ import annotations

import re
from typing import Any

TEXT = re.compile(rb"\{\{|\{%|%\{|<%|\$\{[A-Za-z_]")
"""Matches the beginning of a placeholder of Go templates, Jinja, ERB, Terraform, Flux and OpenShift."""
_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|%\{.*?\}|<%.*?%>|\$\{\{?[A-Za-z_][^}]*\}\}?", re.DOTALL)
_OF_PROGRAMS = frozenset({"command", "args", "env", "data", "stringData", "annotations", "lifecycle"})
"""Keys below which a shell or another program may use placeholders, so that these do not count."""


def has_placeholder(manifest: Any) -> bool:
    """Whether a value that rules read, such as a name or an amount, is a placeholder."""
    left = [manifest]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += (inner for key, inner in value.items() if key not in _OF_PROGRAMS)
            if any(isinstance(key, str) and _PLACEHOLDER.search(key) for key in value):
                return True
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str) and _PLACEHOLDER.search(value):
            return True
    return False
