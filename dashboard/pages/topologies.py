"""The topologies of flavors: the domains of one level, with their room and the workloads there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dashboard.pages.formatting import offset_of, path_part
from dashboard.reading.cache import CachedReader

PAGE = 100
"""Domains at once."""
_WIDTH = 200
"""Units of a bar."""
_ALWAYS = ("ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi", "pods")
"""Resources that every Node has and no work asks for; they are not what a flavor is looked at for."""


def page(reader: CachedReader) -> dict[str, Any]:
    """The flavors with a topology. Raises ClusterError."""
    return {"topologies": [{**each, "url": url(each["flavor"])} for each in reader.ask("/v1/topologies")["items"]]}


def domains_page(reader: CachedReader, flavor: str, query: Mapping[str, str]) -> dict[str, Any]:
    """The domains below the one that the query names, those with the least room first. Raises ClusterError."""
    within = [part for part in query.get("within", "").split("/") if part][:16]
    params = {"within": "/".join(within)} if within else {}
    found = reader.ask(f"/v1/topologies/{path_part(flavor)}/domains", params)
    resources = _resources(found["items"])
    resource = query.get("resource", "")
    resource = resource if resource in resources else _scarcest(found["items"], resources)
    inner = len(within) + 1 < len(found["levels"])
    rows = sorted((_row(flavor, each, resource, inner) for each in found["items"]), key=_by_use)
    offset = offset_of(query)
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
        "width": _WIDTH,
        "rows": rows[offset : offset + PAGE],
        "first": offset + 1,
        "last": min(len(rows), offset + PAGE),
        "count": len(rows),
        "before": url(flavor, within, resource, max(0, offset - PAGE)) if offset else "",
        "after": url(flavor, within, resource, offset + PAGE) if offset + PAGE < len(rows) else "",
    }


def url(flavor: str, within: Sequence[str] = (), resource: str = "", offset: int = 0) -> str:
    parts = {"within": "/".join(within), "resource": resource, "offset": offset or ""}
    query = urlencode({name: value for name, value in parts.items() if value})
    return f"/topologies/{path_part(flavor)}" + (f"?{query}" if query else "")


def _resources(domains: Iterable[Mapping[str, Any]]) -> list[str]:
    """Devices first, since these are scarce."""
    names = {each["resource"] for domain in domains for each in domain["resources"]} - {*_ALWAYS}
    return sorted(names, key=lambda name: ("/" not in name, name))


def _scarcest(domains: Iterable[Mapping[str, Any]], resources: Sequence[str]) -> str:
    """The resource of which work holds the largest share somewhere; the first of several."""
    used = dict.fromkeys(resources, 0.0)
    for each in (each for domain in domains for each in domain["resources"]):
        if each["resource"] in used:
            used[each["resource"]] = max(used[each["resource"]], each["used"])
    return max(resources, key=lambda name: used[name], default="")


def _row(flavor: str, domain: Mapping[str, Any], resource: str, inner: bool) -> dict[str, Any]:
    amounts = next((each for each in domain["resources"] if each["resource"] == resource), None)
    used = min(1.0, max(0.0, amounts["used"])) if amounts else 0.0
    return {
        **domain,
        "name": domain["values"][-1],
        "url": url(flavor, domain["values"], resource) if inner else "",
        "amounts": amounts,
        "share": f"{amounts['used']:.0%}" if amounts else "–",
        "bar": round(used * _WIDTH),
        "more": domain["placed"] - len(domain["workloads"]),
    }


def _by_use(row: Mapping[str, Any]) -> tuple[float, list[str]]:
    return -(row["amounts"]["used"] if row["amounts"] else 0.0), row["values"]
