"""Generates plain rule files of Prometheus from the PrometheusRules in the manifests."""

from __future__ import annotations

from typing import Any

from generators.files import as_yaml, documents, note

SOURCES = {"webhook": "prometheus-rule", "reconciler": "prometheus-rule-reconciler"}
"""A program to the component with its alerts."""


def generate() -> dict[str, str]:
    return {f"monitoring/rules/{program}.yaml": _file(program) for program in SOURCES}


def groups(program: str) -> list[dict[str, Any]]:
    """The rule groups of a program, in the format of Prometheus."""
    (document,) = documents(path(program))
    found: list[dict[str, Any]] = document["spec"]["groups"]
    return found


def path(program: str) -> str:
    return f"manifests/components/{SOURCES[program]}/prometheus-rule.yaml"


def _file(program: str) -> str:
    return f"# {note(path(program))}\n{as_yaml({'groups': groups(program)})}"
