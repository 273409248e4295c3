"""Makes intermediate versions of YuniKorn's tree: each queue has the higher limits of the versions before and after.

One version has the higher guarantees, too, so that it has room for the Namespaces of both trees. The other version has
the lower guarantees, so that no queue promises more than its parent has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from policies.dialects.reading import Manifest, listing, mapping, text
from policies.dialects.yunikorn_config.model import DEFAULT_PARTITION
from policies.dialects.yunikorn_config.typed import Faults, is_null
from policies.model.quantity import Quantity
from policies.text.positions import BadText
from policies.text.yaml_composer import first_document
from policies.text.yaml_nodes import Node, Scalar, SequenceNode

Fields: TypeAlias = Mapping[str, Any]
Choice: TypeAlias = Callable[[object, object], object]
MOST = "maxapplications"
_WEIGHTS = "resourceweights"
_TYPED = frozenset([MOST, "parent", "create", "enabled", "quotapreemptionenabled", _WEIGHTS])
"""The keys whose values are numbers or booleans."""


def lower(was: object, now: object) -> object:
    """The lower of two amounts of manifests; the first one if one is not a quantity."""
    return was if _is_at_most(was, now) else now


def higher(was: object, now: object) -> object:
    """The higher of two amounts of manifests; the second one if one is not a quantity."""
    return now if _is_at_most(was, now) else was


def _is_at_most(was: object, now: object) -> bool:
    one, other = Quantity.read(was), Quantity.read(now)
    return one is None or other is None or one <= other


def with_higher_guarantees(before: Manifest, after: Manifest) -> Manifest:
    """The later ConfigMap with the higher guarantees of the two."""
    return _between(before, after, higher)


def with_lower_guarantees(before: Manifest, after: Manifest) -> Manifest:
    """The later ConfigMap with the lower guarantees of the two. A queue that only one of them has gets no guarantee."""
    return _between(before, after, lower)


def _between(before: Manifest, after: Manifest, promise: Choice) -> Manifest:
    old, new = mapping(before.get("data")), mapping(after.get("data"))
    trees = {key: _tree(old.get(key), value, promise) for key, value in new.items() if key.endswith(".yaml")}
    return {**after, "data": {**new, **{key: tree for key, tree in trees.items() if tree is not None}}}


def _tree(before: object, after: object, promise: Choice) -> str | None:
    """The tree as JSON, which is also YAML; None if one of the two texts is not a tree."""
    try:
        old, new = (mapping(_written(first_document(text(each) or ""), Faults())) for each in (before, after))
    except BadText:
        return None
    partitions = _merged(old.get("partitions"), new.get("partitions"), promise)
    return json.dumps({**new, "partitions": partitions}, indent=1, default=float)


def _written(node: Node | None, visits: Faults, key: str = "") -> Any:
    """The value of a node under this key. Like YuniKorn, it takes most scalars as texts: `on` and `010` are names."""
    if node is None or is_null(node):
        return None
    visits.visit(node)
    if isinstance(node, Scalar):
        return node.value if key in _TYPED else node.text
    if isinstance(node, SequenceNode):
        return [_written(item, visits) for item in node.items]
    found: dict[str, Any] = {}
    for name, inner in node.entries:
        if name.plain and name.text == "<<":
            merged = _written(inner, visits)
            for source in merged if isinstance(merged, list) else [merged]:
                found = {**mapping(source), **found}
        else:
            found[name.text] = _written(inner, visits, key if key == _WEIGHTS else name.text)
    return found


def _merged(before: object, after: object, promise: Choice) -> list[Any]:
    """The partitions or queues of both, merged by name."""
    old, new = _by_name(before), _by_name(after)
    return [_queue(old.get(name), new.get(name), promise) for name in {**new, **old}]


def _by_name(found: object) -> dict[str, Fields]:
    """The entries by name in lower case. A partition without a name is the default one; a queue has a name."""
    return {str(mapping(each).get("name") or DEFAULT_PARTITION).lower(): mapping(each) for each in listing(found)}


def _queue(before: Fields | None, after: Fields | None, promise: Choice) -> Fields:
    if before is None or after is None:
        return _alone(before or after or {}, promise)
    found = {**after, "resources": _resources(before, after, promise), MOST: _most(before, after)}
    found["queues"] = _merged(before.get("queues"), after.get("queues"), promise)
    return {key: value for key, value in found.items() if value}


def _alone(queue: Fields, promise: Choice) -> Fields:
    """A queue that only one of the two trees has."""
    if promise is higher:
        return queue
    limits = {key: value for key, value in mapping(queue.get("resources")).items() if key != "guaranteed"}
    below = [_alone(mapping(each), promise) for each in listing(queue.get("queues"))]
    return {key: value for key, value in {**queue, "resources": limits, "queues": below}.items() if value}


def _resources(before: Fields, after: Fields, promise: Choice) -> Fields:
    """A limit that only one of the two has is dropped. A guarantee that only one of them has is kept."""
    old, new = mapping(before.get("resources")), mapping(after.get("resources"))
    found = {
        "max": _pairs(old.get("max"), new.get("max"), higher),
        "guaranteed": _pairs(old.get("guaranteed"), new.get("guaranteed"), promise),
    }
    if promise is higher:
        alone = {**mapping(old.get("guaranteed")), **mapping(new.get("guaranteed"))}
        found["guaranteed"] = {**alone, **found["guaranteed"]}
    return {key: amounts for key, amounts in found.items() if amounts}


def _most(before: Fields, after: Fields) -> object:
    """The higher limit of applications. An absent one means no limit."""
    return higher(before[MOST], after[MOST]) if before.get(MOST) and after.get(MOST) else None


def _pairs(before: object, after: object, chosen: Choice) -> dict[str, object]:
    """The chosen amount of each resource that both have."""
    old, new = mapping(before), mapping(after)
    return {name: chosen(old[name], new[name]) for name in old if name in new}
