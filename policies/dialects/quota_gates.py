"""How a Pod waits for quota without the scheduler of its project: the gate, what marks it, and what is noted on it.

The webhook sets gate and label when a Pod is created; the component that admits it removes the gate and notes
the queue.
"""

from __future__ import annotations

from policies.dialects.pod_reading import gates_in
from policies.dialects.reading import Manifest, mapping, metadata, texts

MARK = "quotree.dev/quota"
"""The scheduling gate, and the label of its Pods and of Namespaces whose Pods get it; its value is the project."""
ADMITTED = "quotree.dev/quota-admitted"
"""The annotation that names the queue in which a Pod without its gate counts."""
WAITS = "quotree.dev/quota-waits"
"""The annotation that says why a Pod waits."""


def mark_of(manifest: Manifest) -> str:
    """The project for whose quota the object is marked; empty for none."""
    return texts(metadata(manifest).get("labels")).get(MARK, "")


def is_gated(manifest: Manifest) -> bool:
    return MARK in gates_in(mapping(manifest.get("spec")))
