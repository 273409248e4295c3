"""Random organisations of the three projects, and random edits of them, as plain manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from tests.builders import cluster_queue, cohort, config_map, holding, job, local_queue, namespace, pod_group, queue
from tests.policies.namespace_oracle import disturbs
from tests.policies.oracle import faults
from tests.policies.oracle_world import CONFIGS, YUNIKORN, Edit, Manifest, World, applied, key_of
from tests.policies.queue_oracle import PARENT

MOST = 12
"""Objects of a world: enough for a path of six queues with work at its end."""

_NEEDED = {"namespaceSelector", "clusterQueue", "tasks", "minAvailable"}

names = st.sampled_from("abcdefg")
_numbers = st.sampled_from([0, 0, 1, 1, 2, 3, 4, 4, 8, 8])
_slips = st.sampled_from([False] * 9 + [True])


@st.composite
def _text(draw: st.DrawFn, resource: str, number: int) -> str:
    if resource == "memory":
        return draw(st.sampled_from([f"{number}Gi", f"{1024 * number}Mi"]))
    if resource == "cpu":
        return draw(st.sampled_from([f"{number}", f"{1000 * number}m"]))
    return f"{number}"


@st.composite
def _volcano_queue(draw: st.DrawFn) -> Manifest:
    """Amounts mostly in the order that the specification asks for."""
    parent = draw(st.sampled_from([None, "root", *"abcdefgabcdefgabcdefg", "ghost"]))
    spec: dict[str, dict[str, str]] = {"guarantee": {}, "deserved": {}, "capability": {}}
    for resource in draw(st.lists(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), max_size=2, unique=True)):
        three = draw(st.lists(_numbers, min_size=3, max_size=3))
        if not draw(_slips):
            three.sort()
        for field, number in zip(spec, three, strict=True):
            if draw(st.booleans()):
                slip = draw(_slips) and draw(_slips)
                spec[field][resource] = draw(st.sampled_from(["-1", "x", "1500m"] if slip else [""])) or draw(
                    _text(resource, number)
                )
    manifest = queue(draw(st.sampled_from([*"abcdefgabcdefg", "root", "default"])), parent)
    manifest["spec"] |= {field: spec[field] for field in ("deserved", "capability") if spec[field]}
    if spec["guarantee"]:
        manifest["spec"]["guarantee"] = {"resource": spec["guarantee"]}
    manifest["status"] = {"state": draw(st.sampled_from(["Open"] * 5 + ["Closed"]))}
    if draw(_slips):
        manifest["status"]["allocated"] = {"pods": "2"}
    return manifest


_work = st.builds(
    lambda make, name, queue, phase: make(name, queue, phase=phase),
    st.sampled_from([pod_group, job]),
    st.sampled_from(["w1", "w2", "w3"]),
    names | st.sampled_from([None, "root", "ghost"]),
    st.sampled_from(["Pending", "Running", "Completed"]),
)


@st.composite
def _quota_node(draw: st.DrawFn) -> Manifest:
    parent = draw(st.none() | names)
    manifest = draw(st.sampled_from([cohort, cohort, cluster_queue]))(draw(names), parent)
    groups = [draw(_resource_group(parent is not None)) for _ in range(draw(st.sampled_from([0, 1, 1, 2])))]
    return holding(manifest, *groups) if groups else manifest


@st.composite
def _resource_group(draw: st.DrawFn, limited: bool) -> dict[str, Any]:
    covered = draw(st.lists(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), min_size=1, max_size=2, unique=True))
    flavors = draw(st.lists(st.sampled_from(["spot", "reserved", "old"]), min_size=1, max_size=2, unique=True))
    listed = covered[::-1] if draw(_slips) else covered
    quotas = [[{"name": resource, **draw(_quota(resource, limited))} for resource in listed] for _ in flavors]
    return {
        "coveredResources": covered,
        "flavors": [{"name": name, "resources": quota} for name, quota in zip(flavors, quotas, strict=True)],
    }


@st.composite
def _quota(draw: st.DrawFn, resource: str, limited: bool) -> dict[str, str]:
    lending, nominal = sorted(draw(st.tuples(_numbers, _numbers)), reverse=draw(_slips))
    quota = {"nominalQuota": draw(_text(resource, nominal))}
    if limited != draw(_slips):
        if draw(st.booleans()):
            quota["lendingLimit"] = draw(_text(resource, lending))
        if draw(st.booleans()):
            quota["borrowingLimit"] = draw(_text(resource, draw(_numbers)))
    if draw(_slips) and draw(_slips):
        quota["nominalQuota"] = "-1"
    return quota


@st.composite
def _namespace(draw: st.DrawFn) -> Manifest:
    notes: dict[str, str] = {}
    for which in ("guaranteed", "quota"):
        slip = draw(_slips)
        resources = draw(st.lists(st.sampled_from(["cpu", "memory"]), max_size=2, unique=True))
        values: dict[str, object] = {name: draw(_text(name, draw(_numbers))) for name in resources}
        if values and slip:
            bad: list[object] = ["-1", "x", 4, None]
            values[resources[0]] = draw(st.sampled_from(bad))
        if values:
            text = json.dumps(values)
            notes[YUNIKORN + which] = text[:-1] if draw(_slips) and draw(_slips) else text
    parent = draw(st.sampled_from([None, "a", *["root.a"] * 5, "root.b", "root.a.b", "ghost"]))
    if parent:
        notes[PARENT] = parent
    return namespace(draw(st.sampled_from(["n1", "n2", "n3"])), notes)


@st.composite
def _yunikorn_queue(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": draw(st.sampled_from([*"aaaaabbbc", "A", "x.y"]))}
    for resource in draw(st.lists(st.sampled_from(["vcore", "memory"]), max_size=2, unique=True)):
        guaranteed, most = sorted(draw(st.tuples(_numbers, _numbers)), reverse=draw(_slips))
        for which, number in (("guaranteed", guaranteed), ("max", most)):
            if draw(st.booleans()):
                text = draw(_text("memory" if resource == "memory" else "cpu", number))
                spec.setdefault("resources", {}).setdefault(which, {})[resource] = "-1" if draw(_rare) else text
    if draw(_slips):
        spec["maxapplications"] = draw(st.sampled_from([1, 2, 4]))
    if draw(st.booleans()):
        spec["parent"] = True
    if depth:
        below = draw(st.lists(_yunikorn_queue(depth - 1), max_size=2))
        spec |= {"queues": below} if below else {}
    return spec


_RULES = [
    {"name": "tag", "value": "namespace", "create": True, "parent": {"name": "tag", "value": "namespace.parentqueue"}},
    {"name": "tag", "value": "namespace", "create": True},
]


def queue_text(*queues: Manifest) -> Manifest:
    """The ConfigMap with these queues below root; Namespaces get theirs below the queue that they name."""
    partition = {"name": "default", "placementrules": _RULES, "queues": [{"name": "root", "queues": [*queues]}]}
    return config_map(CONFIGS.name, CONFIGS.namespace, data={"queues.yaml": json.dumps({"partitions": [partition]})})


_rare = st.sampled_from([False] * 40 + [True])
_queue_text = st.lists(_yunikorn_queue(), max_size=3).map(lambda queues: queue_text(*queues))
_local_queue = st.builds(local_queue, st.sampled_from(["l1", "l2"]), names)
_volcano = _volcano_queue() | _volcano_queue() | _work
_yunikorn = _namespace() | _namespace() | _queue_text
_kueue = _quota_node() | _quota_node() | _local_queue


DIALECTS = {"volcano": _volcano, "kueue": _kueue, "yunikorn": _yunikorn}


def _objects(draw: st.DrawFn, dialect: str) -> st.SearchStrategy[Manifest]:
    return DIALECTS[dialect or draw(st.sampled_from(["volcano", "volcano", "kueue", "kueue", "yunikorn"]))]


@st.composite
def _worlds(draw: st.DrawFn, objects: st.SearchStrategy[Manifest], sound: bool) -> World:
    """Objects put in one after the other; into a sound world only those that leave it so."""
    world: World = {}
    for manifest in draw(st.lists(objects, max_size=MOST)):
        grown = applied(world, {key_of(manifest): manifest})
        if not sound or not faults(grown):
            world = grown
    return world


@st.composite
def _edits(draw: st.DrawFn, world: World, objects: st.SearchStrategy[Manifest]) -> Edit:
    edit: Edit = {}
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        step = draw(st.sampled_from(["put", "alter", "alter", "delete"])) if world else "put"
        if step == "put":
            manifest = draw(objects)
            edit[key_of(manifest)] = manifest
        else:
            key = draw(st.sampled_from(sorted(world)))
            edit[key] = draw(_altered(world[key], objects)) if step == "alter" else None
    return edit


@st.composite
def _altered(draw: st.DrawFn, manifest: Manifest, objects: st.SearchStrategy[Manifest]) -> Manifest:
    """The object with one field of its spec, or all its annotations, as another object has it, or without it."""
    other = draw(objects)
    if manifest["kind"] == CONFIGS.kind:
        return _with_another_queue(manifest, draw(_yunikorn_queue()), draw(st.integers(0, 8)))
    if manifest["kind"] == "Namespace":
        notes = other["metadata"].get("annotations", {}) if draw(st.booleans()) else {}
        return {**manifest, "metadata": {**manifest["metadata"], "annotations": notes}}
    other_spec = other["spec"] if other["kind"] == manifest["kind"] else {}
    fields = sorted({*manifest["spec"], *other_spec} - _NEEDED)
    if not fields:
        return manifest
    field = draw(st.sampled_from(fields))
    spec = {name: value for name, value in manifest["spec"].items() if name != field}
    return {**manifest, "spec": {**spec, **({field: other_spec[field]} if field in other_spec else {})}}


def _with_another_queue(manifest: Manifest, queue: dict[str, Any], number: int) -> Manifest:
    """One of the queues, wherever it lies, becomes another one, keeps its name and what is below it; or it is gone."""
    config = json.loads(manifest["data"]["queues.yaml"])
    root = config["partitions"][0]["queues"][0]
    places = [(above, index) for above in _walk(root) for index in range(len(above.get("queues", [])))]
    if not places:
        return queue_text(queue)
    above, index = places[number % len(places)]
    old = above["queues"][index]
    kept = {key: old[key] for key in ("name", "queues") if key in old}
    above["queues"][index : index + 1] = [] if number == 8 else [{**queue, **kept}]
    return {**manifest, "data": {"queues.yaml": json.dumps(config)}}


def _walk(queue: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield queue
    for child in queue.get("queues", []):
        yield from _walk(child)


@st.composite
def changes(draw: st.DrawFn, *, sound: bool, dialect: str = "") -> tuple[World, Edit]:
    """A world and an edit of it, of this dialect or of any.

    Queues of YuniKorn that Namespaces use are left as they are: whether one may go is a matter of its own.
    """
    objects = _objects(draw, dialect)
    world = draw(_worlds(objects, sound))
    edit = draw(_edits(world, objects))
    assume(not disturbs(world, edit))
    return world, edit
