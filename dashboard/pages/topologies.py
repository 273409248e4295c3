"""The topologies of flavors: the domains of one level, with their free capacity and their workloads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dashboard.pages.formatting import UsageBar, offset_of, page_start, path_part
from dashboard.pages.parts import Tile
from dashboard.reading.cache import CachedReader
from dashboard.trees.tree import nano_of
from policies.impact.quotas import amount_text

PAGE = 100
"""The maximum number of domains on one page."""
_NOT_SHOWN = ("ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi", "pods")
"""Resources of every Node that workloads rarely request. They are not shown."""

_STATES = ("inactive", "full", "used", "idle")
"""The states of a topology or a domain, the worst first. `inactive`: it has no Node."""

_EXAMPLE = """kubectl apply -f - <<END
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata:
  name: datacenter
spec:
  levels:
  - nodeLabel: example.com/rack
  - nodeLabel: kubernetes.io/hostname
END
kubectl patch resourceflavors NAME --type=merge -p '{"spec": {"topologyName": "datacenter"}}'
"""
"""The example that is shown if no flavor has a topology."""


def page(reader: CachedReader) -> dict[str, Any]:
    """The flavors with a topology: first those without Nodes, then the fullest. Raises ClusterError."""
    found = sorted(map(_topology, reader.ask("/v1/topologies")["items"]), key=_by_state)
    counts = Counter(each["state"] for each in found)
    return {
        "topologies": found,
        "example": _EXAMPLE,
        "tiles": [
            Tile(counts["inactive"], "without Nodes", state="bad" if counts["inactive"] else ""),
            Tile(counts["full"], "full", state="pending" if counts["full"] else ""),
            Tile(len(found), "flavor" if len(found) == 1 else "flavors"),
        ],
    }


def _topology(found: Mapping[str, Any]) -> dict[str, Any]:
    names = _resources([found])  # empty if the reconciler is older than this field
    named = {each["resource"]: each for each in found.get("resources") or ()}
    rows = [{**named[name], "share": f"{named[name]['used']:.0%}", "bar": _bar(named[name]["used"])} for name in names]
    scarce = named.get(_scarcest([found], names))
    return {
        **found,
        "url": url(found["flavor"]),
        "resources": rows,
        "state": _state(found["nodes"], scarce),
        "used": scarce["used"] if scarce else 0.0,
    }


def _state(nodes: int, amounts: Mapping[str, Any] | None) -> str:
    if not nodes:
        return "inactive"
    if amounts is None or not amounts["used"]:
        return "idle"
    return "full" if amounts["used"] >= 1 else "used"


def _by_state(found: Mapping[str, Any]) -> tuple[int, float, str]:
    return _STATES.index(found["state"]), -found["used"], found["flavor"]


def _bar(share: float) -> UsageBar:
    return UsageBar(round(100 * min(1.0, max(0.0, share)), 1), 0.0, 0.0, 100.0)


def domains_page(reader: CachedReader, flavor: str, query: Mapping[str, str]) -> dict[str, Any]:
    """The domains below the one that the query names, the fullest first. Raises ClusterError."""
    within = [value for value in query.get("within", "").split("/") if value][:16]
    params = {"within": "/".join(within)} if within else {}
    found = reader.ask(f"/v1/topologies/{path_part(flavor)}/domains", params)
    resources = _resources(found["items"])
    resource = query.get("resource", "")
    resource = resource if resource in resources else _scarcest(found["items"], resources)
    has_children = len(within) + 1 < len(found["levels"])
    rows = sorted((_row(flavor, each, resource, has_children) for each in found["items"]), key=_by_use)
    offset = page_start(offset_of(query), len(rows), PAGE)
    return {
        "flavor": flavor,
        "found": found,
        "level": found["level"],
        "path": [
            ("Topologies", "/topologies"),
            (flavor, url(flavor, (), resource)),
            *((value, url(flavor, within[: at + 1], resource)) for at, value in enumerate(within)),
        ],
        "within": "/".join(within),
        "resources": resources,
        "resource": resource,
        "tiles": _tiles(found["level"], rows, resource),
        "rows": rows[offset : offset + PAGE],
        "first": offset + 1,
        "last": min(len(rows), offset + PAGE),
        "count": len(rows),
        "before": url(flavor, within, resource, max(0, offset - PAGE)) if offset else "",
        "after": url(flavor, within, resource, offset + PAGE) if offset + PAGE < len(rows) else "",
    }


def _tiles(level: str, rows: Sequence[Mapping[str, Any]], resource: str) -> list[Tile]:
    """Sums over all domains of the level. A domain is full if none of the resource is free."""
    full = sum(row["state"] == "full" for row in rows)
    sums = {
        name: sum(nano_of(str(row["amounts"][name])) for row in rows if row["amounts"]) for name in ("capacity", "free")
    }
    used = 1 - sums["free"] / sums["capacity"] if sums["capacity"] else 0.0
    free = Tile(amount_text(resource, sums["free"]), f"{resource} free", bar=_bar(used), share=f"{used:.0%}")
    return [
        Tile(full, "full", state="pending" if full else ""),
        *([free] if resource else []),
        Tile(len(rows), level if len(rows) == 1 else f"{level}s"),
        Tile(sum(row["nodes"] for row in rows), "Nodes"),
    ]


def url(flavor: str, within: Sequence[str] = (), resource: str = "", offset: int = 0) -> str:
    options = {"within": "/".join(within), "resource": resource, "offset": offset or ""}
    query = urlencode({name: value for name, value in options.items() if value})
    return f"/topologies/{path_part(flavor)}" + (f"?{query}" if query else "")


def _resources(domains: Iterable[Mapping[str, Any]]) -> list[str]:
    """The resources of these domains. Devices come first, since they are scarce."""
    names = {each["resource"] for domain in domains for each in domain.get("resources") or ()} - {*_NOT_SHOWN}
    return sorted(names, key=lambda name: ("/" not in name, name))


def _scarcest(domains: Iterable[Mapping[str, Any]], resources: Sequence[str]) -> str:
    """The resource with the highest usage in any domain; the first one if several are equal."""
    used = dict.fromkeys(resources, 0.0)
    for each in (each for domain in domains for each in domain.get("resources") or ()):
        if each["resource"] in used:
            used[each["resource"]] = max(used[each["resource"]], each["used"])
    return max(resources, key=lambda name: used[name], default="")


def _row(flavor: str, domain: Mapping[str, Any], resource: str, has_children: bool) -> dict[str, Any]:
    amounts = next((each for each in domain["resources"] if each["resource"] == resource), None)
    return {
        **domain,
        "name": domain["values"][-1],
        "url": url(flavor, domain["values"], resource) if has_children else "",
        "amounts": amounts,
        "share": f"{amounts['used']:.0%}" if amounts else "–",
        "bar": _bar(amounts["used"] if amounts else 0.0),
        "state": _state(domain["nodes"], amounts),
        "more": domain["placed"] - len(domain["workloads"]),
    }


def _by_use(row: Mapping[str, Any]) -> tuple[float, list[str]]:
    return -(row["amounts"]["used"] if row["amounts"] else 0.0), row["values"]
