"""Faults in the topology annotations of pods, each as (annotation, message, fix).

Source: Kueue v0.19, validation of topology requests in its job framework.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from policies.dialects.go_values import FALSE, TRUE, read_integer
from policies.dialects.job_shape import PodsAt
from policies.dialects.kueue_jobs import INDEX_OFFSET
from policies.dialects.kueue_kinds import PREFIX
from policies.dialects.labels import is_qualified_name
from policies.dialects.reading import integer, listing, mapping, text

LEVELS = tuple(f"{PREFIX}podset-{how}-topology" for how in ("required", "preferred", "unconstrained"))
GROUP = f"{PREFIX}podset-group-name"
_SLICE_LEVEL = f"{PREFIX}podset-slice-required-topology"
_SLICE_SIZE = f"{PREFIX}podset-slice-size"
_LAYERS = f"{PREFIX}podset-slice-required-topology-constraints"
_MOST_LAYERS = 3
_MOST = 2**31 - 1
_LONGEST = 20  # digits of the largest number of 64 bits

Fault = tuple[str, str, str]
Enabled = Callable[[str], bool]
"""Whether a feature gate of Kueue is on."""


def asked_levels(notes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each requested level as (annotation, level). The level is empty if any domain will do.

    Invalid annotations are left out.
    """
    asked = next((key for key in LEVELS if key in notes), "")
    if asked in LEVELS[:2]:
        yield asked, notes[asked]
    elif asked and notes[asked] in TRUE:
        yield asked, ""
    if _LAYERS in notes:
        yield from ((_LAYERS, topology) for topology, _ in _read_layers(notes[_LAYERS]) or ())
    elif _SLICE_LEVEL in notes and _SLICE_SIZE in notes:
        yield _SLICE_LEVEL, notes[_SLICE_LEVEL]


def asked_units(notes: Mapping[str, str], pods: int) -> Iterator[tuple[str, str, int]]:
    """Each group of pods that must be in one domain, as (annotation, level, number of pods): all pods, or a slice."""
    if (level := notes.get(LEVELS[0])) is not None:
        yield LEVELS[0], level, pods
    if _LAYERS in notes:
        yield from ((_LAYERS, topology, size) for topology, size in _read_layers(notes[_LAYERS]) or ())
    elif _SLICE_LEVEL in notes and (size := read_integer(notes.get(_SLICE_SIZE, ""), 32)) is not None:
        yield _SLICE_LEVEL, notes[_SLICE_LEVEL], size


def requested_levels(request: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each requested level of a topologyRequest as (field, level)."""
    asked = next((key for key in ("required", "preferred") if text(request.get(key))), "")
    if asked:
        yield asked, text(request.get(asked)) or ""
    elif request.get("unconstrained") is True:
        yield "unconstrained", ""
    layers = listing(request.get("podsetSliceRequiredTopologyConstraints"))
    for index, layer in enumerate(map(mapping, layers)):
        yield f"podsetSliceRequiredTopologyConstraints[{index}].topology", text(layer.get("topology")) or ""
    if not layers and (level := text(request.get("podSetSliceRequiredTopology"))):
        yield "podSetSliceRequiredTopology", level


def requested_units(request: Mapping[str, Any], pods: int) -> Iterator[tuple[str, str, int]]:
    """Each group of pods of a topologyRequest that must be in one domain, as (field, level, number of pods)."""
    if level := text(request.get("required")):
        yield "required", level, pods
    layers = listing(request.get("podsetSliceRequiredTopologyConstraints"))
    for index, layer in enumerate(map(mapping, layers)):
        at = f"podsetSliceRequiredTopologyConstraints[{index}].size"
        yield at, text(layer.get("topology")) or "", integer(layer.get("size")) or 0
    if not layers and (level := text(request.get("podSetSliceRequiredTopology"))):
        yield "podSetSliceSize", level, integer(request.get("podSetSliceSize")) or 0


def faults(notes: Mapping[str, str], pods: int | None, enabled: Enabled) -> Iterator[Fault]:
    """The faults of one pod set. `pods`: its size; None if that is not known."""
    yield from _levels(notes, enabled)
    yield from _grouped(notes, enabled)
    yield from _slices(notes, pods)
    if _LAYERS in notes and not enabled("TASMultiLayerTopology"):
        message = "layers of slices need the feature gate TASMultiLayerTopology, which is off"
        yield _LAYERS, message, "describe one layer, by podset-slice-required-topology and podset-slice-size"
    elif _LAYERS in notes:
        yield from _layers(notes, pods, enabled)


def offset_faults(notes: Mapping[str, str]) -> Iterator[Fault]:
    """The faults of pod-index-offset, which is subtracted from the index of each pod to get its rank."""
    if INDEX_OFFSET not in notes:
        return
    offset = read_integer(notes[INDEX_OFFSET], 32)
    if offset is None or offset < 0:
        message = f"{notes[INDEX_OFFSET][:40]!r} is not a whole number from 0 on"
        yield INDEX_OFFSET, message, "write the number of pods that come before, or remove it"
    if GROUP in notes:
        message = "the pods of a group are already numbered after its leader"
        yield INDEX_OFFSET, message, "remove pod-index-offset or podset-group-name"


def group_faults(pod_sets: Sequence[PodsAt]) -> Iterator[tuple[PodsAt, str, str]]:
    """Faults of groups as (pod set, message, fix). A group is a leader and its workers, which are placed together."""
    groups: dict[str, list[PodsAt]] = {}
    for pod_set in pod_sets:
        if GROUP in pod_set.annotations:
            groups.setdefault(pod_set.annotations[GROUP], []).append(pod_set)
    for name, members in groups.items():
        message, fix = _group_fault(members)
        for member in members if message else ():
            yield member, f"group {name[:80]} {message}", fix


def _group_fault(members: Sequence[PodsAt]) -> tuple[str, str]:
    """The message and the fix for a group; both empty if it has no fault."""
    names = " and ".join(member.name for member in members)
    if len(members) != 2:
        fix = "name the same group on exactly two pod sets, or on none"
        return f"has {len(members)} pod set{'s' * (len(members) > 1)} ({names}); a group has exactly two", fix
    if 1 not in [member.count for member in members]:
        counts = " and ".join(str(member.count) for member in members)
        return f"has {counts} pods in {names}; one of the two must have a single pod", "give one of them a single pod"
    first, second = ([member.annotations.get(key) for key in LEVELS[:2]] for member in members)
    if first != second:
        return f"requests different topologies for {names}", "write the same topology annotation on both"
    return "", ""


def _levels(notes: Mapping[str, str], enabled: Enabled) -> Iterator[Fault]:
    asked = [key for key in LEVELS if key in notes]
    if len(asked) > 1:
        names = " and ".join(key.removeprefix(PREFIX) for key in asked)
        yield asked[0], f"{names} contradict each other", "keep one of them"
    for key in (*LEVELS[:2], _SLICE_LEVEL):
        if key in notes and not is_qualified_name(notes[key]):
            yield key, f"{notes[key][:80]!r} is not a node label", "write the node label of a topology level"
    if (anywhere := notes.get(LEVELS[2])) is None:
        return
    if anywhere in FALSE and enabled("TASRejectFalseUnconstrainedTopology"):
        yield LEVELS[2], "false requests a topology without a level, so it never fits", "write true, or remove it"
    elif anywhere not in TRUE | FALSE:
        yield LEVELS[2], f"{anywhere[:40]!r} is neither true nor false", "write true or false"


def _grouped(notes: Mapping[str, str], enabled: Enabled) -> Iterator[Fault]:
    if GROUP not in notes:
        return
    if _is_unsigned(notes[GROUP]):
        yield GROUP, f"{notes[GROUP][:40]} is a number, and Kueue numbers pod sets itself", "write a name with letters"
    if not any(key in notes for key in LEVELS[:2]):
        yield GROUP, "a group of pod sets needs a required or a preferred topology", "write one of the two"
    sliced = [key.removeprefix(PREFIX) for key in (_SLICE_LEVEL, _SLICE_SIZE, _LAYERS) if key in notes]
    if sliced and not enabled("TASGroupedPodSetSlicing"):
        message = f"a group of pod sets cannot have slices ({' and '.join(sliced)})"
        yield GROUP, message, "keep the group or the slices"


def _is_unsigned(written: str) -> bool:
    """Whether Go's strconv.ParseUint(written, 10, 64) accepts the text."""
    return written.isascii() and written.isdecimal() and int(written.lstrip("0")[: _LONGEST + 1] or "0") < 2**64


def _slices(notes: Mapping[str, str], pods: int | None) -> Iterator[Fault]:
    level, size = notes.get(_SLICE_LEVEL), notes.get(_SLICE_SIZE)
    if size is None:
        if level is not None:
            yield _SLICE_SIZE, f"slices within {level[:80]} need a size", "write the number of pods in a slice"
        return
    if level is None:
        yield (
            _SLICE_SIZE,
            f"a size of {size[:40]} without podset-slice-required-topology",
            "write the topology level of a slice",
        )
    number = read_integer(size, 32)
    if number is None or number < 1:
        yield _SLICE_SIZE, f"{size[:40]!r} is not a whole number above 0", "write the number of pods in a slice"
    elif pods is not None and number > pods:
        yield _SLICE_SIZE, f"slices of {number} pods, but there are only {pods}", f"write {pods} or less"


def _layers(notes: Mapping[str, str], pods: int | None, enabled: Enabled) -> Iterator[Fault]:
    """The faults of layers, which are slices within slices, the outermost first."""
    if other := [key.removeprefix(PREFIX) for key in (_SLICE_LEVEL, _SLICE_SIZE) if key in notes]:
        yield _LAYERS, f"slices are described both here and by {' and '.join(other)}", "keep one of the two"
    layers = _read_layers(notes[_LAYERS])
    if layers is None:
        yield _LAYERS, "it is not a JSON list of topology and size", 'write [{"topology": "<node label>", "size": 4}]'
        return
    if not 0 < len(layers) <= _MOST_LAYERS:
        yield _LAYERS, f"it lists {len(layers)} layers", f"list 1 to {_MOST_LAYERS}"
        return
    for message, fix in _layer_faults(layers):
        yield _LAYERS, message, fix
    size = layers[0][1]
    if pods is not None and size > pods:
        yield _LAYERS, f"slices of {size} pods, but there are only {pods}", f"write {pods} or less"
    elif pods is not None and len(layers) > 1 and size > 0 and pods % size and enabled("TASPartialSlices"):
        message = (
            f"{pods} pods cannot be cut into slices of {size}; only slices without layers may have a short last one"
        )
        yield _LAYERS, message, f"write a size that divides {pods}, or keep one layer"


def _layer_faults(layers: list[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    above = 0
    for topology, size in layers:
        if not is_qualified_name(topology):
            yield f"{topology[:80]!r} is not a node label", "write the node label of a topology level"
        if topology in seen:
            yield f"two layers have the topology {topology[:80]}", "name each level once"
        if size < 1:
            yield f"a slice within {topology[:80]} cannot have {size} pods", "write 1 or more"
        elif above % size:
            message = f"slices of {above} pods cannot be cut into slices of {size}"
            yield message, f"write a size that divides {above}"
        seen.add(topology)
        above = size


def _read_layers(written: str) -> list[tuple[str, int]] | None:
    """The topology and the size of each layer; empty and 0 if they are missing. None if the text cannot be read."""
    try:
        entries: Any = json.loads(written)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    layers = [(mapping(entry).get("topology", ""), mapping(entry).get("size", 0)) for entry in entries]
    return layers if all(isinstance(name, str) and _fits(size) for name, size in layers) else None


def _fits(size: object) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and -_MOST - 1 <= size <= _MOST
