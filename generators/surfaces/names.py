"""The records of names: rules, metrics, annotations, paths, and environment variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from audit.api import PATH as FINDINGS
from audit.metrics import FAMILIES as OF_THE_AUDIT
from generators.files import ROOT
from policies.rules import registry
from reconciler.api.routes import ROUTES
from reconciler.metrics.catalogue import families
from webhook.app import CONVERTING
from webhook.metrics import FAMILIES as OF_THE_WEBHOOK
from webhook.review_handler import MUTATING, VALIDATING

_PACKAGES = ("policies", "scheduling", "cluster", "certs", "webhook", "reconciler", "audit", "analysis", "cli")
_MARK = re.compile(r"(?<![\w.-])((?:[a-z]+\.)*quotree\.dev/[A-Za-z0-9.-]*[A-Za-z0-9]|(?:[a-z]+\.)+quotree\.dev/)")
_VARIABLE = re.compile(r"\bQUOTREE_[A-Z_]+")
_VERSION = re.compile(r".*/v\d+(alpha|beta)?\d*").fullmatch


def rules() -> Iterator[str]:
    """The id of each rule, and its default action."""
    for rule in registry().values():
        yield rule.id
        yield f"{rule.id} default: {rule.default}"


def metrics() -> Iterator[str]:
    """Each metric with its type, and each of its labels."""
    for family in (*families(), *OF_THE_WEBHOOK, *OF_THE_AUDIT):
        yield f"{family.name} {family.type}"
        yield from (f"{family.name}{{{label}}}" for label in family.labels)


def marks() -> Iterator[str]:
    """The names of annotations, labels, finalizers and conditions below quotree.dev, or their prefixes."""
    found = (
        node.value
        for file in _modules("quotree.dev/")
        for node in ast.walk(ast.parse(file))
        if isinstance(node, ast.Constant)
    )
    yield from (text for text in found if isinstance(text, str) and _MARK.fullmatch(text) and not _VERSION(text))
    for file in (ROOT / "manifests").rglob("*.yaml"):
        yield from (text for text in _MARK.findall(file.read_text(encoding="utf-8")) if not _VERSION(text))


def variables() -> Iterator[str]:
    return (name for file in _modules("QUOTREE_") for name in _VARIABLE.findall(file))


def paths() -> Iterator[str]:
    """The paths that servers answer, except pages. NAME stands for a part of the path that the caller chooses."""
    yield from (f"webhook {path}" for path in (*VALIDATING, *MUTATING, CONVERTING))
    yield f"audit {FINDINGS}"
    for pattern, _ in ROUTES:
        path = pattern.replace("([^/]+)", "NAME")
        yield from dict.fromkeys(f"reconciler {each}" for each in (path.replace("?", ""), re.sub(r".\?", "", path)))


def _modules(has: str) -> Iterator[str]:
    """The source texts of the modules that contain this text."""
    for package in _PACKAGES:
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            if has in text:
                yield text
