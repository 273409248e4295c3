"""The two lists for one user: their Workloads, and their namespaces with the LocalQueues.

A user who may list all namespaces gets everything in one request. Kubernetes cannot list the namespaces that a user may
read. For other users the pages try the namespace of their service account, the namespaces that were opened in this
browser, and those that /v1/self names. A namespace whose objects the user may not list is silently left out, so that
the cookie of the browser reveals nothing to its next user.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from cluster.errors import ClusterError, Forbidden, Unauthorized
from cluster.resource import NAMESPACES, Resource
from dashboard.pages.formatting import offset_of, page_start, scarce_text
from dashboard.pages.headline import pending_since
from dashboard.pages.local_queues import STATES, LocalQueueRow, QuotaHeld, example, held_by, local_queue, seen_tree
from dashboard.pages.namespace import LOCAL_QUEUES, held, pods_of, workload_state
from dashboard.pages.parts import Part, Tile, part, pending_tile
from dashboard.pages.workload import WORKLOADS
from dashboard.reading.backend import Manifest
from dashboard.reading.cache import CachedReader
from dashboard.reading.self_access import SelfAccess

MOST_KNOWN = 20
"""The maximum number of namespaces for a user who may not list all of them. Each needs two requests."""
_MOST, _ROWS = 2000, 100
"""The maximum numbers of objects to read, and of rows on one page."""
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_ACCOUNT = "system:serviceaccount:"
_ORDER = ("pending", "deactivated", "quota reserved", "admitted", "failed", "finished")
_USUAL = ("pending", "admitted", "finished")
"""The states that are always offered as filters, so that the filters do not move when a state becomes empty."""
_OF_STATE = {"admitted": "Admitted", "quota reserved": "QuotaReserved", "failed": "Finished", "finished": "Finished"}


class MyWorkload(NamedTuple):
    """A row of the list of Workloads.

    `cluster_queue`: the ClusterQueue of its admission, otherwise of its LocalQueue.
    `since`: when the state began.
    `requests`: the quota that it uses or waits for.
    `pods`: the number of Pods in its pod sets.
    `message`: why it waits.
    """

    namespace: str
    name: str
    job: str
    queue: str
    cluster_queue: str
    state: str
    since: str
    requests: str
    pods: int
    priority: int
    message: str


class MyNamespace(NamedTuple):
    """A row of the list of namespaces. `held`: its Workloads' usage of the quota of their ClusterQueues."""

    name: str
    queues: tuple[LocalQueueRow, ...]
    held: QuotaHeld | None = None

    @property
    def pending(self) -> int:
        return sum(each.pending for each in self.queues)

    @property
    def admitted(self) -> int:
        return sum(each.admitted for each in self.queues)

    @property
    def state(self) -> str:
        """The worst state of its LocalQueues; empty if it has none."""
        return min((each.state for each in self.queues), key=STATES.index, default="")


def known_of(cookie: str) -> list[str]:
    """The namespaces that were opened in this browser, the last one first."""
    return [each for each in cookie.split(".") if _LABEL.fullmatch(each)][:MOST_KNOWN]


def with_known(cookie: str, name: str) -> str:
    others = [each for each in known_of(cookie) if each != name]
    return ".".join([name, *others][:MOST_KNOWN]) if _LABEL.fullmatch(name) else cookie


def workloads_page(reader: CachedReader, may: SelfAccess, query: Mapping[str, str], known: list[str]) -> dict[str, Any]:
    """The variables of the template. Raises Unauthorized; the page shows any other error instead of the list.

    `known`: the namespaces that were opened in this browser.
    """
    text = query.get("q", "").strip().lower()[:200]
    found = part(lambda: _objects(reader, may, WORKLOADS, known))
    cluster_queues = _cluster_queues(part(lambda: _objects(reader, may, LOCAL_QUEUES, known)))
    every = [_workload(each, cluster_queues) for each in found.value.items] if found.value else []
    matching = [row for row in every if _matches(text, row)]
    chosen = query.get("state", "") if query.get("state") in _ORDER else ""
    rows = sorted((row for row in matching if chosen in ("", row.state)), key=_order)
    shown = _shown(rows, query)
    shown["rows"] = _with_causes(reader, shown["rows"])
    return {
        **shown,
        "title": "Workloads" if may.everywhere else "My workloads",
        "ranked": any(each.priority for each in shown["rows"]),
        "found": found,
        "state": chosen,
        "choices": _choices(matching, chosen, shown["q"]),
        "all": len(every),
        "most": _MOST,
    }


class StateChoice(NamedTuple):
    """A link to the Workloads in a state. `state`: empty for all states. `number`: how many match the search."""

    state: str
    number: int
    url: str


def _choices(rows: list[MyWorkload], chosen: str, q: str) -> list[StateChoice]:
    counts = Counter(row.state for row in rows)
    shown = [state for state in _ORDER if counts[state] or state in (*_USUAL, chosen)]
    return [StateChoice(each, counts[each] if each else len(rows), workloads_url(q, each)) for each in ("", *shown)]


def workloads_url(q: str, state: str) -> str:
    query = urlencode({name: value for name, value in (("q", q), ("state", state)) if value})
    return "/workloads/" + (f"?{query}" if query else "")


def namespaces_page(
    reader: CachedReader, may: SelfAccess, query: Mapping[str, str], known: list[str]
) -> dict[str, Any]:
    """The variables of the template. Raises Unauthorized; the page shows any other error instead of the list."""
    text = query.get("q", "").strip().lower()[:200]
    found = part(lambda: _objects(reader, may, LOCAL_QUEUES, known))
    every = _namespaces(found.value.items if found.value else (), _names(reader))
    rows = [
        row
        for row in every
        if text in row.name or any(text in it.name or text in it.cluster_queue for it in row.queues)
    ]
    shown = _shown(rows, query)
    tree = seen_tree(reader, may) if shown["rows"] else None
    shown["rows"] = [row._replace(held=held_by(row.queues, tree)) for row in shown["rows"]]
    return {**shown, "found": found, "all": len(every), "tiles": _tiles(every), "example": example()}


def _tiles(rows: list[MyNamespace]) -> list[Tile]:
    queues = [queue for row in rows for queue in row.queues]
    stopped = sum(bool(queue.why) for queue in queues)
    worst = "bad" if any(queue.state == "inactive" for queue in queues) else "stopped"
    without_queue = sum(not row.queues for row in rows)
    return [
        Tile(stopped, "stopped", state=worst if stopped else ""),
        pending_tile(sum(row.pending for row in rows), workloads_url("", "pending")),
        Tile(sum(row.admitted for row in rows), "admitted", workloads_url("", "admitted")),
        Tile(len(queues), "LocalQueue" if len(queues) == 1 else "LocalQueues"),
        *([Tile(without_queue, "without a LocalQueue")] if without_queue else []),
    ]


def _shown(rows: list[Any], query: Mapping[str, str]) -> dict[str, Any]:
    offset = page_start(offset_of(query), len(rows), _ROWS)
    return {
        "q": query.get("q", "")[:200],
        "rows": rows[offset : offset + _ROWS],
        "offset": offset,
        "number": len(rows),
        "step": _ROWS,
    }


def _with_causes(reader: CachedReader, rows: list[MyWorkload]) -> list[MyWorkload]:
    """The rows with the reasons from the reconciler, as on the Workload's page; unchanged if there is no answer."""
    names = ",".join(f"{row.namespace}/{row.name}" for row in rows if row.state == "pending")
    if not names:
        return rows
    found = part(lambda: list(reader.ask("/v1/pendingworkloads", {"names": names})["items"])).value or []
    pending = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in found}
    return [_waiting(row, pending.get((row.namespace, row.name))) for row in rows]


def _cluster_queues(queues: Part[OwnObjects]) -> dict[tuple[str, str], str]:
    named = map(local_queue, queues.value.items if queues.value else ())
    return {(each.namespace, each.name): each.cluster_queue for each in named}


def _waiting(row: MyWorkload, found: Manifest | None) -> MyWorkload:
    if found is None:
        return row
    return row._replace(requests=scarce_text(found.get("requests") or {}), message=found.get("cause") or row.message)


class OwnObjects(NamedTuple):
    """The objects of the namespaces that a user may read.

    `all_tried`: whether all namespaces of this user are known. `left_out`: how many of them are not listed.
    """

    items: list[Manifest]
    all_tried: bool = True
    left_out: int = 0


def _objects(reader: CachedReader, may: SelfAccess, resource: Resource, known: list[str]) -> OwnObjects:
    """The objects of all namespaces; if the user may not list all, of the namespaces from `tried`."""
    try:
        return OwnObjects(reader.listed(resource, None, _MOST))
    except Forbidden:
        names = tried(reader, may, known)
        parts = [
            part(lambda name=each: reader.listed(resource, name, _MOST))  # type: ignore[misc]
            for each in names[:MOST_KNOWN]
        ]
        if parts and all(each.error and not each.denied for each in parts):
            raise parts[0].error or ValueError from None
        items = [each for found in parts for each in found.value or ()]
        return OwnObjects(items, may.all_tried, len({*names[MOST_KNOWN:]} & {*may.namespaces}))


def tried(reader: CachedReader, may: SelfAccess, known: list[str]) -> list[str]:
    """The namespaces that the user may be able to read.

    These are the namespace of the service account, those in `known`, and those that /v1/self names.
    """
    user = may.user or part(lambda: reader.kept(("user",), reader.reader.user)).value or ""
    _, account, rest = user.partition(_ACCOUNT)
    own = [rest.partition(":")[0]] if account else []
    return [*dict.fromkeys([*own, *known, *may.namespaces])]


def _names(reader: CachedReader) -> list[str]:
    """All namespaces, if the user may list them, since a namespace without a LocalQueue also has a page."""
    try:
        return [str(each["metadata"]["name"]) for each in reader.listed(NAMESPACES, None, _MOST)]
    except Unauthorized:
        raise
    except ClusterError:
        return []


def _namespaces(queues: Iterable[Manifest], names: Iterable[str]) -> list[MyNamespace]:
    by_name: dict[str, list[LocalQueueRow]] = {name: [] for name in names}
    for each in map(local_queue, queues):
        by_name.setdefault(each.namespace, []).append(each)
    rows = [MyNamespace(name, tuple(mine)) for name, mine in by_name.items()]
    return sorted(rows, key=lambda row: (not row.queues, STATES.index(row.state or STATES[-1]), -row.pending, row.name))


def _workload(manifest: Manifest, cluster_queues: Mapping[tuple[str, str], str]) -> MyWorkload:
    meta, spec, status = (manifest.get(each) or {} for each in ("metadata", "spec", "status"))
    conditions = status.get("conditions") or ()
    state = workload_state(spec, conditions)
    at = {str(each.get("type")): each for each in conditions}
    began = at.get(_OF_STATE.get(state, ""), {}).get("lastTransitionTime")
    owners = meta.get("ownerReferences") or []
    namespace, queue = str(meta["namespace"]), str(spec.get("queueName") or "")
    return MyWorkload(
        namespace,
        str(meta["name"]),
        f"{owners[0].get('kind')} {owners[0].get('name')}" if len(owners) == 1 else "",
        queue,
        str((status.get("admission") or {}).get("clusterQueue") or cluster_queues.get((namespace, queue), "")),
        state,
        str(began or pending_since(manifest)),
        scarce_text(held(status)),
        pods_of(spec),
        spec.get("priority") or 0,
        str(at.get("QuotaReserved", {}).get("message") or "") if state == "pending" else "",
    )


def _matches(text: str, row: MyWorkload) -> bool:
    return (
        not text or text in f"{row.namespace}/{row.name} {row.job} {row.queue} {row.cluster_queue} {row.state}".lower()
    )


def _order(row: MyWorkload) -> tuple[int, str, str, str]:
    """The sort key: by state, pending first, and then by the time of the state, the oldest first."""
    return _ORDER.index(row.state), row.since, row.namespace, row.name
