"""The labels and annotations of a Pod that waits for the quota of a Volcano queue without Volcano's scheduler."""

from __future__ import annotations

from collections.abc import Mapping

from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY
from policies.dialects.reading import Manifest, metadata, text, texts

VOLCANO = "volcano"
"""The value of the label QUOTA_KEY."""
GROUP_NAME = "scheduling.k8s.io/group-name"
GROUP_NAMES = (GROUP_NAME, "scheduling.volcano.sh/group-name")
"""The annotations that name the PodGroup of a Pod."""
TASK_NAME = "volcano.sh/task-spec"
"""The annotation or label that names the task of a Pod in its PodGroup."""
TOGETHER = "quotree.dev/quota-gang"
"""The annotation with the number of Pods of its PodGroup that were admitted together with it, and the creation time of
the youngest one."""

LABELS = (QUOTA_KEY,)
ANNOTATIONS = (ADMITTED, TOGETHER, *GROUP_NAMES, TASK_NAME)
"""The annotations by which a Pod is counted. Only the controller that admits the Pod may change them."""
WHILE_GATED = (ADMITTED, TOGETHER)
"""The annotations that are protected while a Pod waits. Its PodGroup may still be named, by Volcano's controller or a
user."""


def task_of(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """The task of the Pod in its PodGroup: that of its annotation, else of its label; empty for none."""
    return annotations.get(TASK_NAME) or labels.get(TASK_NAME, "")


def group_of(pod: Manifest) -> str | None:
    """The PodGroup that the Pod names, as `<namespace>/<name>`."""
    meta = metadata(pod)
    return group_in(texts(meta.get("annotations")), text(meta.get("namespace")) or "default")


def group_in(annotations: Mapping[str, str], namespace: str) -> str | None:
    """The PodGroup that these annotations of a Pod name, as `<namespace>/<name>`."""
    for key in GROUP_NAMES:
        if named := annotations.get(key):
            return f"{namespace}/{named}"
    return None
