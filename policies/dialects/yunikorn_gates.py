"""The labels and annotations of a Pod that waits for YuniKorn's quota without YuniKorn's scheduler."""

from __future__ import annotations

from policies.dialects import yunikorn
from policies.dialects.core import APP_ID, Namespace
from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY
from policies.dialects.yunikorn_gangs import TASK_GROUP, TASK_GROUPS

YUNIKORN = "yunikorn"
"""The value of the label QUOTA_KEY."""

LABELS = (QUOTA_KEY, APP_ID, "applicationId", "spark-app-selector", yunikorn.QUEUE, "queue")
ANNOTATIONS = (ADMITTED, APP_ID, yunikorn.QUEUE, yunikorn.USER_INFO, TASK_GROUP, TASK_GROUPS)
"""The annotations by which a Pod is counted. Only the controller that admits the Pod may change them."""
WHILE_GATED = ANNOTATIONS
"""The annotations that are protected while a Pod waits."""

UNREADABLE = "quotree.dev/QuotaUnreadable"
"""The condition of a Namespace whose quota cannot be read."""
FULL = "quotree.dev/QuotaFull"
"""The condition of a Namespace that has used up its quota of a resource. Its message has the usage of all resources."""

_LIMITS = (yunikorn.QUOTA, yunikorn.GUARANTEED, *yunikorn.LEGACY, yunikorn.MAX_APPS, yunikorn.PARENT_QUEUE)


def has_quota(namespace: Namespace) -> bool:
    """Whether Pods of the Namespace wait for quota: it has annotations about its queue, and YuniKorn processes it."""
    return yunikorn.enabled(namespace) is not False and any(namespace.annotations.get(key) for key in _LIMITS)
