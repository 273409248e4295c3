"""The invariants of the three specifications, checked by brute force on plain manifests.

Nothing here comes from `policies`: it is the second opinion on it. Every object is looked at each time, and what is
wrong is a mapping from (what, object, detail) to by how much; a world is sound where that is empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from tests.policies import queue_oracle
from tests.policies.queue_oracle import PARENT, Team, Tree, json_object

Manifest = dict[str, Any]


class Key(NamedTuple):
    kind: str
    namespace: str
    name: str


World = dict[Key, Manifest]
Edit = dict[Key, Manifest | None]
Fault = tuple[str, Key, str]
Faults = dict[Fault, Fraction]

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
NONE = Fraction(0)
DEPTH = 5
YUNIKORN = "yunikorn.apache.org/namespace."
CONFIGS = Key("ConfigMap", "yunikorn", "yunikorn-configs")
_BUILT_IN = ("root", "default")
_UNITS = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "k": Fraction(1000),
    "Ki": Fraction(1024),
    "Mi": Fraction(1024**2),
    "Gi": Fraction(1024**3),
}
_AMOUNT = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)(|m|k|Ki|Mi|Gi)").fullmatch


def key_of(manifest: Manifest) -> Key:
    meta = manifest["metadata"]
    return Key(manifest["kind"], meta.get("namespace", ""), meta["name"])


def applied(world: World, edit: Edit) -> World:
    after = {key: manifest for key, manifest in world.items() if key not in edit}
    return after | {key: manifest for key, manifest in edit.items() if manifest is not None}


def faults(world: World) -> Faults:
    """Everything that is wrong in this world."""
    found: Faults = {}
    for check in (_volcano, _work, _kueue, _namespaces, _queue_texts):
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


def amount(text: object, whole: bool = False) -> Fraction | None:
    """None for what is no amount, negative, or a fraction of a thing that comes in whole ones."""
    match = _AMOUNT(text) if isinstance(text, str) else None
    value = Fraction(match[1]) * _UNITS[match[2]] if match else None
    return None if value is None or value < 0 or (whole and value.denominator != 1) else value


# -- Volcano -----------------------------------------------------------------------------------------------------------

Row = tuple[str, Key, str, Fraction]


def _queue(name: str) -> Key:
    return Key("Queue", "", name)


def _of_kind(world: World, *kinds: str) -> Iterator[tuple[Key, Manifest]]:
    return ((key, manifest) for key, manifest in world.items() if key.kind in kinds)


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
    for key, queue in _of_kind(world, "Queue"):
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
        if value > deserved.get(name, NONE):
            yield "guarantee > deserved", key, name, value - deserved.get(name, NONE)
    for name, value in deserved.items():
        if name in capability and value > capability[name]:
            yield "deserved > capability", key, name, value - capability[name]


def _sums(world: World, key: Key, queue: Manifest) -> Iterator[Row]:
    children = [child for _, child in _of_kind(world, "Queue") if _parent(child) == key.name]
    for field in ("guarantee", "deserved"):
        held = _amounts(queue, field)
        wanted: dict[str, Fraction] = {}
        for child in children:
            for name, value in _amounts(child, field).items():
                wanted[name] = wanted.get(name, NONE) + value
        for name, value in wanted.items():
            if value > held.get(name, NONE):
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
    return name == "root" or any(_parent(queue) == name for _, queue in _of_kind(world, "Queue"))


def _work(world: World) -> Iterator[Row]:
    for key, work in _of_kind(world, "PodGroup", "Job"):
        if _sits(work) and _inner(world, _queue_of(work)):
            yield "work in an inner queue", key, _queue_of(work), NONE


# -- Kueue -------------------------------------------------------------------------------------------------------------


def _cohort_of(node: Manifest) -> str | None:
    found: str | None = node["spec"].get("parentName" if node["kind"] == "Cohort" else "cohortName")
    return found


def _kueue(world: World) -> Iterator[Row]:
    for key, node in _of_kind(world, "Cohort", "ClusterQueue"):
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


# -- YuniKorn ----------------------------------------------------------------------------------------------------------


def _namespaces(world: World) -> Iterator[Row]:
    for key, namespace in _of_kind(world, "Namespace"):
        notes = namespace["metadata"].get("annotations", {})
        for which in ("quota", "guaranteed"):
            values = json_object(notes.get(YUNIKORN + which) or "{}")
            if values is None:
                yield "no JSON object", key, which, NONE
            for name, value in (values or {}).items():
                if amount(value) is None:
                    yield "no amount", key, f"{which} {name}", NONE
        quota, guaranteed = (_granted(notes, which) for which in ("quota", "guaranteed"))
        for name, value in guaranteed.items():
            if name in quota and value > quota[name]:
                yield "guaranteed > quota", key, name, value - quota[name]


def _granted(notes: Mapping[str, str], which: str) -> dict[str, Fraction]:
    """One bad value voids the whole, and nothing but zeros is no quota."""
    values = {name: amount(value) for name, value in (json_object(notes.get(YUNIKORN + which) or "{}") or {}).items()}
    read = {name: value for name, value in values.items() if value is not None}
    return read if len(read) == len(values) and any(read.values()) else {}


def queues_of(world: World) -> Tree | None:
    config = world.get(CONFIGS)
    return queue_oracle.read(config["data"]["queues.yaml"], amount) if config else None


def _team(namespace: Manifest) -> Team:
    notes = namespace["metadata"].get("annotations", {})
    quota, guaranteed = (
        {"vcore" if name == "cpu" else name: value for name, value in _granted(notes, which).items()}
        for which in ("quota", "guaranteed")
    )
    return Team(namespace["metadata"]["name"], notes.get(PARENT, ""), quota, guaranteed)


def _queue_texts(world: World) -> Iterator[Row]:
    root = queues_of(world)
    if root is None:
        return
    teams = [_team(namespace) for _, namespace in _of_kind(world, "Namespace")]
    for what, where, excess in (*queue_oracle.queue_faults(root, amount), *queue_oracle.team_faults(root, teams)):
        yield what, CONFIGS, where, excess


def _lost(before: World, after: World, key: Key) -> str:
    """Why the Namespace's queue cannot be made where it asks for one, unless that was so before in the same way."""
    stood, root = queues_of(before), queues_of(after)
    team = _team(after[key])
    fault = queue_oracle.parent_fault(root, team) if root else ""
    kept = key in before and _team(before[key]).parent == team.parent
    return "" if kept and stood and queue_oracle.parent_fault(stood, team) == fault else fault


def disturbs(before: World, edit: Edit) -> bool:
    """Whether a queue goes, or becomes a leaf, that Namespaces name as the parent of theirs."""
    after = applied(before, edit)
    stood, root = queues_of(before), queues_of(after)
    teams = [_team(namespace) for _, namespace in _of_kind(after, "Namespace")]
    if stood is None or root is None:
        return False
    faults = [(queue_oracle.parent_fault(stood, team), queue_oracle.parent_fault(root, team)) for team in teams]
    return any(now and not was for was, now in faults)


# -- steps -------------------------------------------------------------------------------------------------------------


def _missteps(before: World, after: World, edit: Edit) -> Iterator[str]:
    for key, new in edit.items():
        old = before.get(key)
        if new is None:
            yield from _deleted(key, after)
        elif key.kind == "Namespace" and (fault := _lost(before, after, key)):
            yield f"{key}: {fault}"
        elif key == CONFIGS:
            yield from _forsaken(before, after, edit)
        elif key.kind in ("Job", "PodGroup"):
            yield from _submitted(old, new, after)
        elif key.kind == "LocalQueue":
            yield from _opened(old, new, after)
        elif key == _queue("root") and old is not None:
            if any(_amounts(old, f) != _amounts(new, f) for f in ("guarantee", "deserved", "capability")):
                yield "root's amounts are changed"
        elif key.kind == "Queue":
            yield from _first_child(old, new, before, after)


def _forsaken(before: World, after: World, edit: Edit) -> Iterator[str]:
    """Namespaces that stay as they are while the queues are written, and can have no queue where they ask for one."""
    for key, _ in _of_kind(after, "Namespace"):
        if key not in edit and (fault := _lost(before, after, key)):
            yield f"{key}: {fault}"


def _deleted(key: Key, after: World) -> Iterator[str]:
    if key == CONFIGS:
        yield "all queues are deleted"
    if key.kind == "Queue" and (key.name in _BUILT_IN or _inner(after, key.name)):
        yield f"{key} is needed"
    if key.kind == "Cohort" and any(
        _cohort_of(node) == key.name for _, node in _of_kind(after, "Cohort", "ClusterQueue")
    ):
        yield f"{key} has children"
    if key.kind == "ClusterQueue" and any(
        q["spec"]["clusterQueue"] == key.name for _, q in _of_kind(after, "LocalQueue")
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
    cohorts = {key.name for key, _ in _of_kind(after, "Cohort")}
    cohorts |= {str(_cohort_of(node)) for _, node in _of_kind(after, "Cohort", "ClusterQueue")}
    if old is None and Key("ClusterQueue", "", name) not in after and name in cohorts:
        yield f"{name} is a Cohort"


def _first_child(old: Manifest | None, new: Manifest, before: World, after: World) -> Iterator[str]:
    parent = str(_parent(new))
    if parent == "root" or (old is not None and _parent(old) == parent) or _inner(before, parent):
        return
    queue = after.get(_queue(parent))
    if queue is not None and int(queue["status"].get("allocated", {}).get("pods", 0)):
        yield f"{parent} holds pods"


def describe(things: Iterable[object]) -> str:
    return "\n".join(str(thing) for thing in things)
