"""Names that other programs and people rely on: rules, metrics, annotations and labels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from audit.metrics import FAMILIES as OF_THE_AUDIT
from generators.files import ROOT
from policies.rules import registry
from reconciler.metrics.catalogue import families
from webhook.metrics import FAMILIES as OF_THE_WEBHOOK

_PACKAGES = ("policies", "scheduling", "cluster", "certs", "webhook", "reconciler", "audit", "analysis", "cli")
_MARK = re.compile(r"(?<![\w.-])((?:[a-z]+\.)*quotree\.dev/[A-Za-z0-9.-]*[A-Za-z0-9]|(?:[a-z]+\.)+quotree\.dev/)")
_VERSION = re.compile(r".*/v\d+(alpha|beta)?\d*").fullmatch


def rules() -> Iterator[str]:
    """The id of each rule, and what it does where the configuration does not say."""
    for rule in registry().values():
        yield rule.id
        yield f"{rule.id} default: {rule.default}"


def metrics() -> Iterator[str]:
    """Each metric with its type, and each of its labels."""
    for family in (*families(), *OF_THE_WEBHOOK, *OF_THE_AUDIT):
        yield f"{family.name} {family.type}"
        yield from (f"{family.name}{{{label}}}" for label in family.labels)


def marks() -> Iterator[str]:
    """Annotations, labels, finalizers and conditions below quotree.dev, or how their names begin."""
    found = (node.value for file in _modules() for node in ast.walk(ast.parse(file)) if isinstance(node, ast.Constant))
    yield from (text for text in found if isinstance(text, str) and _MARK.fullmatch(text) and not _VERSION(text))
    for file in (ROOT / "manifests").rglob("*.yaml"):
        yield from (text for text in _MARK.findall(file.read_text(encoding="utf-8")) if not _VERSION(text))


def _modules() -> Iterator[str]:
    for package in _PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if "quotree.dev/" in text:
                yield text
