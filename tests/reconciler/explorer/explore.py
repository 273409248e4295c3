"""Goes through every state that a small cluster can come to, and says what is wrong with any of them.

In every state: Pods that can run never use more than is counted, and no more is counted than there is. From every state
on, whatever happens next: when nobody does anything any more, all comes to rest, nothing is counted for nobody, and who
fits is admitted. That is judged by the strongly connected components that cannot be left by what happens by itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from policies.dialects.kueue_jobs import PREBUILT
from tests.reconciler.explorer.model import (
    BYPASS,
    JOB,
    POD,
    QUEUE,
    WORKLOAD,
    Cluster,
    counted,
    pending,
    size,
    started_for,
)
from tests.reconciler.recount import holds, holds_quota


@dataclass
class Found:
    """`states` were reached, `complete`: there are no others. `wrong` is what is wrong, `way` what leads there."""

    states: int = 0
    complete: bool = True
    wrong: str = ""
    way: list[str] = field(default_factory=list)


@dataclass
class _Node:
    """A state: how it was reached first, and where it leads by what happens by itself."""

    before: int
    act: str
    fair: list[int] = field(default_factory=list)
    expanded: bool = False
    idle: bool = False
    wrong: str = ""


def explore(start: Cluster, limit: int) -> Found:
    """Breadth first, so that the way to what is wrong is the shortest. At most `limit` states are gone through."""
    nodes, known = [_Node(-1, "")], {hash(start.key()): 0}
    queue = deque([(0, start)])
    while queue and len(nodes) < limit:
        number, cluster = queue.popleft()
        node = nodes[number]
        node.expanded = True
        happenings = [*cluster.happenings()]
        node.idle = not any(each.fair and each.name != "time" for each in happenings)
        node.wrong = "; ".join(unrest(cluster)) if node.idle else ""
        for act in happenings:
            after = cluster.fork()
            act.do(after)
            key = hash(after.key())
            reached = known.get(key)
            if reached is None:
                reached = known[key] = len(nodes)
                nodes.append(_Node(number, act.name))
                if broken := "; ".join(violations(after)):
                    return Found(len(nodes), False, broken, _way(nodes, reached))
                queue.append((reached, after))
            if act.fair:
                node.fair.append(reached)
    for component in _components(nodes):
        if wrong := _judged(nodes, component):
            return Found(len(nodes), not queue, *wrong)
    return Found(len(nodes), not queue)


def _way(nodes: list[_Node], number: int) -> list[str]:
    found: list[str] = []
    while nodes[number].before >= 0:
        found.append(nodes[number].act)
        number = nodes[number].before
    return found[::-1]


def _judged(nodes: list[_Node], component: list[int]) -> tuple[str, list[str]] | None:
    inside = set(component)
    if any(not nodes[each].expanded or not inside.issuperset(nodes[each].fair) for each in component):
        return None
    for each in component:
        if nodes[each].wrong:
            return nodes[each].wrong, _way(nodes, each)
    if not any(nodes[each].idle for each in component):
        return "it never comes to rest", _way(nodes, min(component))
    return None


def _components(nodes: list[_Node]) -> Iterator[list[int]]:
    """The strongly connected components by what happens by itself (Tarjan)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in range(len(nodes)):
        if root in index:
            continue
        work = [(root, iter(nodes[root].fair))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            number, following = work[-1]
            for each in following:
                if each not in index:
                    index[each] = low[each] = len(index)
                    stack.append(each)
                    on_stack.add(each)
                    work.append((each, iter(nodes[each].fair)))
                    break
                if each in on_stack:
                    low[number] = min(low[number], index[each])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[number])
                if low[number] == index[number]:
                    component = []
                    while not component or component[-1] != number:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    yield component


# --- what holds in every state


def violations(cluster: Cluster) -> Iterator[str]:
    """Pods that somebody else started, or that are beyond a size that somebody else changed, can only be undone.

    So can the Pod that a job makes in the place of one that somebody took away from it, and one that grows. All count.
    """
    held = _held(cluster)
    if sum(held.values()) > cluster.quota:
        yield f"{sum(held.values())} are counted, and the quota is {cluster.quota}"
    undone: Counter[str] = Counter()
    for _, pod in cluster.of(POD):
        undone[started_for(pod)] += size(pod) - 1 + ("was" in pod["metadata"]["labels"])
    for name, running in _running(cluster, frozenset()).items():
        if running > held.get(name, 0) + (undone[name] if name in held else 0):
            yield f"{running} Pods run for {name}, and {held.get(name, 0)} are counted"


def _held(cluster: Cluster) -> dict[str, int]:
    held = ((key[1], each) for key, each in cluster.of(WORKLOAD) if holds_quota(each))
    return {name: counted(each) for name, each in held}


def _running(cluster: Cluster, bypassing: Collection[str]) -> dict[str, int]:
    """The cpus of Pods that can run, by the Workload that they were started for. Of Pods that people started, those of
    these jobs."""
    found: dict[str, int] = {}
    for _, pod in cluster.of(POD):
        meta = pod["metadata"]
        over, uid = pod["status"]["phase"] == "Succeeded", meta["labels"].get("job-uid", "")
        if over or (BYPASS in meta["annotations"] and uid not in bypassing):
            continue
        name = started_for(pod) or _workload_of(cluster, uid)
        found[name] = found.get(name, 0) + size(pod)
    return found


def _workload_of(cluster: Cluster, uid: str) -> str:
    """That of a job that somebody else started before it was admitted: its Pods do not say what they run for."""
    for key, workload in cluster.of(WORKLOAD):
        if uid in {each["uid"] for each in workload["metadata"].get("ownerReferences", ())}:
            return key[1]
    return ""


# --- what holds when nothing happens any more


def unrest(cluster: Cluster) -> Iterator[str]:
    """A job that names no queue is nobody's to stop, whatever people make of it."""
    jobs = {job["metadata"]["uid"]: job for _, job in cluster.of(JOB)}
    queued = [uid for uid, job in jobs.items() if QUEUE in job["metadata"].get("labels", {})]
    held, running = _held(cluster), _running(cluster, queued)
    for name, count in running.items():
        if count > held.get(name, 0):
            yield f"{count} Pods run for {name} for ever, and {held.get(name, 0)} are counted"
    used = sum(held.values())
    for key, workload in cluster.of(WORKLOAD):
        owners = {each["uid"] for each in workload["metadata"].get("ownerReferences", ())}
        meta, job = workload["metadata"], next((jobs[uid] for uid in owners if uid in jobs), None)
        if meta.get("deletionTimestamp") and not running.get(key[1]):
            yield f"{key[1]} never goes"
        if key[1] in held and not running.get(key[1]) and (job is None or not _uses(job)):
            yield f"{key[1]} is counted for ever, and nobody uses it"
        read = cluster.objects[key].observed.value
        if pending(read) and used + sum(each.count for each in read.pod_sets) <= cluster.quota and job is not None:
            yield f"{key[1]} fits and waits for ever"
    for uid, job in jobs.items():
        yield from _unrest_of_job(uid, job, cluster)


def _uses(job: dict[str, object]) -> bool:
    """It runs, or will as soon as its Pods are made."""
    spec = job["spec"]
    assert isinstance(spec, dict)
    return not spec["suspend"] and not holds(job, "Complete")


def _unrest_of_job(uid: str, job: dict[str, object], cluster: Cluster) -> Iterator[str]:
    meta = job["metadata"]
    assert isinstance(meta, dict)
    if QUEUE not in meta.get("labels", {}) or meta.get("deletionTimestamp") or holds(job, "Complete"):
        return
    owners = [
        each
        for _, each in cluster.of(WORKLOAD)
        if uid in {owner["uid"] for owner in each["metadata"].get("ownerReferences", ())}
    ]
    if PREBUILT not in meta["labels"] and not [each for each in owners if not holds(each, "Finished")]:
        yield f"{meta['name']} has no Workload, and waits for ever"
    admitted = any(holds(each, "Admitted") for each in owners)
    if admitted and not _uses(job):
        yield f"{meta['name']} is admitted and never starts"
