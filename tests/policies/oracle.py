"""The invariants of the three specifications, checked by brute force on plain manifests.

Nothing here comes from `policies`: it is the second opinion on it. Every object is looked at each time, and what is
wrong is a mapping from (what, object, detail) to by how much; a world is sound where that is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from tests.policies.namespace_oracle import namespace_faults, queue_lost, queue_text_faults
from tests.policies.oracle_world import (
    CONFIGS,
    NONE,
    Edit,
    Faults,
    Key,
    Manifest,
    Row,
    World,
    amount,
    applied,
    key_of,
    of_kind,
)

RULES = frozenset(
    {
        "bad-quantity",
        "bad-structure",
        "capability-exceeds-ancestor",
        "child-applications-exceed-queue",
        "child-max-exceeds-parent-max",
        "children-deserved-exceed-parent",
        "children-guarantee-exceeds-parent",
        "children-guaranteed-exceed-queue",
        "default-queue-as-parent",
        "delete-while-used",
        "delete-with-children",
        "depth-exceeded",
        "deserved-exceeds-capability",
        "flavor-resources-mismatch",
        "guarantee-exceeds-deserved",
        "guaranteed-exceeds-quota",
        "job-field-immutable",
        "lending-exceeds-nominal",
        "limit-without-parent",
        "namespace-quota-exceeds-queue",
        "namespaces-guaranteed-exceed-queue",
        "parent-cycle",
        "parent-missing",
        "parent-queue-is-leaf",
        "parent-queue-missing",
        "parent-with-workloads",
        "protected-queue",
        "queue-config-destructive",
        "queue-config-invalid",
        "queue-guaranteed-exceeds-max",
        "queue-not-open",
        "queue-quota-without-effect",
        "quota-annotation-invalid",
        "resource-in-two-groups",
        "submit-to-parent",
    }
)
"""The rules on which this is a second opinion; others may refuse what is sound here."""
DEPTH = 5
_BUILT_IN = ("root", "default")


def faults(world: World) -> Faults:
    """Everything that is wrong in this world."""
    found: Faults = {}
    for check in (_volcano, _work, _kueue, namespace_faults, queue_text_faults):
        for what, key, detail, excess in check(world):
            found[what, key, detail] = max(excess, found.get((what, key, detail), NONE))
    return found


def missteps(before: World, edit: Edit) -> list[str]:
    """What is wrong with the step itself, wherever it leads."""
    return list(_missteps(before, applied(before, edit), edit))


def worse(before: World, edit: Edit) -> list[object]:
    """What the edit adds to the faults of the world before, or makes bigger."""
    was, now = faults(before), faults(applied(before, edit))
    return [fault for fault, excess in now.items() if fault not in was or excess > was[fault]]


# -- Volcano -----------------------------------------------------------------------------------------------------------


def _queue(name: str) -> Key:
    return Key("Queue", "", name)


def _parent(queue: Manifest) -> str | None:
    return None if queue["metadata"]["name"] == "root" else queue["spec"].get("parent") or "root"


def _path(world: World, name: str) -> tuple[list[str], bool]:
    """The names from the parent upward without root, and whether that ends."""
    path: list[str] = []
    here = world.get(_queue(name))
    while here is not None and (parent := _parent(here)) not in (None, "root"):
        assert parent is not None
        if parent in path:
            return path, False
        path.append(parent)
        here = world.get(_queue(parent))
    return path, True


def _amounts(queue: Manifest, field: str) -> dict[str, Fraction]:
    """The amounts that can be read."""
    read = {name: amount(text, "/" in name) for name, text in _texts(queue, field).items()}
    return {name: value for name, value in read.items() if value is not None}


def _texts(queue: Manifest, field: str) -> Mapping[str, object]:
    spec = queue["spec"]
    found: Mapping[str, object] = spec.get("guarantee", {}).get("resource", {}) if field == "guarantee" else {}
    return found or spec.get(field, {}) if field != "guarantee" else found


def _volcano(world: World) -> Iterator[Row]:
    for key, queue in of_kind(world, "Queue"):
        yield from _own_spec(key, queue)
        if key.name == "root":
            continue
        parent = _parent(queue)
        if parent not in _BUILT_IN and _queue(str(parent)) not in world:
            yield "no parent", key, str(parent), NONE
        path, ends = _path(world, key.name)
        if not ends:
            yield "endless", key, "", Fraction(len(path) if key.name in path else 0)
        elif len(path) + 1 > DEPTH:
            yield "too deep", key, "", Fraction(len(path) + 1)
        yield from _sums(world, key, queue)
        yield from _above_ancestor(world, key, queue, path)


def _own_spec(key: Key, queue: Manifest) -> Iterator[Row]:
    guarantee, deserved, capability = (_amounts(queue, f) for f in ("guarantee", "deserved", "capability"))
    for field in ("guarantee", "deserved", "capability"):
        for name, text in _texts(queue, field).items():
            if amount(text, "/" in name) is None:
                yield "no amount", key, f"{field} {name}", NONE
    for name, value in guarantee.items():
        if name not in deserved or value > deserved[name]:  # unnamed is less than 0
            yield "guarantee > deserved", key, name, value - deserved.get(name, NONE)
    for name, value in deserved.items():
        if name in capability and value > capability[name]:
            yield "deserved > capability", key, name, value - capability[name]


def _sums(world: World, key: Key, queue: Manifest) -> Iterator[Row]:
    children = [child for _, child in of_kind(world, "Queue") if _parent(child) == key.name]
    for field in ("guarantee", "deserved"):
        held = _amounts(queue, field)
        wanted: dict[str, Fraction] = {}
        for child in children:
            for name, value in _amounts(child, field).items():
                wanted[name] = wanted.get(name, NONE) + value
        for name, value in wanted.items():
            unnamed = name not in held and "/" in name  # less than 0, but for cpu and memory
            if unnamed or value > held.get(name, NONE):
                yield f"children {field}", key, name, value - held.get(name, NONE)


def _above_ancestor(world: World, key: Key, queue: Manifest, path: list[str]) -> Iterator[Row]:
    for name, value in _amounts(queue, "capability").items():
        limits = (
            _amounts(world[_queue(up)], "capability").get(name) for up in path if up != key.name and _queue(up) in world
        )
        nearest = next((limit for limit in limits if limit), None)
        if nearest is not None and value > nearest:
            yield "capability > ancestor", key, name, value - nearest


def _queue_of(work: Manifest) -> str:
    return work["spec"].get("queue") or "default"


def _sits(work: Manifest) -> bool:
    """A PodGroup counts in any phase, a Job until it is finished."""
    phase = work["status"].get("state", {}).get("phase")
    return bool(work["kind"] == "PodGroup" or phase not in ("Completed", "Failed", "Terminated"))


def _inner(world: World, name: str) -> bool:
    return name == "root" or any(_parent(queue) == name for _, queue in of_kind(world, "Queue"))


def _work(world: World) -> Iterator[Row]:
    for key, work in of_kind(world, "PodGroup", "Job"):
        if _sits(work) and _inner(world, _queue_of(work)):
            yield "work in an inner queue", key, _queue_of(work), NONE


# -- Kueue -------------------------------------------------------------------------------------------------------------


def _cohort_of(node: Manifest) -> str | None:
    found: str | None = node["spec"].get("parentName" if node["kind"] == "Cohort" else "cohortName")
    return found


def _kueue(world: World) -> Iterator[Row]:
    for key, node in of_kind(world, "Cohort", "ClusterQueue"):
        path: list[str] = []
        parent = _cohort_of(node)
        while parent is not None and parent not in path:
            path.append(parent)
            cohort = world.get(Key("Cohort", "", parent))
            parent = _cohort_of(cohort) if cohort else None
        if parent is not None:
            on_it = key.kind == "Cohort" and key.name in path
            yield "endless", key, "", Fraction(len(path) if on_it else 0)
        yield from _quotas(key, node)


def _quotas(key: Key, node: Manifest) -> Iterator[Row]:
    resources: list[str] = []
    flavors: list[str] = []
    for group in node["spec"].get("resourceGroups", []):
        resources += group["coveredResources"]
        for flavor in group["flavors"]:
            flavors.append(flavor["name"])
            if [quota["name"] for quota in flavor["resources"]] != group["coveredResources"]:
                yield "other resources than its group", key, flavor["name"], NONE
            for quota in flavor["resources"]:
                yield from _quota(key, node, flavor["name"], quota)
    for names in (resources, flavors):
        for name in names:
            if names.count(name) > 1:
                yield "named twice", key, name, Fraction(names.count(name))


def _quota(key: Key, node: Manifest, flavor: str, quota: Manifest) -> Iterator[Row]:
    where = f"{flavor}/{quota['name']}"
    read = {field: amount(text) for field, text in quota.items() if field != "name"}
    for field, value in read.items():
        if value is None:
            yield "no amount", key, f"{where} {field}", NONE
        elif field != "nominalQuota" and _cohort_of(node) is None:
            yield "limit without a parent", key, f"{where} {field}", NONE
    nominal, lending = read["nominalQuota"], read.get("lendingLimit")
    if key.kind == "ClusterQueue" and nominal is not None and lending is not None and lending > nominal:
        yield "lends more than it has", key, where, lending - nominal


# -- steps -------------------------------------------------------------------------------------------------------------


def _missteps(before: World, after: World, edit: Edit) -> Iterator[str]:
    for key, new in edit.items():
        old = before.get(key)
        if new is None:
            yield from _deleted(key, after)
        elif key.kind == "Namespace" and (fault := queue_lost(before, after, key)):
            yield f"{key}: {fault}"
        elif key == CONFIGS:
            yield from _forsaken(before, after, edit)
        elif key.kind in ("Job", "PodGroup"):
            yield from _submitted(old, new, after)
        elif key.kind == "LocalQueue":
            yield from _opened(old, new, after)
        elif key == _queue("root"):
            yield from _root_changed(old, new)
        elif key.kind == "Queue":
            yield from _first_child(old, new, before, after)
            if old is None or _parent(old) != _parent(new):
                yield from _without_ancestor(key, after)


def _root_changed(old: Manifest | None, new: Manifest) -> Iterator[str]:
    before, parent = old["spec"].get("parent") if old else None, new["spec"].get("parent")
    none = (None, "", "root")
    if parent not in none and before in none:
        yield "root gets a parent"
    if old is not None and any(_amounts(old, f) != _amounts(new, f) for f in ("guarantee", "deserved", "capability")):
        yield "root's amounts are changed"


def _without_ancestor(key: Key, after: World) -> Iterator[str]:
    """Volcano's webhook refuses to move a queue below a missing ancestor, also where it was below one before."""
    path, ends = _path(after, key.name)
    if ends and len(path) > 1 and path[-1] not in _BUILT_IN and _queue(path[-1]) not in after:
        yield f"{key} is moved below {path[-1]}, which does not exist"


def _forsaken(before: World, after: World, edit: Edit) -> Iterator[str]:
    """Namespaces that stay as they are while the queues are written, and can have no queue where they ask for one."""
    for key, _ in of_kind(after, "Namespace"):
        if key not in edit and (fault := queue_lost(before, after, key)):
            yield f"{key}: {fault}"


def _deleted(key: Key, after: World) -> Iterator[str]:
    if key == CONFIGS:
        yield "all queues are deleted"
    if key.kind == "Queue" and (key.name in _BUILT_IN or _inner(after, key.name)):
        yield f"{key} is needed"
    if key.kind == "Cohort" and any(
        _cohort_of(node) == key.name for _, node in of_kind(after, "Cohort", "ClusterQueue")
    ):
        yield f"{key} has children"
    if key.kind == "ClusterQueue" and any(
        q["spec"]["clusterQueue"] == key.name for _, q in of_kind(after, "LocalQueue")
    ):
        yield f"{key} has LocalQueues"


def _submitted(old: Manifest | None, new: Manifest, after: World) -> Iterator[str]:
    name = _queue_of(new)
    if old is not None and _queue_of(old) == name:
        return
    queue = after.get(_queue(name))
    if old is not None and new["kind"] == "Job":
        yield f"{key_of(new)} is moved to another queue"
    if queue is None and name not in _BUILT_IN:
        yield f"{name} does not exist"
    if queue is not None and queue["status"].get("state", "Open") != "Open":
        yield f"{name} is not open"
    if _inner(after, name):
        yield f"{name} is no leaf"


def _opened(old: Manifest | None, new: Manifest, after: World) -> Iterator[str]:
    name = new["spec"]["clusterQueue"]
    if old is not None and old["spec"]["clusterQueue"] != name:
        yield "a LocalQueue keeps its ClusterQueue"
    cohorts = {key.name for key, _ in of_kind(after, "Cohort")}
    cohorts |= {str(_cohort_of(node)) for _, node in of_kind(after, "Cohort", "ClusterQueue")}
    if old is None and Key("ClusterQueue", "", name) not in after and name in cohorts:
        yield f"{name} is a Cohort"


def _first_child(old: Manifest | None, new: Manifest, before: World, after: World) -> Iterator[str]:
    parent = str(_parent(new))
    if parent == "root" or (old is not None and _parent(old) == parent) or _inner(before, parent):
        return
    queue = after.get(_queue(parent))
    if queue is not None and int(queue["status"].get("allocated", {}).get("pods", 0)):
        yield f"{parent} holds pods"


def describe(objects: Iterable[object]) -> str:
    return "\n".join(str(obj) for obj in objects)
