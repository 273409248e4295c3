"""How a Pod waits for quota without the scheduler of its project: its gate, label and annotations.

The webhook sets gate and label when a Pod is created; the component that admits it removes the gate and notes
the queue.
"""

from __future__ import annotations

from policies.dialects.pod_reading import gates_in
from policies.dialects.reading import Manifest, mapping, metadata, texts

QUOTA_KEY = "quotree.dev/quota"
"""The scheduling gate, and the label of its Pods and of Namespaces whose Pods get it; its value is the project."""
ADMITTED = "quotree.dev/quota-admitted"
"""The annotation that names the queue in which a Pod without its gate counts."""
WAITS = "quotree.dev/quota-waits"
"""The annotation that says why a Pod waits."""


def project_of(manifest: Manifest) -> str:
    """The project in whose quota the object counts, from its label; empty for none."""
    return texts(metadata(manifest).get("labels")).get(QUOTA_KEY, "")


def is_gated(manifest: Manifest) -> bool:
    return QUOTA_KEY in gates_in(mapping(manifest.get("spec")))
