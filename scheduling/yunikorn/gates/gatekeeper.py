"""Decides which Pods pass the gate, by YuniKorn's decisions about applications in queues.

A Pod that has passed counts until it ends, in the queue where it was admitted. A Pod that never had the gate counts
once it has a node. `granted` has the decisions that are not stored yet. Everything else follows from the current Pods,
Namespaces and queues.yaml.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from policies.dialects.core import Namespace
from policies.dialects.priority_class import PriorityClass
from policies.dialects.yunikorn_config.dynamic import TagLimits
from policies.dialects.yunikorn_config.placement import ReportedApplication as Submission
from policies.dialects.yunikorn_gangs import TASK_GROUPS, BadTaskGroups, TaskGroup, placeholder_timeout, task_groups
from scheduling.objects.grouped import Grouped
from scheduling.objects.times import SECOND
from scheduling.queue_tree.pod_at_gate import HAS_ROOM
from scheduling.yunikorn.application import Application
from scheduling.yunikorn.gates.evictions import Evictions
from scheduling.yunikorn.gates.gate_usage import NAMESPACE_UNKNOWN, GateUsage
from scheduling.yunikorn.gates.gated_namespace import GatedNamespaces, Usage
from scheduling.yunikorn.gates.gated_pod import YuniKornGatedPod
from scheduling.yunikorn.gates.place_timeouts import PlaceTimeouts
from scheduling.yunikorn.gates.queues_in_force import QueuesInForce
from scheduling.yunikorn.queue import YuniKornQueue
from scheduling.yunikorn.scheduler import Scheduler
from scheduling.yunikorn.simulation import (
    REJECTED,
    UNREADABLE_QUEUES,
    UNREADABLE_QUOTA,
    ApplicationRefusal,
    gang_refusal,
)
from scheduling.yunikorn.tree import ApplicationTree
from scheduling.yunikorn.waiting import GANG, WaitingAllocation, waits


class _Refused(NamedTuple):
    """An application that is in no queue, and its first Pod, whose request was refused."""

    refusal: ApplicationRefusal
    first: str


class YuniKornGatekeeper:
    """The Pods and Namespaces at the gate, and the decisions about them.

    queues: the queues of queues.yaml.
    others: the projects whose Pods another gatekeeper decides.
    preempts: whether Pods are deleted so that queues get their guaranteed amounts, see `evictions.py`.
    once: whether the quota of a Namespace limits all its dynamic queues together, also after a change of its parent
        queue. If not, it limits each of them, as in YuniKorn.
    granted: the Pods that may pass and whose gate is not removed in the cluster yet, with their queue.
    counts: waiting Pods and usage, as stored in the cluster.
    timeouts: how long gangs keep the places of missing members.
    """

    def __init__(
        self, queues: QueuesInForce, others: frozenset[str] = frozenset(), *, preempts: bool = False, once: bool = True
    ) -> None:
        self.queues = queues
        self._once = once
        self.evictions = Evictions() if preempts else None
        self._others = others
        self.granted: dict[str, str] = {}
        self.spaces = GatedNamespaces()
        self.counts = GateUsage(others)
        self.timeouts = PlaceTimeouts()
        self.scheduler = self._scheduler()
        self._pods: dict[str, YuniKornGatedPod] = {}  # Pods as stored
        self._sparing: set[str] = set()  # PriorityClasses whose Pods are preempted last
        self._entered: dict[str, YuniKornGatedPod] = {}  # Pods that the scheduler counts, as they were entered
        self._in_namespace: Grouped[str, str, None] = Grouped()  # Pods by Namespace
        self._members: dict[str, dict[str, None]] = {}  # entered Pods by application
        self._sharing: dict[YuniKornQueue, Counter[str]] = {}  # by leaf: the number of applications of each Namespace
        # why single Pods may not pass, although their application is in a queue
        self._barred: dict[str, ApplicationRefusal] = {}
        self._refused: dict[str, _Refused] = {}  # applications that are in no queue
        self._gangs: dict[str, None] = {}  # applications whose kept places have to be updated
        self._keeping: dict[str, None] = {}  # gangs with missing members
        self._dirty: dict[str, None] = {}  # Pods that have changed
        self._stale: dict[str, None] = {}  # Namespaces that have changed
        self._to_redecide: dict[str, None] = {}  # Pods whose decision is to be made again
        self._returned: dict[str, None] = {}  # granted Pods that `decide` has already returned

    # --- what is observed

    def put_pod(self, key: str, pod: YuniKornGatedPod | None) -> None:
        """Take in the Pod as it is stored now; None: it was deleted."""
        before = self._pods.pop(key, None)
        if pod is not None and pod.priority_class:
            pod = replace(pod, ask=replace(pod.ask, optional=pod.priority_class not in self._sparing))
        self.counts.change(before, pod)
        if pod is None or (before is not None and before.uid != pod.uid):
            self.granted.pop(key, None)
        if self.evictions is not None and (pod is None or pod.ended or (before and before.uid != pod.uid)):
            self.evictions.gone(key)
        self._in_namespace.pop(key)
        if pod is not None:
            self._pods[key] = pod
            self._in_namespace.put(key, pod.namespace, None)
        self._dirty[key] = None

    def put_namespace(self, name: str, namespace: Namespace | None) -> bool:
        """Take in the Namespace as it is stored now; None: it was deleted. Returns whether decisions may change."""
        changes = self.spaces.put(name, namespace)
        if changes:
            self._stale[name] = None
        return changes

    def put_class(self, name: str, found: PriorityClass | None) -> None:
        """Take in the PriorityClass as it is stored now; None: it was deleted."""
        spares = found is not None and not found.preemption
        if spares == (name in self._sparing):
            return
        self._sparing ^= {name}
        for key, pod in [*self._pods.items()]:
            if pod.priority_class == name:
                self.put_pod(key, pod)

    def forget_decision(self, key: str) -> None:
        """Forget an unstored decision about the Pod, for example after a failed write. The Pod is decided again."""
        pod = self._pods.get(key)
        if pod is not None and pod.gated and key in self.granted:
            self._to_redecide[key] = None
        if pod is not None and not pod.deleting and self.evictions is not None:
            self.evictions.gone(key)
            self.scheduler.preemptors.moved()  # another leaf may choose the Pod now

    def usage(self, namespace: str) -> Usage | None:
        """The usage of the Pods of the Namespace that have passed or may pass; None without a readable quota."""
        passing = [self._pods[key].ask.amounts for key in self.granted if key.startswith(f"{namespace}/")]
        return {
            name: (self.counts.used(namespace, name) + sum(each.get(name, 0) for each in passing), most)
            for name, most in self.spaces.quota(namespace).items()
        } or None

    # --- decisions

    def refresh(self) -> None:
        """Update the scheduler for what was observed, without a decision. Questions need no more."""
        if self.queues.renewed():
            self._reset()
        self._apply_changes()

    def decide(self, now: int) -> list[str]:
        """Decide which Pods may pass, and return those that are new since the last call. `now`: in nanoseconds."""
        self.refresh()
        self._time_out(now)
        while not self.queues.fault and (decision := self.scheduler.step(now)) is not None:
            application = decision.application
            if decision.ask.key in self._entered:
                self.granted[decision.ask.key] = application.leaf.path
            else:
                self._grant_held(application, application.allocations)
                self._gangs[application.name] = None
                self._keep_places()
        self._time_out(now)
        if self.evictions is not None and self.queues.partition.preempts and not self.queues.fault:
            self.evictions.decide(self.scheduler, self._entered, self.granted, now)
        returned, self._returned = self._returned, dict.fromkeys(self.granted)
        return [key for key in self.granted if key not in returned]

    def _time_out(self, now: int) -> None:
        """End the places that gangs have kept for too long, and start the timeout of newly kept places."""
        self.timeouts.forget_others(self.scheduler.applications)
        self._gangs |= dict.fromkeys(self.timeouts.expire(now))
        self._keep_places()
        for name in self._keeping:
            application = self.scheduler.applications.get(name)
            if application is not None and not self.timeouts.is_over(name):
                self.timeouts.keeps(name, now + self._timeout(application) * SECOND)
        self._keeping.clear()

    def next_preemption(self, now: int) -> int | None:
        """When preemption may be possible even if nothing changes (nanoseconds); None if no Pod waits for that."""
        if self.evictions is None:
            return None
        moments = (self.evictions.next(now), self.scheduler.preemptors.next)
        return min((moment for moment in moments if moment is not None and moment > now), default=None)

    def why(self, key: str) -> WaitingAllocation | None:
        """Why the Pod waits; None if it does not."""
        pod = self._entered.get(key)
        if pod is None or not pod.gated or key in self.granted:
            return None
        application = self.scheduler.owners.get(key)
        if application is None:
            refusal = self._barred.get(key)
            if refusal is None and pod.application in self._refused:
                refusal = self._refused[pod.application].refusal
            return WaitingAllocation(key, pod.application, "", *refusal) if refusal else None
        if key in application.pending:
            return waits(self.scheduler, application, application.pending[key])
        gang = next(ask for ask in application.pending.values() if ask.key not in self.scheduler.owners)
        lacks = tuple(self.scheduler.lacks(application, gang))
        return replace(waits(self.scheduler, application, application.kept[key]), lacks=lacks)

    def may_fit(self) -> Iterator[str]:
        """The waiting Pods that fit into their queues, each alone or as a member of its gang."""
        for key in self.waiting():
            waiting = self.why(key)
            if waiting is None or (waiting.reason in (HAS_ROOM, GANG) and not waiting.lacks):
                yield key

    def slipped_in(self, namespace: str) -> list[str]:
        """The Pods of the Namespace whose gate another client removed."""
        return [key for key in self._in_namespace.of(namespace) if self._pods[key].slipped]

    def waiting(self) -> list[str]:
        return [key for key in self._entered if self.is_waiting(key)]

    def waiting_in(self, namespace: str) -> list[str]:
        return [key for key in self._in_namespace.of(namespace) if self.is_waiting(key)]

    def is_waiting(self, key: str) -> bool:
        pod = self._entered.get(key)
        return pod is not None and pod.gated and key not in self.granted

    # --- entering and leaving

    def _scheduler(self) -> Scheduler:
        return Scheduler(ApplicationTree(self.queues.partition), preempts=False)

    def _reset(self) -> None:
        self.scheduler = self._scheduler()
        for each in (self._entered, self._members, self._sharing, self._barred, self._refused, self._gangs):
            each.clear()
        self._dirty = dict.fromkeys(self._pods)

    def _apply_changes(self) -> None:
        """Take all changed Pods out of the scheduler, and enter them in their current state: running first, by age.

        Unchanged Pods leave and enter too if their Namespace has changed, or if their decision is to be made again.
        """
        stale = dict.fromkeys(key for name in self._stale for key in self._in_namespace.of(name))
        stale |= self._to_redecide
        dirty = {**self._dirty, **stale}
        for key in self._to_redecide:
            self.granted.pop(key, None)
        self._dirty, self._stale, self._to_redecide = {}, {}, {}
        entering: dict[str, YuniKornGatedPod] = {}
        retried: dict[str, YuniKornGatedPod] = {}
        for key in dirty:
            pod, before = self._pods.get(key), self._entered.get(key)
            stays = key not in stale and pod is not None and before is not None and self._stays(before, pod)
            if pod is not None and not pod.gated:
                self.granted.pop(key, None)
            if stays and pod is not None:
                self._entered[key] = pod
                continue
            if before is not None:
                retried |= self._leave(before)
            if pod is not None and self._is_ours(pod):
                entering[key] = pod
        again = {key: pod for key, pod in retried.items() if self._entered.get(key) is pod}
        self._enter_all({**again, **entering}.values())

    def _enter_all(self, pods: Iterable[YuniKornGatedPod]) -> None:
        entering = sorted(pods, key=self._order)
        for pod in entering:
            self._members.setdefault(pod.application, {})[pod.key] = None
            self._entered[pod.key] = pod
        for runs, group in groupby(entering, self._runs):
            if not runs:
                self._keep_places()  # before waiting Pods enter
            for pod in group:
                if pod.key not in self.scheduler.owners:  # else it entered with an earlier Pod of its application
                    self._enter(pod)
        self._keep_places()

    def _stays(self, before: YuniKornGatedPod, pod: YuniKornGatedPod) -> bool:
        return before.counts_as(pod) and (self._runs(before) == self._runs(pod))

    def _is_ours(self, pod: YuniKornGatedPod) -> bool:
        if pod.project in self._others:
            return False
        if pod.gated:
            return not pod.deleting
        return pod.marked or (pod.has_passed and self.spaces.has_quota(pod.namespace))

    def _runs(self, pod: YuniKornGatedPod) -> bool:
        return not pod.gated or pod.key in self.granted

    def _order(self, pod: YuniKornGatedPod) -> tuple[bool, int, str]:
        return not self._runs(pod), pod.ask.created, pod.key

    def _leave(self, pod: YuniKornGatedPod) -> dict[str, YuniKornGatedPod]:
        """Take the Pod out of the scheduler.

        Returns the Pods of its application to enter again: all of them if it was the Pod whose request was refused, or
        the last running one of an application that now belongs in another queue.
        """
        key, name = pod.key, pod.application
        del self._entered[key]
        members = self._members[name]
        del members[key]
        self._barred.pop(key, None)
        if (application := self.scheduler.owners.get(key)) is not None:
            ran = key in application.allocations
            self._remove(key, application, pod.namespace)
            if ran and self._belongs_in_another_queue(application):
                for each in [*members]:
                    if each in self.scheduler.owners:
                        self._remove(each, application, pod.namespace)
                return {each: self._entered[each] for each in members}
        if application is None or application.pods:
            self._gangs[name] = None
        if not members:
            del self._members[name]
            self._refused.pop(name, None)
        elif name in self._refused and self._refused[name].first == key:
            del self._refused[name]
            return {each: self._entered[each] for each in members}
        return {}

    def _remove(self, key: str, application: Application, namespace: str) -> None:
        self.scheduler.remove(key)
        if not application.pods:
            self._left(application.leaf, namespace)

    def _belongs_in_another_queue(self, application: Application) -> bool:
        """Whether no Pod of it runs any more, and placement rules now choose another queue for its first Pod."""
        if not application.pods or any(key in self.scheduler.owners for key in application.allocations):
            return False
        first = self._entered[next(iter(self._members[application.name]))]
        return self.scheduler.tree.place(self._submission(first)).queue.lower() != application.leaf.path

    def _enter(self, pod: YuniKornGatedPod) -> None:
        name, runs = pod.application, self._runs(pod)
        if pod.ended:
            self._gangs[name] = None
            return
        application = self.scheduler.applications.get(name)
        if application is None and (runs or name not in self._refused):
            found = self._submitted(pod, runs)
            if isinstance(found, Application):
                application = found
            elif not runs:
                self._refused[name] = _Refused(found, pod.key)
        if application is None:
            return
        if runs:
            self.scheduler.add_running(application, pod.ask)
            self._gangs[name] = None
        elif (barred := self._why_barred(pod, application.leaf)) is not None:
            self._barred[pod.key] = barred
        else:
            self.scheduler.add(application, pod.ask)
            self._grant_held(application, [pod.key])
        if self._refused.pop(name, None) is not None:
            self._enter_all([self._entered[key] for key in self._members[name] if key not in self.scheduler.owners])

    def _grant_held(self, application: Application, keys: Iterable[str]) -> None:
        """Grant those of these Pods that took the place of a placeholder."""
        for key in [*keys]:
            found = self._entered.get(key)
            if found is not None and key in application.allocations and found.gated:
                self.granted.setdefault(key, application.leaf.path)

    # --- applications

    def _submission(self, pod: YuniKornGatedPod) -> Submission:
        queue, user, groups = pod.queue_and_user
        return Submission(queue, user, groups, self.spaces.tags(pod.namespace))

    def _why_barred(self, pod: YuniKornGatedPod, leaf: YuniKornQueue | None) -> ApplicationRefusal | None:
        """Why no new Pod of the Namespace passes. Annotations do not matter in a queue that queues.yaml declares."""
        if self.queues.fault:
            return ApplicationRefusal(UNREADABLE_QUEUES, f"queues.yaml cannot be used: {self.queues.fault}")
        if pod.namespace not in self.spaces:
            return ApplicationRefusal(NAMESPACE_UNKNOWN, f"Namespace {pod.namespace} is not known yet")
        flaw = "" if leaf is not None and leaf.settings.managed else self.spaces.flaw(pod.namespace)
        return ApplicationRefusal(UNREADABLE_QUOTA, f"Namespace {pod.namespace}: {flaw}") if flaw else None

    def _submitted(self, pod: YuniKornGatedPod, runs: bool) -> Application | ApplicationRefusal:
        """Submit the application of this first Pod. Returns it, or why it is in no queue."""
        tree = self.scheduler.tree
        recorded = self.granted.get(pod.key) or pod.admitted
        if runs and recorded:
            leaf = tree.resumed(recorded.lower())
        else:
            placement = tree.place(self._submission(pod))
            known = tree.queues.get(placement.queue.lower()) if placement.queue else None
            if not runs and (barred := self._why_barred(pod, known)) is not None:
                return barred
            if not placement.queue:
                return ApplicationRefusal(REJECTED, "; ".join((placement.reason, *placement.passed)))
            leaf = tree.leaf(placement.queue)
        try:
            gang = self._gang(pod)
        except BadTaskGroups as error:
            if not runs:
                self.scheduler.drop_empty(leaf)
                return ApplicationRefusal(REJECTED, str(error))
            gang = ()
        self._joined(leaf, pod.namespace)
        if gang and not runs and (excess := gang_refusal(leaf, gang)):
            self._left(leaf, pod.namespace)
            self.scheduler.drop_empty(leaf)
            return ApplicationRefusal(REJECTED, excess)
        _, user, groups = pod.queue_and_user
        quota = self.spaces.bound(pod.namespace) if self._once and not leaf.settings.managed else None
        since = min(each.ask.created for each in self._pods_of(pod.application))
        application = Application(pod.application, leaf, user, groups, since, gang, quota=quota)
        self.scheduler.submit(application, pod.ask, runs=runs)
        return application

    def _gang(self, pod: YuniKornGatedPod) -> tuple[TaskGroup, ...]:
        """The task groups that the Pod names, else those of the oldest Pod with any. Raises BadTaskGroups."""
        if pod.gang:
            return task_groups({TASK_GROUPS: pod.gang})
        named = self._with_gang(pod.application)
        return task_groups({TASK_GROUPS: named.gang}) if named is not None else ()

    def _timeout(self, application: Application) -> int:
        """How long the application keeps places of missing members (seconds), by the oldest Pod with task groups."""
        named = self._with_gang(application.name)
        return placeholder_timeout(named.policy if named is not None else "")

    def _with_gang(self, name: str) -> YuniKornGatedPod | None:
        """The oldest Pod of the application with task groups."""
        members = (each for each in self._pods_of(name) if each.gang)
        return min(members, key=lambda each: each.ask.created, default=None)

    def _pods_of(self, name: str) -> list[YuniKornGatedPod]:
        return [self._entered[key] for key in self._members[name]]

    def _joined(self, leaf: YuniKornQueue, namespace: str) -> None:
        sharing = self._sharing.setdefault(leaf, Counter())
        sharing[namespace] += 1
        if sharing[namespace] == 1:
            self._share(leaf, namespace, self.spaces.limits(namespace))

    def _left(self, leaf: YuniKornQueue, namespace: str) -> None:
        sharing = self._sharing[leaf]
        sharing[namespace] -= 1
        if not sharing[namespace]:
            del sharing[namespace]
            if sharing:
                self._share(leaf, namespace, None)
            else:
                del self._sharing[leaf]

    def _share(self, leaf: YuniKornQueue, namespace: str, limits: TagLimits | None) -> None:
        if leaf.settings.managed:  # quotas of Namespaces do not limit it
            return
        self.scheduler.tree.share(leaf, namespace, limits)
        self.scheduler.changed(leaf)

    def _keep_places(self) -> None:
        """Reserve a place for each missing member of a gang that was allocated once, until a timeout."""
        for name in self._gangs:
            application = self.scheduler.applications.get(name)
            if application is not None and application.placeholders is not None:
                missing = self._missing(application)
                if missing:
                    self._keeping[name] = None
                else:
                    self.timeouts.complete(name)
                self.scheduler.keep_places(application, {} if self.timeouts.is_over(name) else missing)
                self.scheduler.take_places(application)
                self._grant_held(application, application.allocations)
        self._gangs.clear()

    def _missing(self, application: Application) -> Counter[str]:
        members = self._pods_of(application.name)
        passed = Counter(pod.ask.group for pod in members if pod.ended or self._runs(pod))
        return Counter({group.name: group.members for group in application.gang}) - passed
