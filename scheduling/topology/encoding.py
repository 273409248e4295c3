"""The stored form of a topologyAssignment: slices of domains, in which common parts of values are written once.

Every valid form is read. The form that is written is Kueue's. Source: Kueue v0.19, pkg/util/tas, apis/kueue/v1beta2.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from policies.conversion.topology import MOST_DOMAINS, expanded, one_slice
from policies.dialects.reading import listing
from scheduling.topology.assignment import AssignedDomain, TopologyAssignment

_MOST_SLICES = 1_000
"""The most slices of one assignment that the API server accepts."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read_topology_assignment(value: Mapping[str, Any]) -> TopologyAssignment:
    """Read an assignment. It has no domains if its slices are inconsistent, which the schema allows."""
    levels = tuple(map(str, listing(value.get("levels"))))
    domains = expanded(value.get("slices")) or []
    return TopologyAssignment(
        levels,
        tuple(
            AssignedDomain(tuple(domain["values"]), domain["count"])
            for domain in domains
            if len(domain["values"]) == len(levels)
        ),
    )


# -- writing -----------------------------------------------------------------------------------------------------------


def written_topology_assignment(assignment: TopologyAssignment, *, by_prefix: bool = True) -> dict[str, Any]:
    """The stored form of the assignment.

    Without domains, the key `slices` is missing and the API server refuses it.

    by_prefix: whether hosts with a common prefix may form a slice of their own.
    """
    levels, domains = list(assignment.levels), assignment.domains
    if not domains:
        return {"levels": levels}
    runs = _runs(domains) if by_prefix and assignment.by_host and len(domains) > 1 else [domains]
    split = {"levels": levels, "slices": [_slice(run) for run in runs]}
    if len(runs) == 1 or len(domains) > MOST_DOMAINS:
        return split
    whole = {"levels": levels, "slices": [_slice(domains)]}
    return min(split, whole, key=lambda form: len(json.dumps(form, separators=(",", ":"))))


def _slice(domains: Sequence[AssignedDomain]) -> dict[str, Any]:
    return one_slice([{"values": list(values), "count": pods} for values, pods in domains])


def _runs(domains: Sequence[AssignedDomain]) -> list[Sequence[AssignedDomain]]:
    """Divide the domains into runs of hosts with a common prefix, as long as possible without too many slices."""
    candidates = [_prefixes(domain.values[-1]) for domain in domains]
    shared = Counter(prefix for prefixes in candidates for prefix in prefixes)
    for depth in range(max(map(len, candidates)), 0, -1):
        keys = [_longest(prefixes[:depth], shared) for prefixes in candidates]
        runs: list[Sequence[AssignedDomain]] = []
        for _, run in groupby(zip(keys, domains, strict=True), key=lambda pair: pair[0]):
            hosts = (domain for _, domain in run)
            while batch := list(islice(hosts, MOST_DOMAINS)):
                runs.append(batch)
        if len(runs) <= _MOST_SLICES:
            return runs
    return [domains]


def _prefixes(host: str) -> list[str]:
    """The prefixes of a host name that end with a dash, shortest first."""
    return [host[: at + 1] for at, letter in enumerate(host[:-1]) if letter == "-"]


def _longest(prefixes: Sequence[str], shared: Mapping[str, int]) -> str:
    """The longest of these prefixes that at least two hosts share."""
    return next((prefix for prefix in reversed(prefixes) if shared[prefix] > 1), "")
