"""Finds faults of resources.deviceClassMappings, which map the devices of a class to a resource of queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.configuration.kueue import fault
from policies.configuration.kueue.device_expression import expression_fault
from policies.configuration.kueue.gates import CAPACITIES, COUNTERS, RESERVED_NAMES, FeatureGates
from policies.configuration.kueue.grammar import is_dns_label, is_identifier
from policies.dialects.labels import is_domain, is_qualified_name
from policies.dialects.reading import Manifest, listing, mapping

_AT = "resources.deviceClassMappings"
_MOST, _MOST_CLASSES = 16, 8
_LONGEST, _LONGEST_DOMAIN, _LONGEST_ID = 253, 63, 32


@dataclass
class _Earlier:
    """The mappings before the current one.

    `owners`: for each device class, the first resource that it counts for.
    `counters`: for each device class, its counters that are counted.
    """

    names: set[str] = field(default_factory=set)
    owners: dict[str, str] = field(default_factory=dict)
    counters: dict[str, set[str]] = field(default_factory=dict)


def device_classes(configuration: Manifest, gates: FeatureGates) -> Iterator[fault.Fault]:
    entries = [mapping(entry) for entry in listing(mapping(configuration.get("resources")).get("deviceClassMappings"))]
    if len(entries) > _MOST:
        yield fault.too_many(_AT, len(entries), _MOST)
    earlier = _Earlier()
    for index, entry in enumerate(entries):
        at, name = f"{_AT}[{index}]", str(entry.get("name", ""))
        yield from _name(name, f"{at}.name")
        if name == fault.PODS and gates.enabled(RESERVED_NAMES):
            yield fault.reserved_name(f"{at}.name")
        if name in earlier.names:
            yield fault.duplicate(f"{at}.name", name)
        earlier.names.add(name)
        yield from _classes(entry, name, f"{at}.deviceClassNames", earlier)
        yield from _sources(listing(entry.get("sources")), f"{at}.sources", gates)


def _name(name: str, at: str) -> Iterator[fault.Fault]:
    if not is_qualified_name(name):
        yield fault.invalid(at, f"{name[:80]!r} is not a valid resource name")
    if len(name) > _LONGEST:
        yield fault.invalid(at, f"longer than {_LONGEST} characters; shorten it")


def _classes(entry: Mapping[str, Any], resource: str, at: str, earlier: _Earlier) -> Iterator[fault.Fault]:
    names = [str(name) for name in listing(entry.get("deviceClassNames"))]
    if not names:
        yield fault.required(at, "name at least one device class")
    if len(names) > _MOST_CLASSES:
        yield fault.too_many(at, len(names), _MOST_CLASSES)
    counter = _counter_of(entry)
    for index, name in enumerate(names):
        yield from _name(name, f"{at}[{index}]")
        if name in names[:index]:
            yield fault.duplicate(f"{at}[{index}]", name)
        yield from _shared(name, resource, counter, f"{at}[{index}]", earlier)


def _shared(name: str, resource: str, counter: str, at: str, earlier: _Earlier) -> Iterator[fault.Fault]:
    """Check that a class counts for one resource only, or for several by a different counter each."""
    owner = earlier.owners.setdefault(name, resource)
    counters = earlier.counters.setdefault(name, {counter} if counter else set())
    if owner == resource:
        return
    if not counter or not counters:
        yield fault.invalid(at, f"the class {name} already counts for {owner}")
    elif counter in counters:
        yield fault.invalid(at, f"the counter {counter} of the class {name} is already counted")
    counters.add(counter)


def _counter_of(entry: Mapping[str, Any]) -> str:
    sources = listing(entry.get("sources"))
    return str(mapping(mapping(sources[0]).get("counter")).get("name") or "") if sources else ""


def _sources(sources: list[Any], at: str, gates: FeatureGates) -> Iterator[fault.Fault]:
    kinds: set[str] = set()
    for index, source in enumerate(map(mapping, sources)):
        written = [kind for kind in ("counter", "capacity") if source.get(kind) is not None]
        if not written:
            yield fault.required(f"{at}[{index}]", "write counter or capacity")
        elif len(written) > 1:
            yield fault.invalid(f"{at}[{index}]", "keep either counter or capacity")
        else:
            kinds.update(written)
            yield from _source(written[0], mapping(source[written[0]]), f"{at}[{index}].{written[0]}", gates)
    if len(kinds) > 1:
        yield fault.invalid(at, "counters and capacities cannot be mixed in one mapping; split it in two")


def _source(kind: str, source: Mapping[str, Any], at: str, gates: FeatureGates) -> Iterator[fault.Fault]:
    gate, name = COUNTERS if kind == "counter" else CAPACITIES, str(source.get("name") or "")
    if not gates.enabled(gate):
        yield fault.invalid(at, f"this needs the feature gate {gate}")
        return
    if kind == "capacity":
        yield from _capacity_name(name, f"{at}.name")
    elif not name:
        yield fault.required(f"{at}.name")
    elif not is_dns_label(name):
        yield fault.invalid(f"{at}.name", f"{name[:80]!r} is not a valid counter name")
    yield from _driver(str(source.get("driver") or ""), f"{at}.driver")
    yield from _expression(source, f"{at}.deviceSelector.cel.expression")


def _driver(driver: str, at: str) -> Iterator[fault.Fault]:
    if not driver:
        yield fault.required(at)
    elif len(driver) > _LONGEST_DOMAIN or not is_domain(driver):
        yield fault.invalid(at, f"{driver[:80]!r} is not a valid driver name; use a DNS domain of up to 63 characters")


def _capacity_name(name: str, at: str) -> Iterator[fault.Fault]:
    """Check an identifier with an optional domain and slash before it. Like Kueue, it ignores further slashes."""
    parts = name.split("/")
    if len(parts) > 2:
        return
    if len(parts) == 2:
        if len(parts[0]) > _LONGEST_DOMAIN:
            yield fault.too_long(at, _LONGEST_DOMAIN)
        if not is_domain(parts[0].lower()):
            yield fault.invalid(at, f"{parts[0][:80]!r} is not a DNS domain")
    if len(parts[-1]) > _LONGEST_ID:
        yield fault.too_long(at, _LONGEST_ID)
    if not is_identifier(parts[-1]):
        yield fault.invalid(at, f"{parts[-1][:80]!r} is not a valid identifier; use letters, digits and _")


def _expression(source: Mapping[str, Any], at: str) -> Iterator[fault.Fault]:
    expression = mapping(mapping(source.get("deviceSelector")).get("cel")).get("expression")
    if not expression:
        yield fault.required(at)
    elif wrong := expression_fault(str(expression)):
        yield fault.invalid(at, wrong)
