"""Warns in the log about quotas in the deprecated annotations of Namespaces, as YuniKorn does."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from policies.dialects import yunikorn
from policies.dialects.core import Namespace

log = logging.getLogger(__name__)


def warn_of_legacy(before: Mapping[str, str] | None, namespace: Namespace | None) -> None:
    """Warn once per change. `before`: the annotations as last observed; None for a new Namespace."""
    if namespace is None or yunikorn.enabled(namespace) is False:
        return
    present = [key for key in yunikorn.LEGACY if namespace.annotations.get(key)]
    if not present or (before is not None and _set(before) == _set(namespace.annotations)):
        return
    keys = " and ".join(map(yunikorn.short, present))
    if namespace.annotations.get(yunikorn.QUOTA):
        log.warning("Namespace %s: deprecated %s has no effect beside namespace.quota", namespace.ref.name, keys)
        return
    log.warning(
        "Namespace %s: its quota is in deprecated %s, which YuniKorn 2.0 will not read; write namespace.quota",
        namespace.ref.name,
        keys,
    )


def _set(annotations: Mapping[str, str]) -> set[str]:
    return {key for key in (*yunikorn.LEGACY, yunikorn.QUOTA) if annotations.get(key)}
