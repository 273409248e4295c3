"""A topologyAssignment as the API stores it: slices of domains, with what their values have in common written once.

Every legal form is read. What is written is what Kueue writes. Source: Kueue v0.19, pkg/util/tas, apis/kueue/v1beta2.
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
"""What the API server stores of one assignment."""


# -- reading -----------------------------------------------------------------------------------------------------------


def read_topology_assignment(value: Mapping[str, Any]) -> TopologyAssignment:
    """The assignment as stored; without domains if its slices contradict themselves, which the schema lets pass."""
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
    """The assignment as Kueue stores it. by_prefix: hosts whose names begin alike may form a slice of their own.

    Without domains the key `slices` is missing, which the API server refuses.
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
    """The domains in runs of hosts with one prefix, by the longest prefixes that do not make too many slices."""
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
    """The beginnings of a host name that end with a dash, the shortest first."""
    return [host[: at + 1] for at, letter in enumerate(host[:-1]) if letter == "-"]


def _longest(prefixes: Sequence[str], shared: Mapping[str, int]) -> str:
    """The longest of these that at least two hosts have."""
    return next((prefix for prefix in reversed(prefixes) if shared[prefix] > 1), "")
