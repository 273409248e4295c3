"""Reads manifests for YuniKorn: Pods of its scheduler, and the objects that decisions about them need.

Source: YuniKorn after 1.9, k8shim `pkg/cache`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from policies.dialects import core, yunikorn
from policies.dialects.core import CONFIG_MAP, Namespace, Pod
from policies.dialects.pod_reading import PodReading, pod_reading
from policies.dialects.priority_class import ALLOW_PREEMPTION, PRIORITY_CLASS, lets_preempt, says_true
from policies.dialects.reading import Manifest, group_kind, mapping, metadata, owner_references, text, texts
from policies.dialects.yunikorn_config.configmap import QueueConfigMap, read_config_map, tree
from policies.dialects.yunikorn_config.model import Config
from policies.dialects.yunikorn_config.placement import ReportedApplication as Submission
from policies.dialects.yunikorn_config.reading import read_config
from policies.dialects.yunikorn_config.resources import YuniKornAmounts, plus
from policies.dialects.yunikorn_gangs import is_placeholder, task_group
from policies.dialects.yunikorn_pods import requests, with_requests
from policies.model.forest import Forest
from policies.model.objects import Ref
from scheduling.objects import times
from scheduling.yunikorn.application import Ask

KINDS = (core.NAMESPACE, core.POD, CONFIG_MAP, core.NODE, PRIORITY_CLASS)
BUILT_IN = """
partitions:
- name: default
  placementrules: [{name: tag, value: namespace, create: true}]
  queues: [{name: root, submitacl: "*"}]
"""
"""YuniKorn's configuration if no ConfigMap has one."""


@dataclass(frozen=True, slots=True)
class PodRequest:
    """A Pod that YuniKorn schedules. `running`: it already has a node."""

    pod: Pod
    annotations: Mapping[str, str]
    application: str
    ask: Ask
    running: bool

    @property
    def key(self) -> str:
        return self.ask.key


class ChangedPods(NamedTuple):
    """New Pods by creation time, and the keys of Pods that now have a node, or have ended."""

    new: list[PodRequest]
    bound: list[str]
    ended: list[str]


class _Class(NamedTuple):
    """A PriorityClass: its value, and whether its Pods may be preempted, and others for them."""

    value: int = 0
    optional: bool = True
    preempts: bool = True


@dataclass(slots=True)
class YuniKornIntake:
    """The objects read so far. The newest version of an object counts, but the first version of a Pod.

    version: of YuniKorn, since it decides which annotations of Namespaces count.
    """

    version: tuple[int, int] = yunikorn.PRESENT
    namespaces: dict[str, Namespace] = field(default_factory=dict)
    pods: dict[str, PodRequest] = field(default_factory=dict)
    nodes: dict[str, YuniKornAmounts] = field(default_factory=dict)
    _maps: dict[tuple[str, str], QueueConfigMap] = field(default_factory=dict)
    _classes: dict[str, _Class] = field(default_factory=dict)

    def put(self, manifests: Iterable[Manifest], now: int) -> ChangedPods:
        """Add or replace objects. For a known Pod only two changes count: that it runs, and that it has ended."""
        every = list(manifests)
        for manifest in every:
            self._surrounding(manifest)
        changes = ChangedPods([], [], [])
        for manifest in every:
            if group_kind(manifest) == core.POD:
                self._put_pod(core.read_pod(manifest), manifest, now, changes)
        changes.new.sort(key=lambda request: (request.ask.created, not request.running))
        return changes

    def drop(self, refs: Iterable[Ref]) -> list[str]:
        """Forget these objects. Returns the keys of the Pods among them, which the caller has to end."""
        pods = []
        for ref in dict.fromkeys(refs):
            if ref.group_kind == core.POD and ref.key in self.pods:
                pods.append(ref.key)
            elif ref.group_kind == core.NAMESPACE:
                self.namespaces.pop(ref.name, None)
            elif ref.group_kind == CONFIG_MAP:
                self._maps.pop((ref.namespace, ref.name), None)
            elif ref.group_kind == core.NODE and ref.name in self.nodes:
                self.nodes[ref.name] = {}  # without any entry, the capacity would be unknown
        return pods

    def _put_pod(self, pod: Pod, manifest: Manifest, now: int, changes: ChangedPods) -> None:
        key = pod.ref.key
        read = pod_reading(manifest)
        if read.ended:
            if key in self.pods:
                changes.ended.append(key)
        elif key in self.pods:
            if read.bound:
                changes.bound.append(key)
        elif (request := self._pod(pod, key, read, now)) is not None:
            self.pods[key] = request
            changes.new.append(request)

    def _surrounding(self, manifest: Manifest) -> None:
        kind, name = group_kind(manifest), text(metadata(manifest).get("name")) or ""
        if kind == core.NAMESPACE:
            self.namespaces[name] = yunikorn.as_read(core.read_namespace(manifest), self.version)
        elif kind == CONFIG_MAP and (config_map := read_config_map(manifest)) is not None:
            self._maps[config_map.ref.namespace, name] = config_map
        elif kind == core.NODE:
            self.nodes[name] = yunikorn.readable_amounts(mapping(manifest.get("status")).get("allocatable"))
        elif kind == PRIORITY_CLASS:
            value = manifest.get("value")
            notes = texts(metadata(manifest).get("annotations"))
            optional = says_true(notes, ALLOW_PREEMPTION)
            self._classes[name] = _Class(value if isinstance(value, int) else 0, optional, lets_preempt(manifest))

    def _pod(self, pod: Pod, key: str, read: PodReading, now: int) -> PodRequest | None:
        spec, annotations = read.spec, read.annotations
        if pod.scheduler_name != yunikorn.SCHEDULER or is_placeholder(annotations):
            return None
        named = self._classes.get(text(spec.get("priorityClassName")) or "", _Class())
        own, choice = spec.get("priority"), annotations.get(ALLOW_PREEMPTION)
        owners = [owner.get("kind") for owner in owner_references(read.manifest)]
        ask = Ask(
            key,
            requests(with_requests(read.manifest)),
            own if isinstance(own, int) else named.value,
            times.parse(read.created) or now,
            task_group(annotations),
            optional=named.optional if choice not in ("true", "false") else choice == "true",
            pinned="DaemonSet" in owners,
            preempts=lets_preempt(spec) if "preemptionPolicy" in spec else named.preempts,
        )
        application = yunikorn.application_id(pod, uid=read.uid or pod.ref.name)
        return PodRequest(pod, annotations, application, ask, running=read.bound)

    # --- the settings of the scheduler

    @property
    def capacity(self) -> YuniKornAmounts | None:
        """The resources of all nodes together; None without nodes."""
        return reduce(plus, self.nodes.values(), dict[str, int]()) if self.nodes else None

    @property
    def surroundings(self) -> object:
        """The inputs of the tree. If they compare unequal, the tree has to be rebuilt."""
        return dict(self._maps), dict(self.nodes)

    @property
    def configured(self) -> bool:
        return bool(self._maps)

    def config(self) -> tuple[str, Config]:
        """The queues.yaml of the first namespace, by name, that has one, with the namespace.

        Else the built-in one, with an empty namespace.
        """
        forest = Forest().put_all(self._maps.values())
        for namespace in sorted({namespace for namespace, _ in self._maps}):
            found = tree(forest, namespace)
            if found.text:
                return namespace, found.config
        return "", read_config(BUILT_IN)

    def submission(self, request: PodRequest) -> Submission:
        pod, name = request.pod, request.pod.ref.namespace
        user, groups = yunikorn.user_of(pod)
        namespace = self.namespaces.get(name)
        tags = {"namespace": name, **(yunikorn.application_tags(namespace) if namespace else {})}
        return Submission(pod.yunikorn_queue or "", user, tuple(groups or ()), tags)


def is_yunikorns(manifest: Manifest) -> bool:
    return group_kind(manifest) in KINDS
