"""Changes of a single Pod that runs on quota, after which it would use quota that is not counted for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from policies.amounts.requests import pod_requests
from policies.dialects.core import Pod
from policies.dialects.kueue_jobs import POD_SET, STARTED_FOR, TOPOLOGY_REQUESTS
from policies.dialects.kueue_workload import SLICE_CHAIN
from policies.model import fields
from policies.model.findings import STRICT_ONLY, Finding
from policies.model.quantity import Quantity


def marked(pod: Pod) -> Iterator[Finding]:
    """A finding if a Pod without the label of the Pods that were started on quota has it now."""
    if POD_SET in pod.labels:
        message, fix = "only a Pod that was started on quota has this label", f"leave {POD_SET} out"
        yield Finding(pod.ref, fields.join("metadata.labels", POD_SET), message, fix=fix, profiles=STRICT_ONLY)


def uncounted(old: Pod, pod: Pod, judged: Collection[str]) -> Iterator[Finding]:
    """Findings for changes of the keys by which the Pod is counted. `judged`: those that another rule judges."""
    now = counting_keys(pod.labels, pod.annotations)
    for (where, key), was in counting_keys(old.labels, old.annotations).items():
        if was != now[where, key] and key not in judged:
            message = f"a Pod that runs on quota is counted by {key}"
            fix = f"leave {key} as it is"
            yield Finding(pod.ref, fields.join("metadata", where, key), message, fix=fix, profiles=STRICT_ONLY)


def taken_away(old: Pod, pod: Pod) -> Iterator[Finding]:
    """Findings for changes of the owner or the job's labels, after which the controller would replace the Pod."""
    for field, was in old.ownership.items():
        if pod.ownership.get(field) != was:
            message = "a Pod that runs on quota stays with the job that it was admitted with"
            fix = f"leave {field} as it is, or delete the Pod"
            yield Finding(pod.ref, field, message, fix=fix, profiles=STRICT_ONLY)


def resized(old: Pod, pod: Pod) -> Iterator[Finding]:
    """Findings for Pods that are resized to more."""
    had, asks = pod_requests(old.sized), pod_requests(pod.sized)
    for resource, amount in sorted(asks.items()) if pod.sized else ():
        if amount > had.get(resource, Quantity.ZERO):
            message = f"requests {resource}={amount}, but {had.get(resource, Quantity.ZERO)} was admitted"
            fix = "change the pod template of its job"
            yield Finding(pod.ref, "spec.containers", message, fix=fix, subject=resource, profiles=STRICT_ONLY)


def counting_keys(labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[tuple[str, str], str | None]:
    """The labels and annotations by which Pods are counted, by (labels or annotations, key); None if absent.

    A Pod that requests a topology counts for its place, any other Pod for its node.
    """
    keys = (STARTED_FOR, SLICE_CHAIN, *TOPOLOGY_REQUESTS)
    counted = {("annotations", key): annotations.get(key) for key in keys}
    return {("labels", POD_SET): labels.get(POD_SET), **counted}
