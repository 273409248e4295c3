"""Quota at gates by an arithmetic of its own: stored Namespaces, queues.yaml and Pods in, plain sums out.

It shares no code with the decisions, on purpose. Amounts are thousandths: of a cpu, of a byte. A Pod counts from the
version without its gate until it has ended or is gone, in the queue that it names; of that queue it is checked that
its Namespace led there. Queues that placement rules make have the name of their Namespace, whose quota holds once for
all of them, and each member of a gang asks what the gang says.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml

Manifest = dict[str, Any]
Amounts = Mapping[str, int]
GATE = "quotree.dev/quota"
PREFIX = "yunikorn.apache.org/"
_WITHOUT_LIMIT = 10**30
_NOTHING: Amounts = {"cpu": 0}
"""What there is where a quota cannot be read: every Pod asks for some cpu."""
_FACTORS = {"m": 1, "": 1000, "Gi": 1000 << 30}


class Gang(NamedTuple):
    """The minimum of members, and what is asked for each."""

    members: int
    each: Amounts


class Pod(NamedTuple):
    """`app` is the application with its Namespace, `queue` where it counts, `gang` is None for no member of one."""

    name: str
    space: str
    app: str
    ask: Amounts
    gang: Gang | None
    gated: bool
    over: bool
    leaving: bool
    queue: str
    reason: str

    @property
    def runs(self) -> bool:
        return not self.gated and not self.over


class Recount:
    """Follows what is stored, in its order. `lag`: so long may a limit that was lowered still be decided by,
    since whoever decides hears of it later.
    """

    def __init__(self, lag: float) -> None:
        self._lag = lag
        self.pods: dict[str, Pod] = {}
        self.passed: set[str] = set()
        """The uids of all that ever passed."""
        self._begun: set[str] = set()
        """Applications of which some Pod has passed, as long as they have Pods that have not ended."""
        self._limits: dict[str, list[tuple[float, Amounts]]] = {}
        self._applications: dict[str, list[tuple[float, int]]] = {}
        self._parents: dict[str, list[tuple[float, str]]] = {}
        self._declared: list[tuple[float, frozenset[str]]] = []

    def namespace(self, manifest: Manifest, at: float) -> None:
        name, notes = manifest["metadata"]["name"], manifest["metadata"].get("annotations", {})
        _put(self._limits, _of_space(name), quota(notes), at)
        _put(self._applications, name, int(notes.get(PREFIX + "namespace.maxApps") or _WITHOUT_LIMIT), at)
        _put(self._parents, name, notes.get(PREFIX + "parentqueue") or "root", at)

    def queues(self, manifest: Manifest, at: float) -> None:
        found = declared(manifest["data"]["queues.yaml"])
        self._declared.append((at, frozenset(found)))
        for name in {*found, *(name for name in self._limits if name.startswith("root."))}:
            _put(self._limits, name, found.get(name, {}), at)

    def pod(self, manifest: Manifest, at: float, *, gone: bool = False) -> list[str]:
        """What is wrong, where the Pod has passed by that."""
        uid = manifest["metadata"]["uid"]
        before, pod = self.pods.pop(uid, None), read_pod(manifest)
        found = []
        if not gone:
            if not pod.gated and (before is None or before.gated):
                found = [*self._passes(pod, at)]
                self._begun.add(pod.app)
                self.passed.add(uid)
            self.pods[uid] = pod
        if all(each.over for each in self._members(pod.app)):
            self._begun.discard(pod.app)
        return found

    # --- while it goes on

    def _passes(self, pod: Pod, at: float) -> Iterator[str]:
        """It is not counted yet."""
        if pod.queue not in self._ways(pod, at):
            yield f"{pod.name} passed in {pod.queue}, where nothing led"
        beside = self._applications_of(pod.space) - {pod.app}
        if pod.app not in self._begun and len(beside) >= max(_recent(self._applications[pod.space], at - self._lag)):
            yield f"{pod.name} passed in {pod.queue}, beside {sorted(beside)}"
        first = not any(not each.gated for each in self._members(pod.app))
        asked = _whole_gang(pod) if first else pod.ask
        for queue in path(pod.queue):
            used = self._used_beside(queue, pod)
            for resource, amount in asked.items():
                most = self._most(_limit_of(queue, pod), resource, at)
                if amount and used[resource] + amount > most:
                    yield f"{pod.name} asked {amount} {resource} in {queue}, where {used[resource]} of {most} was used"

    def _ways(self, pod: Pod, at: float) -> set[str]:
        """The queues of what runs of its application, and those to which its Namespace led lately."""
        since = at - self._lag
        parents, trees = _recent(self._parents[pod.space], since), _recent(self._declared, since)
        found = {way for parent in parents for tree in trees for way in self._led(parent, tree, pod.space)}
        return found | {each.queue for each in self._members(pod.app) if not each.gated}

    def _led(self, parent: str, tree: Iterable[str], space: str) -> Iterator[str]:
        """Below root, if the parent is not there. One that was declared stays while Pods run or wait there."""
        if parent in self._limits:
            yield f"{parent}.{space}"
        if parent not in tree:
            yield f"root.{space}"

    # --- once all is quiet

    def forgotten(self) -> list[str]:
        """Who waits though there is room beside all places that are kept for gangs, or does not say why it waits."""
        found = []
        for pod in self.pods.values():
            if pod.gated and not pod.leaving:
                if not pod.reason:
                    found.append(f"{pod.name} does not say why it waits")
                if self._fits(pod):
                    found.append(f"{pod.name} waits though it fits: {pod.reason}")
        return found

    def torn(self) -> list[str]:
        """The gangs of which some run and others wait, though there is room for these."""
        found = []
        for app, (queue, kept) in self.kept().items():
            waiting = [pod for pod in self._members(app) if pod.gated and not pod.leaving]
            if kept and any(self._has_room(pod.ask, queue, pod, but=app) for pod in waiting):
                found.append(f"{app} is torn: {[pod.name for pod in waiting]} wait")
        return found

    def kept(self) -> dict[str, tuple[str, Amounts]]:
        """By gang that runs, its queue and what its minimum still needs; one that has ended needs no other."""
        found: dict[str, tuple[str, Amounts]] = {}
        for pod in self.pods.values():
            if pod.gang is not None and pod.runs and pod.app not in found:
                missing = max(0, pod.gang.members - sum(not each.gated for each in self._members(pod.app)))
                found[pod.app] = pod.queue, {name: missing * each for name, each in pod.gang.each.items() if missing}
        return found

    def used(self, queue: str) -> Counter[str]:
        """What runs in it and below."""
        total: Counter[str] = Counter()
        for pod in self.pods.values():
            if pod.runs and queue in path(pod.queue):
                total.update(pod.ask)
        return total

    def _used_beside(self, queue: str, pod: Pod) -> Counter[str]:
        """What counts with the Pod in the queue."""
        total: Counter[str] = Counter()
        for each in self.pods.values():
            if each.runs and _counts_in(queue, each.queue, pod):
                total.update(each.ask)
        return total

    def _fits(self, pod: Pod) -> bool:
        """Wherever it may be placed. An application that ran and waits again may still count for the next."""
        running = {each.queue for each in self._members(pod.app) if each.runs}
        if running:
            return any(self._has_room(pod.ask, queue, pod) for queue in running)
        others = {each.app for each in self.pods.values() if each.space == pod.space} - {pod.app}
        ways = self._led(self._parents[pod.space][-1][1], self._declared[-1][1], pod.space)
        return len(others) < self._applications[pod.space][-1][1] and all(
            self._has_room(_whole_gang(pod), queue, pod) for queue in ways
        )

    def _has_room(self, asked: Amounts, queue: str, pod: Pod, but: str = "") -> bool:
        """Beside what runs, and what is kept for gangs other than one."""
        for here in path(queue):
            limit = self._limits.get(_limit_of(here, pod), [(0.0, {})])[-1][1]
            used = self._used_beside(here, pod)
            for app, (where, kept) in self.kept().items():
                used.update(kept if app != but and _counts_in(here, where, pod) else {})
            if any(used[name] + amount > limit.get(name, _WITHOUT_LIMIT) for name, amount in asked.items() if amount):
                return False
        return True

    # --- what is stored

    def _applications_of(self, space: str) -> set[str]:
        return {pod.app for pod in self.pods.values() if pod.runs and pod.space == space}

    def _members(self, app: str) -> Iterable[Pod]:
        return (pod for pod in self.pods.values() if pod.app == app)

    def _most(self, name: str, resource: str, at: float) -> int:
        recent = _recent(self._limits.get(name, [(0.0, {})]), at - self._lag)
        return max(limit.get(resource, _WITHOUT_LIMIT) for limit in recent)


def _counts_in(queue: str, other: str, pod: Pod) -> bool:
    """Whether what runs in the other queue counts in this one, as the Pod sees it."""
    if _limit_of(queue, pod) == _of_space(pod.space):
        return other.rpartition(".")[2] == pod.space
    return queue in path(other)


def path(queue: str) -> list[str]:
    """It and the queues above, without root."""
    steps = queue.split(".")
    return [".".join(steps[:length]) for length in range(len(steps), 1, -1)]


def quota(notes: Mapping[str, str]) -> Amounts:
    """What the annotations of a Namespace allow; a resource that is not there has no limit."""
    if text := notes.get(PREFIX + "namespace.quota"):
        try:
            found = json.loads(text)
            return {name: amount(value) for name, value in found.items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            return _NOTHING
    legacy = {name: notes.get(f"{PREFIX}namespace.max.{name}") for name in ("cpu", "memory")}
    try:
        return {name: amount(value) for name, value in legacy.items() if value}
    except (ValueError, KeyError):
        return _NOTHING


def amount(text: str) -> int:
    """In thousandths. Raises ValueError, TypeError or KeyError for what is none."""
    number = text.rstrip("Gmi")
    return int(number) * _FACTORS[text.removeprefix(number)]


def declared(text: str) -> dict[str, Amounts]:
    """The max of each queue by its path."""
    found: dict[str, Amounts] = {}
    waiting = [("", queue) for queue in yaml.safe_load(text)["partitions"][0]["queues"]]
    while waiting:
        above, queue = waiting.pop()
        here = f"{above}{queue['name']}"
        maximum = queue.get("resources", {}).get("max", {})
        found[here] = {"cpu" if name == "vcore" else name: amount(str(value)) for name, value in maximum.items()}
        waiting += [(f"{here}.", child) for child in queue.get("queues", ())]
    return found


def read_pod(manifest: Manifest) -> Pod:
    meta, spec = manifest["metadata"], manifest["spec"]
    notes, space = meta.get("annotations") or {}, meta["namespace"]
    groups = json.loads(notes.get(PREFIX + "task-groups") or "[]")
    gang = next((each for each in groups if each["name"] == notes.get(PREFIX + "task-group-name")), None)
    return Pod(
        f"{space}/{meta['name']}",
        space,
        f"{space}/{meta['labels'][PREFIX + 'app-id']}",
        {name: amount(text) for name, text in spec["containers"][0]["resources"]["requests"].items()},
        gang and Gang(gang["minMember"], {name: amount(text) for name, text in gang["minResource"].items()}),
        any(each["name"] == GATE for each in spec.get("schedulingGates") or ()),
        manifest.get("status", {}).get("phase") in ("Succeeded", "Failed"),
        "deletionTimestamp" in meta,
        notes.get("quotree.dev/quota-admitted", ""),
        notes.get("quotree.dev/quota-waits", ""),
    )


def _whole_gang(pod: Pod) -> Amounts:
    """What there must be for its gang to begin; of a Pod that is in none, what it asks."""
    if pod.gang is None:
        return pod.ask
    return {**pod.ask, **{name: each * pod.gang.members for name, each in pod.gang.each.items()}}


def _of_space(name: str) -> str:
    return f"Namespace {name}"


def _limit_of(queue: str, pod: Pod) -> str:
    """Whose limit holds in a queue above the Pod's, or in that."""
    return _of_space(pod.space) if queue.rpartition(".")[2] == pod.space else queue


def _put(history: dict[str, list[tuple[float, Any]]], name: str, value: Any, at: float) -> None:
    history.setdefault(name, []).append((at, value))


def _recent(history: list[tuple[float, Any]], since: float) -> list[Any]:
    """What held at some moment since: the last before it, too."""
    first = next((index for index, (at, _) in enumerate(history) if at >= since), len(history))
    return [value for _, value in history[max(0, first - 1) :]]
