"""The spec of a Volcano Job: tasks, policies, volumes. Source: batch.volcano.sh/v1alpha1."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from typing import Any

from policies.dialects.go_values import read_integer
from policies.dialects.reading import Manifest, integer, listing, mapping, text
from policies.model.quantity import Quantity

SCHEDULER = "volcano"
MAX_RETRY = 3
"""The maxRetry that Volcano writes into a Job or task without one."""

NEEDS = {"tensorflow": ("svc",), "mpi": ("svc", "ssh"), "pytorch": ("svc",), "ray": ("svc",)}
"""The plugins that a plugin needs. Volcano adds them."""

_AMOUNTS = ("requests", "limits", "overhead")
_FLAGS = ("hostNetwork", "hostPID", "hostIPC", "stdin", "stdinOnce", "tty", "readOnly")
"""The fields of a pod template where false means the same as no value."""
_BY_NAME = ("plugins", "nodeSelector", "matchLabels", "labels", "annotations")
"""Fields whose keys count even without a value: `svc: []` switches a plugin on, and `gpu: ""` selects nodes."""
_DEEPEST = 50  # the most levels that are read, so that no document exhausts the stack; a pod template has a dozen
_MAY_CHANGE = ("minAvailable", "priorityClassName", "tasks")
_MAY_CHANGE_IN_TASK = ("replicas", "minAvailable")
_FLAG = re.compile(r"--?(\w+)(?:=(.*))?", re.ASCII | re.DOTALL).fullmatch


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions of a task.

    `total`: the number of partitions.
    `size`: the pods of each partition.
    `minimum`: how many partitions start together at least.
    """

    total: int
    size: int
    minimum: int = 0


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """A task.

    `name`: its name, or the one that Volcano gives it.
    `replicas`: the number of its pods; 0 if it is absent.
    `numa`: the policy for NUMA nodes; empty if it has none.
    `pod`: the parts of its pod template that decide the requests.
    """

    field: str
    name: str
    replicas: int
    min_available: int | None = None
    depends_on: tuple[str, ...] = ()
    partitions: Partitions | None = None
    numa: str = ""
    pod: Mapping[str, Any] = attribute(default_factory=dict, compare=False)

    @property
    def needed(self) -> int:
        """The number of pods that must start together: its minAvailable, else its least partitions, else all pods."""
        if self.min_available is not None:
            return self.min_available
        parts = self.partitions
        return parts.minimum * parts.size if parts is not None and parts.minimum > 0 else self.replicas


@dataclass(frozen=True, slots=True)
class Policy:
    """What to do on an event or on an exit code of a pod."""

    field: str
    action: str
    events: tuple[str, ...]
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of a Job.

    `claim_name`: the name of an existing PersistentVolumeClaim.
    `has_claim`: whether a claim is created for it.
    """

    field: str
    mount_path: str
    claim_name: str
    has_claim: bool


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The spec of a Volcano Job.

    `policies`: the list of the Job, then those of its tasks. Each list is judged alone.
    `plugins`: the names of the plugins.
    `mpi`: the names of the master and the worker task for the plugin `mpi`; empty without this plugin.
    `scheduler`: spec.schedulerName; empty if it is absent.
    `fixed`: each immutable field, with a hash of its value.
    """

    min_available: int | None = None
    tasks: tuple[WrittenTask, ...] = ()
    policies: tuple[tuple[Policy, ...], ...] = ()
    volumes: tuple[Volume, ...] = ()
    plugins: tuple[str, ...] = ()
    mpi: tuple[str, ...] = ()
    scheduler: str = ""
    fixed: tuple[tuple[str, int], ...] = ()


NO_SPEC = JobSpec()


def read_spec(spec: Mapping[str, Any]) -> JobSpec:
    tasks = [(f"spec.tasks[{i}]", mapping(task)) for i, task in enumerate(listing(spec.get("tasks")))]
    policies = [_policies(spec, "spec"), *(_policies(task, field) for field, task in tasks)]
    return JobSpec(
        min_available=integer(spec.get("minAvailable")),
        tasks=tuple(_task(field, task, i) for i, (field, task) in enumerate(tasks)),
        policies=tuple(some for some in policies if some),
        volumes=tuple(_volumes(spec)),
        plugins=tuple(sorted(str(name) for name in mapping(spec.get("plugins")))),
        mpi=_mpi(mapping(spec.get("plugins"))),
        scheduler=text(spec.get("schedulerName")) or "",
        fixed=tuple(_fixed(spec)),
    )


def _mpi(plugins: Mapping[str, Any]) -> tuple[str, ...]:
    """The names from flags such as `--master=lead` or `--master lead`. Of equal flags the last counts.

    As in Go, nothing counts that comes after a word that is not a flag of the plugin.
    """
    if "mpi" not in plugins:
        return ()
    named = {"master": "master", "worker": "worker", "port": ""}
    words = map(str, listing(plugins["mpi"]))
    for word in words:
        flag = _FLAG(word)
        if flag is None or flag[1] not in named:
            break
        value = next(words, None) if flag[2] is None else flag[2]
        if value is None or (flag[1] == "port" and read_integer(value, 64) is None):
            break
        named[flag[1]] = value
    return named["master"], named["worker"]


def task_name(task: Mapping[str, Any], index: int) -> str:
    """The name of the task at this index, or the one that Volcano gives it."""
    return text(task.get("name")) or f"default{index}"


def with_dependencies(plugins: Mapping[str, Any]) -> dict[str, Any]:
    """The plugins, with those that they need."""
    needed: dict[str, Any] = {other: [] for name in plugins for other in NEEDS.get(name, ()) if other not in plugins}
    return {**plugins, **needed}


def contradictory_tiers(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of network topologies that name the highest tier both by number and by name."""
    parts = [("spec", spec)]
    for key in ("subGroupPolicy", "tasks"):
        for i, item in enumerate(listing(spec.get(key))):
            field, part = f"spec.{key}[{i}]", mapping(item)
            parts += [(field, part), (f"{field}.partitionPolicy", mapping(part.get("partitionPolicy")))]
    return tuple(f"{field}.networkTopology" for field, part in parts if _names_two_tiers(part))


def _names_two_tiers(part: Mapping[str, Any]) -> bool:
    topology = mapping(part.get("networkTopology"))
    return topology.get("highestTierAllowed") is not None and text(topology.get("highestTierName")) is not None


def _task(field: str, task: Mapping[str, Any], index: int) -> WrittenTask:
    partitions = mapping(task.get("partitionPolicy"))
    total, size, least = (integer(partitions.get(key)) for key in ("totalPartitions", "partitionSize", "minPartitions"))
    return WrittenTask(
        field=field,
        name=task_name(task, index),
        replicas=integer(task.get("replicas")) or 0,
        min_available=integer(task.get("minAvailable")),
        depends_on=tuple(name for name in listing(mapping(task.get("dependsOn")).get("name")) if isinstance(name, str)),
        numa="" if (numa := text(task.get("topologyPolicy")) or "") == "none" else numa,
        partitions=None if total is None or size is None else Partitions(total, size, least or 0),
        pod=_asking(mapping(mapping(task.get("template")).get("spec"))),
    )


def _asking(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: spec[key] for key in ("resources", "overhead") if key in spec}
    for part in ("containers", "initContainers"):
        containers = map(mapping, listing(spec.get(part)))
        kept[part] = [{key: each.get(key) for key in ("resources", "restartPolicy")} for each in containers]
    return kept


def _policies(part: Mapping[str, Any], field: str) -> tuple[Policy, ...]:
    return tuple(
        Policy(
            field=f"{field}.policies[{i}]",
            action=text(mapping(policy).get("action")) or "",
            events=tuple(dict.fromkeys(_events(mapping(policy)))),
            exit_code=integer(mapping(policy).get("exitCode")),
        )
        for i, policy in enumerate(listing(part.get("policies")))
    )


def _events(policy: Mapping[str, Any]) -> list[str]:
    named = [*listing(policy.get("events")), policy.get("event")]
    return [event for event in named if isinstance(event, str) and event]


def _volumes(spec: Mapping[str, Any]) -> Iterator[Volume]:
    for i, volume in enumerate(listing(spec.get("volumes"))):
        volume = mapping(volume)
        yield Volume(
            field=f"spec.volumes[{i}]",
            mount_path=text(volume.get("mountPath")) or "",
            claim_name=text(volume.get("volumeClaimName")) or "",
            has_claim=volume.get("volumeClaim") is not None,
        )


def _fixed(spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Each immutable field with a hash. Volcano's defaults are filled in first, since they are not a change."""
    whole_spec = {
        **spec,
        "queue": text(spec.get("queue")) or "default",
        "schedulerName": text(spec.get("schedulerName")) or SCHEDULER,
        "maxRetry": spec.get("maxRetry") or MAX_RETRY,
        "plugins": with_dependencies(mapping(spec.get("plugins"))),
        "volumes": [_without_made_name(mapping(volume)) for volume in listing(spec.get("volumes"))],
    }
    for key, value in whole_spec.items():
        if key not in _MAY_CHANGE and (plain := _plain(value, key)) is not None:
            yield f"spec.{key}", hash(repr(plain))
    for i, task in enumerate(listing(spec.get("tasks"))):
        task = mapping(task)
        rest = {key: value for key, value in task.items() if key not in _MAY_CHANGE_IN_TASK}
        rest |= {"name": task_name(task, i), "maxRetry": task.get("maxRetry") or MAX_RETRY}
        yield f"spec.tasks[{i}]", hash(repr(_plain(rest)))


def _without_made_name(volume: Manifest) -> Manifest:
    """The volume without the name of a claim that Volcano's controller has created and written."""
    made = volume.get("volumeClaim") is not None
    return {key: value for key, value in volume.items() if not (made and key == "volumeClaimName")}


def _plain(value: object, within: str = "", depth: int = 0) -> object:
    """The value without null, empty texts, lists and mappings, in a fixed order, with amounts as numbers. In the fields
    _BY_NAME each key is kept."""
    if depth > _DEEPEST:
        return None
    if isinstance(value, Mapping):
        items = [
            (str(key), _amount(item) if within in _AMOUNTS else _plain(item, str(key), depth + 1))
            for key, item in value.items()
        ]
        kept = (pair for pair in items if pair[1] is not None or within in _BY_NAME)
        return sorted(kept, key=lambda pair: pair[0]) or None
    if isinstance(value, list):
        return [_plain(item, depth=depth + 1) for item in value] or None
    return None if value == "" or (value is False and within in _FLAGS) else value


def _amount(value: object) -> object:
    quantity = Quantity.read(value)
    return repr(value) if quantity is None else quantity.nano
