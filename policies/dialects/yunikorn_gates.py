"""How a Pod waits for YuniKorn's quota without YuniKorn's scheduler: its labels and annotations."""

from __future__ import annotations

from policies.dialects import yunikorn
from policies.dialects.core import APP_ID, Namespace
from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY
from policies.dialects.yunikorn_gangs import TASK_GROUP, TASK_GROUPS

YUNIKORN = "yunikorn"
"""The value of the label."""

LABELS = (QUOTA_KEY, APP_ID, "applicationId", "spark-app-selector", yunikorn.QUEUE, "queue")
ANNOTATIONS = (ADMITTED, APP_ID, yunikorn.QUEUE, yunikorn.USER_INFO, TASK_GROUP, TASK_GROUPS)
"""The annotations by which a Pod is counted: only the admitter of the Pod may change them."""
WHILE_GATED = ANNOTATIONS
"""The protected annotations of a waiting Pod."""

UNREADABLE = "quotree.dev/QuotaUnreadable"
"""The condition of a Namespace whose quota cannot be read."""
FULL = "quotree.dev/QuotaFull"
"""The condition of a Namespace of whose quota some resource is used up; its message has all that is in use."""

_LIMITS = (yunikorn.QUOTA, yunikorn.GUARANTEED, *yunikorn.LEGACY, yunikorn.MAX_APPS, yunikorn.PARENT_QUEUE)


def has_quota(namespace: Namespace) -> bool:
    """Whether Pods of the Namespace wait for quota: it says something of its queue, and leaves its Pods to YuniKorn."""
    return yunikorn.enabled(namespace) is not False and any(namespace.annotations.get(key) for key in _LIMITS)
