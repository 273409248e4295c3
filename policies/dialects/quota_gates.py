"""The gate, label and annotations of a Pod that waits for quota without the scheduler of its project.

The webhook adds the gate and the label when a Pod is created. The controller that admits the Pod removes the gate and
writes the queue into an annotation.
"""

from __future__ import annotations

from policies.dialects.pod_reading import gates_in
from policies.dialects.reading import Manifest, mapping, metadata, texts

QUOTA_KEY = "quotree.dev/quota"
"""The name of the scheduling gate and of a label. The label's value is the project. Pods with the gate have it, and
Namespaces whose Pods get the gate."""
ADMITTED = "quotree.dev/quota-admitted"
"""The annotation with the queue in which an admitted Pod counts."""
WAITS = "quotree.dev/quota-waits"
"""The annotation with the reason why a Pod waits."""


def project_of(manifest: Manifest) -> str:
    """The project in whose quota the object counts, by its label; empty for none."""
    return texts(metadata(manifest).get("labels")).get(QUOTA_KEY, "")


def is_gated(manifest: Manifest) -> bool:
    return QUOTA_KEY in gates_in(mapping(manifest.get("spec")))
