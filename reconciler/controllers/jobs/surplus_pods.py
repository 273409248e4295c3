"""Which Pods of a Workload run beyond the admitted ones, and which of these are ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from policies.amounts.ancestry import within
from reconciler.controllers.jobs.started_pods import StartedPod
from reconciler.controllers.slices.slice_pods import counted_pods
from reconciler.jobs.pod_writes import LONGEST_GRACE
from scheduling.objects.roles import pod_requests
from scheduling.objects.workload import Workload

STOPPED = "Its job has stopped"
_GROWN = "The Pod requests more than was admitted"
_RELEASED = "Its job released the Pod, and more Pods run than were admitted"
_SLOW = "The Pod takes long to end, and more Pods run than were admitted"


def room(read: Workload | None, *, stopped: bool, generations: int) -> dict[str, int] | None:
    """The most Pods that may run, by pod set; empty if the job has stopped, so that none may.

    None if the number is not limited here: the Workload is unknown, finished, not admitted or elastic.
    `generations`: how many generations of Pods the job may run at a time.
    """
    if read is None or read.elastic or read.finished:
        return None
    if stopped:
        return {}
    if not read.counts or read.admission is None:
        return None
    given = {each.name: each.count for each in read.admission.assignments}
    return {each.name: (given.get(each.name) or each.count) * generations for each in read.pod_sets}


def newest(most: Mapping[str, int], pods: Mapping[str, StartedPod]) -> Iterator[tuple[str, StartedPod]]:
    """The Pods beyond the most of their pod set, the newest first."""
    stay = [(name, pod) for name, pod in pods.items() if not (pod.given_up or pod.deleting or pod.alone)]
    stay.sort(key=lambda item: item[1].created)
    over = Counter(pod.pod_set for _, pod in stay)
    over.subtract(most)
    for name, pod in reversed(stay):
        if over[pod.pod_set] > 0 and pod.marked:
            over[pod.pod_set] -= 1
            yield name, pod


def surplus(read: Workload | None, pods: Iterable[StartedPod]) -> dict[str, int]:
    """How many Pods run beyond the admitted ones, by pod set, so that their room is not given away.

    Only Pods count that the job released, that request more than before, or that are deleted with a grace period
    above LONGEST_GRACE. A Pod without a node, or with smaller requests than its pod set, does not count, since
    anybody can create Pods with the labels of this Workload.
    """
    known = [*pods]
    least = {each.name: pod_requests(each.template) for each in read.pod_sets} if read is not None else {}
    most = Counter(
        pod.pod_set for pod in known if pod.given_up and pod.bound and within(least.get(pod.pod_set, {}), pod.asks)
    )
    beyond = _beyond_admitted(read, known)
    return {name: min(count, beyond[name]) for name, count in most.items() if beyond[name] > 0}


def excess(
    read: Workload | None, pods: Mapping[str, StartedPod], *, stopped: bool
) -> Iterator[tuple[str, StartedPod, str]]:
    """The Pods to end, with the reason: those that request more than before, and released ones if too many run.

    If the job has stopped, all released Pods are ended, because nothing else would stop them.
    """
    over = _beyond_admitted(read, (pod for pod in pods.values() if not _ends_soon(pod)))
    for name, pod in pods.items():
        if not pod.given_up or not pod.marked or _ends_soon(pod):
            continue
        if pod.grown:
            message = _GROWN
        elif pod.let_go and stopped:
            message = STOPPED
        elif over[pod.pod_set] > 0:
            message = _RELEASED if pod.let_go else _SLOW
        else:
            continue
        over[pod.pod_set] -= 1
        yield name, pod, message


def _ends_soon(pod: StartedPod) -> bool:
    return pod.deleting and pod.grace <= LONGEST_GRACE


def _beyond_admitted(read: Workload | None, pods: Iterable[StartedPod]) -> Counter[str]:
    """The number of Pods beyond the admitted ones, by pod set.

    SlicePodsController counts the Pods of elastic jobs.
    """
    if read is None or read.elastic:
        return Counter()
    found = Counter(pod.pod_set for pod in pods if not pod.gates)
    found.subtract(counted_pods(read))
    return found
