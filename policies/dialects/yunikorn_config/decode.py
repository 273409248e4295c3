"""Reads queues.yaml into typed values, as YuniKorn's strict loader does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from policies.dialects.yunikorn import conf_quantity
from policies.dialects.yunikorn_config.model import (
    ROOT,
    Config,
    ConfiguredAmount,
    ConfiguredQueue,
    Filter,
    Limit,
    Partition,
    PlacementRule,
    Problem,
    Resources,
    Template,
    Text,
)
from policies.dialects.yunikorn_config.typed import Faults, Fields
from policies.model.quantity import BadQuantity
from policies.text.positions import BadText, position
from policies.text.yaml_composer import first_document
from policies.text.yaml_nodes import Node


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text with its configuration. `visited`: the number of its values, with those that aliases repeat."""

    text: str
    config: Config
    visited: int


def read_whole(text: str) -> DecodedText:
    """Read the configuration of the text. The faults of the text itself are in its `problems`.

    Only the first document counts, and a text without a document has no partitions.
    """
    faults = Faults()
    try:
        partitions = _config(first_document(text), faults)
    except BadText as bad:
        problem = Problem("", position(text, bad.offset).line, bad.message)
        return DecodedText(text, Config(problems=(*faults.problems, problem)), faults.visited)
    return DecodedText(text, Config(partitions, tuple(faults.problems)), faults.visited)


def _config(node: Node | None, faults: Faults) -> tuple[Partition, ...]:
    top = Fields(node, "", faults)
    partitions = top.listed("partitions", lambda item, at: _partition(item, at, faults)) or ()
    top.text("checksum")
    top.done()
    return partitions


def _partition(node: Node, at: str, faults: Faults) -> Partition:
    entry = Fields(node, at, faults)
    queues = entry.listed("queues", lambda item, where: read_queue(item, where, faults))
    limits = _limits(entry, faults)
    sort_type, weights = _sort_policy(entry)
    preemption = entry.inner("preemption")
    preempts, quota_preemption = True, False
    if preemption is not None:
        preempts = preemption.flag("enabled", absent=True)
        quota_preemption = preemption.flag("quotapreemptionenabled")
        preemption.done()
    resolver = entry.inner("usergroupresolver")
    partition = Partition(
        name=entry.text("name"),
        field=at,
        line=entry.line,
        root=None if queues is None else _rooted(queues, limits, entry),
        rules=entry.listed("placementrules", lambda item, where: read_rule(item, where, faults)) or (),
        limits=limits,
        sort_type=sort_type,
        weights=weights,
        resolver=resolver.text("type") if resolver else Text(),
        preempts=preempts,
        quota_preemption=quota_preemption,
    )
    if resolver is not None:
        resolver.done()
    entry.done()
    return partition


def _rooted(queues: tuple[ConfiguredQueue, ...], limits: tuple[Limit, ...], entry: Fields) -> ConfiguredQueue:
    """The root queue: the declared root, or one inserted above the declared queues."""
    if len(queues) == 1 and queues[0].name.lower() == ROOT:
        root = replace(queues[0], parent=True)
    else:
        root = ConfiguredQueue(ROOT, ROOT, entry.at, entry.line, parent=True, queues=queues)
    root = root if root.limits else replace(root, limits=limits)
    return placed_at(root, ROOT)


def placed_at(queue: ConfiguredQueue, path: str) -> ConfiguredQueue:
    """The queue at this path, with the paths of its descendants."""
    return replace(queue, path=path, queues=tuple(placed_at(child, f"{path}.{child.name}") for child in queue.queues))


def _sort_policy(entry: Fields) -> tuple[Text, dict[str, tuple[Text, float]]]:
    policy = entry.inner("nodesortpolicy")
    if policy is None:
        return Text(), {}
    kind = policy.text("type")
    section = policy.inner("resourceweights")
    weights = dict(section.numbers()) if section else {}
    policy.done()
    return kind, weights


def read_queue(node: Node, at: str, faults: Faults) -> ConfiguredQueue:
    """Read a queue and its descendants. Paths start at this queue."""
    entry = Fields(node, at, faults)
    name = entry.text("name").text
    guaranteed, maximum = _resources(entry)
    queue = ConfiguredQueue(
        name=name,
        path=name,
        field=at,
        line=entry.line,
        parent=entry.flag("parent"),
        guaranteed=guaranteed,
        maximum=maximum,
        max_applications=entry.count("maxapplications"),
        properties=_properties(entry),
        admin_acl=entry.text("adminacl"),
        submit_acl=entry.text("submitacl"),
        template=_template(entry),
        queues=entry.listed("queues", lambda item, where: read_queue(item, where, faults)) or (),
        limits=_limits(entry, faults),
    )
    entry.done()
    return queue


def _template(entry: Fields) -> Template | None:
    section = entry.inner("childtemplate")
    if section is None:
        return None
    guaranteed, maximum = _resources(section)
    template = Template(
        line=section.line,
        max_applications=section.count("maxapplications"),
        properties=_properties(section),
        guaranteed=guaranteed,
        maximum=maximum,
    )
    section.done()
    return template


def _properties(entry: Fields) -> dict[str, Text]:
    section = entry.inner("properties")
    return dict(section.every()) if section else {}


def _resources(entry: Fields) -> tuple[Resources | None, Resources | None]:
    section = entry.inner("resources")
    if section is None:
        return None, None
    both = _amounts(section, "guaranteed"), _amounts(section, "max")
    section.done()
    return both


def _amounts(entry: Fields, key: str) -> Resources | None:
    section = entry.inner(key)
    return None if section is None else {name: _amount(name, value) for name, value in section.every()}


def _amount(name: str, written: Text) -> ConfiguredAmount:
    try:
        return ConfiguredAmount(written, conf_quantity(name, written.text))
    except BadQuantity as error:
        return ConfiguredAmount(written, None, str(error))


def _limits(entry: Fields, faults: Faults) -> tuple[Limit, ...]:
    return entry.listed("limits", lambda item, at: _limit(item, at, faults)) or ()


def _limit(node: Node, at: str, faults: Faults) -> Limit:
    entry = Fields(node, at, faults)
    limit = Limit(
        field=at,
        line=entry.line,
        name=entry.text("limit").text,
        users=entry.texts("users"),
        groups=entry.texts("groups"),
        max_resources=_amounts(entry, "maxresources") or {},
        max_applications=entry.count("maxapplications"),
    )
    entry.done()
    return limit


def read_rule(node: Node, at: str, faults: Faults) -> PlacementRule:
    entry = Fields(node, at, faults)
    parent = entry.node("parent")
    rule = PlacementRule(
        field=at,
        line=entry.line,
        name=entry.text("name"),
        create=entry.flag("create"),
        filter=_filter(entry),
        parent=read_rule(parent, entry.path("parent"), faults) if parent is not None else None,
        value=entry.text("value"),
    )
    entry.done()
    return rule


def _filter(entry: Fields) -> Filter:
    section = entry.inner("filter")
    if section is None:
        return Filter()
    read = Filter(section.text("type"), section.texts("users"), section.texts("groups"))
    section.done()
    return read
