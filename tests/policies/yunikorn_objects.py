"""Namespaces and Pods of YuniKorn in few words; keys go without the prefix yunikorn.apache.org/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policies.dialects.core import YUNIKORN, Namespace, Pod, read_namespace, read_pod
from tests import builders

Manifest = dict[str, Any]


def namespace_manifest(annotations: Mapping[str, str | None], labels: Mapping[str, str] | None = None) -> Manifest:
    """A Namespace `dev`; None leaves an annotation out."""
    notes = {YUNIKORN + key: text for key, text in annotations.items() if text is not None}
    return builders.namespace("dev", notes, labels={YUNIKORN + key: text for key, text in (labels or {}).items()})


def namespace(**annotations: str | None) -> Namespace:
    """`namespace(quota=..., max_cpu=...)`: the word `namespace.` is put before, `_` stands for a dot."""
    return read_namespace(namespace_manifest({"namespace." + k.replace("_", "."): v for k, v in annotations.items()}))


def pod(labels: Mapping[str, str], annotations: Mapping[str, str], scheduler: str = "yunikorn") -> Pod:
    """A Pod in `dev`; here keys are written in full."""
    spec = {"schedulerName": scheduler}
    return read_pod(builders.pod("p", "dev", spec, labels=dict(labels), annotations=dict(annotations)))
