"""How a Pod waits for the quota of Volcano's queues without its scheduler: its labels and annotations."""

from __future__ import annotations

from collections.abc import Mapping

from policies.dialects.quota_gates import ADMITTED, QUOTA_KEY
from policies.dialects.reading import Manifest, metadata, text, texts

VOLCANO = "volcano"
"""The value of the label."""
GROUP_NAME = "scheduling.k8s.io/group-name"
GROUP_NAMES = (GROUP_NAME, "scheduling.volcano.sh/group-name")
"""The annotations that name the PodGroup of a Pod."""
TASK_NAME = "volcano.sh/task-spec"
TOGETHER = "quotree.dev/quota-gang"
"""The annotation that says how many Pods of its PodGroup passed together with it, and when the youngest was created."""

LABELS = (QUOTA_KEY,)
ANNOTATIONS = (ADMITTED, TOGETHER, *GROUP_NAMES, TASK_NAME)
"""The annotations by which a Pod is counted: only the admitter of the Pod may change them."""
WHILE_GATED = (ADMITTED, TOGETHER)
"""The protected annotations of a waiting Pod: Volcano's controller, or a user, may still name its PodGroup."""


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
