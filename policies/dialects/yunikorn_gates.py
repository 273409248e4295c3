"""How a Pod waits for YuniKorn's quota without YuniKorn's scheduler: the gate, what marks it, and what is counted by.

The webhook sets gate and label when a Pod is created; whoever admits it takes the gate off and notes the queue.
"""

from __future__ import annotations

from policies.dialects import yunikorn
from policies.dialects.core import APP_ID, Namespace, gates
from policies.dialects.reading import Manifest, metadata, texts
from policies.dialects.yunikorn_gangs import TASK_GROUP, TASK_GROUPS

MARK = "quotree.dev/quota"
"""The scheduling gate, and the label of Pods that got it and of Namespaces whose Pods get it."""
MARKED = "yunikorn"
"""The value of the label."""
ADMITTED = "quotree.dev/quota-admitted"
"""The annotation that names the queue in which a Pod without its gate counts."""
WAITS = "quotree.dev/quota-waits"
"""The annotation that says why a Pod waits."""

LABELS = (MARK, APP_ID, "applicationId", "spark-app-selector", yunikorn.QUEUE, "queue")
ANNOTATIONS = (ADMITTED, APP_ID, yunikorn.QUEUE, yunikorn.USER_INFO, TASK_GROUP, TASK_GROUPS)
"""By these a Pod is counted, so nobody changes them but who admits it."""

_LIMITS = (yunikorn.QUOTA, yunikorn.GUARANTEED, *yunikorn.LEGACY, yunikorn.MAX_APPS, yunikorn.PARENT_QUEUE)


def has_quota(namespace: Namespace) -> bool:
    """Whether Pods of the Namespace wait for quota: it says something of its queue, and leaves its Pods to YuniKorn."""
    return yunikorn.enabled(namespace) is not False and any(namespace.annotations.get(key) for key in _LIMITS)


def is_marked(manifest: Manifest) -> bool:
    return texts(metadata(manifest).get("labels")).get(MARK) == MARKED


def is_gated(manifest: Manifest) -> bool:
    return MARK in gates(manifest)
