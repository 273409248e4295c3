"""The routes of /v1, one for each path. The caller's access is checked before any data is read.

- Pending lists need the access that Kueue's visibility API needs.
- The workloads with quota in a ClusterQueue need the right to list Workloads in all namespaces.
- An explanation needs the right to get the Workload.
- Trees and the history of their nodes need the right to list ClusterQueues and Cohorts.
- Pods at the gate need the right to list Pods there, because an annotation of each Pod has the same answer.
- YuniKorn's queues sum up all Pods, so they need the right to list all Pods and Namespaces.
- Volcano's queues need the right to list Queues.
- Domains of a topology need the right to list Nodes.
- Any caller may ask what it has access to.

A caller without access does not even learn whether the object exists. To add a route, add a method to `ReconcilerApi`
and an entry to `ROUTES`.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from cluster.access import ExpiringCache, Reviews
from cluster.api.callers import Callers, Impersonated
from cluster.api.document import ApiDocument
from cluster.api.refusal import HttpRefusal
from cluster.errors import ClusterError
from cluster.reviews import Access, Caller
from policies.dialects.kueue_kinds import GROUP
from reconciler.api import gates, volcano_tree
from reconciler.api.aggregated import discovery, path_of_v1
from reconciler.api.clusters import clusters
from reconciler.api.history import UsageHistory
from reconciler.api.holders import held_quota, holders_json
from reconciler.api.job_states import job_states
from reconciler.api.past_usage import PastUsage
from reconciler.api.pending import MOST, PendingRow, local_rows, named_rows, rows, summary
from reconciler.api.pending_pods import (
    PendingPod,
    of_namespace,
    of_volcanos_queue,
    of_yunikorns_queue,
    pending_json,
    pending_pods,
)
from reconciler.api.placement import explained
from reconciler.api.self_access import KEPT as NAMESPACES_KEPT
from reconciler.api.self_access import own_namespaces, self_access_json
from reconciler.api.topologies import domains_json, topologies_json
from reconciler.api.tree import TreeDocuments, namespace_tree, nodes_json
from reconciler.controllers.volcano.kinds import QUEUES
from reconciler.core.core import Core
from reconciler.multikueue.cluster_list import clusters_json
from scheduling.visibility.as_json import AccessScope
from scheduling.world.nodes import NodeState, node_names, nodes
from scheduling.world.world import World

log = logging.getLogger(__name__)
N = TypeVar("N")
T = TypeVar("T")

VISIBILITY = "visibility.kueue.x-k8s.io"
DEFAULT_LIMIT = 1000
_MOST_OFFSET = 10**9
MOST_NAMED = 100
"""The most workloads that one request may name."""
_MOST_FIELDS = 20
"""The most parameters of a query."""
_PIECE = 1000
"""The most entries or nodes that are read in one step. The world may change between two steps."""
_FEW = 200
"""The most Pods and workloads whose reasons are computed in one step. That takes longer than to read an entry."""
_PATIENCE = 5.0
"""The most seconds that a request waits for other requests."""
_TREE_KEPT = 2.0
"""Seconds for which all callers get the same copy of trees, topologies, or the order of Pods at a gate."""
_MOST_PLACES = 8
"""The most namespaces and queues whose order of Pods is kept."""
_PODS = Access("list", "", "pods")
_NAMESPACES = Access("list", "", "namespaces")
OF_YUNIKORN = (_PODS, _NAMESPACES)
"""The access that is needed to see the usage of YuniKorn's queues."""
OF_VOLCANO_GATES = (_PODS,)
"""The access that is needed to see the Pods that wait for Volcano's queues, and the usage of these queues."""
_NODES = Access("list", "", "nodes")
"""The access that is needed to see the domains of topologies and their usage."""
OF_VOLCANO = Access("list", QUEUES.group, QUEUES.plural)
_TREES = (Access("list", GROUP, "clusterqueues"), Access("list", GROUP, "cohorts"))
"""The access that is needed to see the quota, the usage and the borrowing of each node."""
_WORKERS = Access("list", GROUP, "multikueueclusters")
_DEMANDED = {
    "trees": _TREES,
    "volcano": (OF_VOLCANO,),
    "yunikorn": OF_YUNIKORN,
    "clusters": (_WORKERS,),
    "topologies": (_NODES,),
}
"""The access that is needed for responses about the whole cluster, by the name of the response."""
_MOST_CALLERS = 1024
"""The most callers whose namespaces are kept."""


class PostedRead(Protocol):
    """The type of `Reconciler.ask`."""

    def __call__(self, question: Callable[[Core], T], timeout: float = ...) -> T: ...


class ReconcilerApi:
    """Answers GET requests. Many threads may call it at once.

    `ask`: reads the core in the loop's thread.
    `past`: has the history of nodes. None: only the history in the memory of this process is used.
    """

    def __init__(self, ask: PostedRead, reviews: Reviews, past: PastUsage | None = None) -> None:
        self._ask = ask
        self._callers = Callers(reviews)
        self._documents = TreeDocuments()
        self._trees: ExpiringCache[ApiDocument] = ExpiringCache(_TREE_KEPT, 4)
        self._places: ExpiringCache[list[PendingPod]] = ExpiringCache(_TREE_KEPT, _MOST_PLACES)
        self._namespaces: ExpiringCache[tuple[Sequence[str], bool]] = ExpiringCache(NAMESPACES_KEPT, _MOST_CALLERS)
        self._turn = threading.Lock()
        self._history = UsageHistory()
        self._past = past

    def note_usage(self, now: float) -> None:
        """Take a sample for the history, if one is due. One thread calls this often. `now`: seconds since 1970."""
        if self._history.due(now):
            try:
                self._history.record(self._all_nodes(), now)
            except (HttpRefusal, TimeoutError) as error:
                log.debug("usage is noted later: %s", error)

    def answer(self, target: str, authorization: str | None, wanted: Impersonated | None = None) -> dict[str, Any]:
        """The JSON for a path with a query. `wanted`: the user that the caller impersonates. Raises HttpRefusal."""
        return self._routed(target, lambda: self._callers.who(authorization, wanted))

    def answer_to(self, target: str, caller: Caller) -> dict[str, Any]:
        """Answer a request at a path of the aggregated API. The API server has authenticated the caller."""
        path, separator, query = target.partition("?")
        if (found := discovery(path)) is not None:
            return found
        if (own := path_of_v1(path)) is None:
            raise HttpRefusal(404, f"{path} does not exist")
        return self._routed(f"{own}{separator}{query}", lambda: caller)

    def _routed(self, target: str, who: Callable[[], Caller]) -> dict[str, Any]:
        try:
            url = urlsplit(target)
        except ValueError as error:
            raise HttpRefusal(400, f"the path is not valid: {error}") from error
        for pattern, view in ROUTES:
            if found := re.fullmatch(pattern, url.path):
                names = [unquote(name) for name in found.groups()]
                return self._respond(view, who, names, url.query)
        raise HttpRefusal(404, f"{url.path} does not exist")

    def _respond(self, view: View, who: Callable[[], Caller], names: list[str], query: str) -> dict[str, Any]:
        try:
            caller = who()
            with self._callers.place(caller):
                return view(self, caller, *names, query)
        except ClusterError as error:
            log.warning("a caller could not be checked: %s", error)
            raise HttpRefusal(503, "the API server could not be asked who you are and what you may do") from error
        except TimeoutError as error:
            raise HttpRefusal(503, "the reconciler is too busy to answer; try again") from error

    def _read(self, question: Callable[[World], T], missing: str = "") -> T:
        """Read from the world in the loop's thread. `missing`: the message if a KeyError is raised."""
        return self._read_loop(lambda core: question(core.state.world), missing)

    def _read_loop(self, question: Callable[[Core], T], missing: str = "") -> T:
        def complete(core: Core) -> T:
            if not core.state.complete:
                raise HttpRefusal(503, "the reconciler does not know all objects yet; try again")
            return question(core)

        # One request at a time, so that the loop can do its own work between two requests.
        if not self._turn.acquire(timeout=_PATIENCE):
            raise TimeoutError
        try:
            return self._ask(complete)
        except KeyError as error:
            raise HttpRefusal(404, missing) from error
        except gates.NoGates as error:
            raise HttpRefusal(404, str(error)) from error
        except volcano_tree.NoQueues as error:
            raise HttpRefusal(404, "this process does not manage Volcano's queues") from error
        finally:
            self._turn.release()

    def _in_pieces(self, keys: Sequence[N], read: Callable[[Core, Sequence[N]], Sequence[T]], size: int) -> list[T]:
        """Read these in steps of at most `size` each."""

        def piece(at: int) -> Sequence[T]:
            return self._read_loop(lambda core: read(core, keys[at : at + size]))

        return [each for at in range(0, len(keys), size) for each in piece(at)]

    # --- views

    def self_access(self, caller: Caller, _query: str) -> dict[str, Any]:
        """The caller's access. Every user may ask. It has only namespaces in which the caller may list Workloads."""
        may = partial(self._callers.may, caller)
        found = self_access_json(caller, _DEMANDED, may)
        if found["allNamespaces"]:
            return {**found, "namespaces": [], "allTried": True}
        names, complete = self._namespaces.get(caller, lambda: own_namespaces(caller, self._read(_namespaces), may))
        return {**found, "namespaces": names, "allTried": complete}

    def explanation(self, caller: Caller, namespace: str, name: str, _query: str) -> dict[str, Any]:
        self._callers.demand(caller, Access("get", GROUP, "workloads", namespace=namespace, name=name))
        everywhere = self._callers.may(caller, Access("get", GROUP, "workloads"))
        sight = AccessScope("" if everywhere else namespace, all(self._callers.may(caller, each) for each in _TREES))
        key = f"{namespace}/{name}"
        return self._read_loop(lambda core: explained(core, key, time.time_ns(), sight), f"there is no Workload {key}")

    def job_states(self, caller: Caller, namespace: str, name: str, _query: str) -> dict[str, Any]:
        """Needs the right to list Workloads in the namespace, because Workloads name their jobs."""
        self._callers.demand(caller, Access("list", GROUP, "workloads", namespace=namespace))
        key = f"{namespace}/{name}"
        return self._read_loop(lambda core: job_states(core, key), f"no job {key} is known that names a queue")

    def pending_of_queue(self, caller: Caller, name: str, query: str) -> dict[str, Any]:
        self._callers.demand(caller, Access("get", VISIBILITY, "clusterqueues", "pendingworkloads", name=name))
        return self._pending(
            query,
            lambda world, offset, limit: rows(world, name, offset, limit, time.time_ns()),
            lambda world: len(world.queues.pending[name]),
            f"there is no ClusterQueue {name}",
        )

    def holders_of_queue(self, caller: Caller, name: str, query: str) -> dict[str, Any]:
        """The reservations are sorted here, in another thread than the loop's, because there may be thousands."""
        self._callers.demand(caller, Access("list", GROUP, "workloads"))
        offset, limit = _page(query)
        held = self._read(lambda world: held_quota(world, name), f"there is no ClusterQueue {name}")
        return holders_json(name, held, offset, limit)

    def pending_of_local_queue(self, caller: Caller, namespace: str, name: str, query: str) -> dict[str, Any]:
        self._callers.demand(caller, Access("get", VISIBILITY, "localqueues", "pendingworkloads", namespace, name))
        return self._pending(
            query,
            lambda world, offset, limit: local_rows(world, f"{namespace}/{name}", offset, limit, time.time_ns()),
            lambda world: sum(1 for _ in world.queues.waiting_at(f"{namespace}/{name}")),
            f"there is no LocalQueue {namespace}/{name}",
        )

    def pending_named(self, caller: Caller, query: str) -> dict[str, Any]:
        """The named workloads, without those that do not wait or that the caller may not get."""
        names = (_value(query, "names") or "").split(",")
        if len(names) > MOST_NAMED:
            raise HttpRefusal(400, f"names has {len(names)} workloads; it may have {MOST_NAMED}")
        everywhere = self._callers.may(caller, Access("get", GROUP, "workloads"))
        spaces = {name.partition("/")[0] for name in names if not everywhere}
        read = {each for each in spaces if self._callers.may(caller, Access("get", GROUP, "workloads", namespace=each))}
        mine = [name for name in names if everywhere or name.partition("/")[0] in read]
        return summary(self._read(lambda world: named_rows(world, mine, time.time_ns())))

    def _pending(
        self,
        query: str,
        read: Callable[[World, int, int], list[PendingRow]],
        count: Callable[[World], int],
        missing: str,
    ) -> dict[str, Any]:
        offset, limit = _page(query)
        found: dict[str, PendingRow] = {}
        at, end = offset, offset + limit
        while True:
            size = min(_FEW, end - at)
            piece = self._read(lambda world, at=at, size=size: read(world, at, size), missing)  # type: ignore[misc]
            found.update((row.workload.key, row) for row in piece)
            at += size
            if len(piece) < size:
                return summary(found.values())
            if at >= end:
                return summary(found.values(), max(0, self._read(count, missing) - end))

    def clusters(self, caller: Caller, _query: str) -> dict[str, Any]:
        """Workloads are listed for callers who may list them in all namespaces, otherwise only counted."""
        self._callers.demand(caller, _WORKERS)
        named = self._callers.may(caller, Access("list", GROUP, "workloads"))
        return clusters_json(self._read_loop(clusters), named=named)

    def topologies(self, caller: Caller, _query: str) -> dict[str, Any]:
        """The sums include all Nodes, so all callers get the same copy for a while, as for trees."""
        self._callers.demand(caller, _NODES)
        return self._trees.get("topologies", lambda: ApiDocument(self._read(topologies_json)))

    def domains(self, caller: Caller, flavor: str, query: str) -> dict[str, Any]:
        """Workloads are listed for callers who may list them in all namespaces, otherwise only counted."""
        self._callers.demand(caller, _NODES)
        named = self._callers.may(caller, Access("list", GROUP, "workloads"))
        within = tuple(filter(None, (_value(query, "within") or "").split("/")))
        missing = f"ResourceFlavor {flavor} has no Topology, or topology-aware scheduling is off"
        if within:
            missing = f"ResourceFlavor {flavor} has no domains below {'/'.join(within)}"
        return self._read(partial(domains_json, flavor=flavor, within=within, named=named), missing)

    def pods_of_namespace(self, caller: Caller, namespace: str, query: str) -> dict[str, Any]:
        self._callers.demand(caller, replace(_PODS, namespace=namespace))
        return self._pods(query, f"Namespace {namespace}", lambda core: of_namespace(core, namespace))

    def pods_of_yunikorns_queue(self, caller: Caller, path: str, query: str) -> dict[str, Any]:
        self._callers.demand(caller, _PODS)
        return self._pods(query, f"queue {path}", lambda core: of_yunikorns_queue(core, path))

    def pods_of_volcanos_queue(self, caller: Caller, name: str, query: str) -> dict[str, Any]:
        self._callers.demand(caller, *OF_VOLCANO_GATES)
        return self._pods(query, f"Queue {name}", lambda core: of_volcanos_queue(core, name))

    def _pods(self, query: str, where: str, read: Callable[[Core], list[PendingPod]]) -> dict[str, Any]:
        """The Pods are sorted and kept in this thread, so that frequent requests do not delay the loop. Only the
        reasons are computed in the loop's thread for each request.
        """
        offset, limit = _page(query)
        every = self._places.get(where, lambda: sorted(self._read_loop(read, f"there is no {where}")))
        return pending_json(self._in_pieces(every[offset : offset + limit], pending_pods, _FEW))

    def yunikorn_tree(self, caller: Caller, _query: str) -> dict[str, Any]:
        self._callers.demand(caller, *OF_YUNIKORN)
        return self._trees.get("yunikorn", self._yunikorn_document)

    def _yunikorn_document(self) -> ApiDocument:
        queues = self._in_pieces(self._read_loop(gates.queue_counts), gates.queue_nodes, _PIECE)
        spaces = self._in_pieces(self._read_loop(gates.namespace_names), gates.namespace_nodes, _PIECE)
        return ApiDocument(nodes_json([*queues, *spaces]))

    def volcano_tree(self, caller: Caller, _query: str) -> dict[str, Any]:
        self._callers.demand(caller, OF_VOLCANO)
        return self._trees.get("volcano", self._volcano_document)

    def _volcano_document(self) -> ApiDocument:
        names = self._read_loop(volcano_tree.queue_names)
        return ApiDocument(nodes_json(self._in_pieces(names, volcano_tree.queue_nodes, _PIECE)))

    def tree(self, caller: Caller, _query: str) -> dict[str, Any]:
        self._callers.demand(caller, *_TREES)
        return self._trees.get("tree", lambda: self._documents.document(self._all_nodes()))

    def tree_of_namespace(self, caller: Caller, namespace: str, _query: str) -> dict[str, Any]:
        """The ClusterQueues of the namespace's LocalQueues, and the names of the Cohorts above them.

        A tenant sees only what `explanation` shows of a ClusterQueue. It does not see the quota of Cohorts, nor the
        siblings of the ClusterQueue.
        """
        self._callers.demand(caller, Access("list", GROUP, "localqueues", namespace=namespace))
        return self._read(partial(namespace_tree, namespace=namespace))

    def history(self, caller: Caller, plural: str, name: str, _query: str) -> dict[str, Any]:
        self._callers.demand(caller, *_TREES)
        is_queue = plural == "clusterqueues"
        if self._past is not None and (found := self._past.of(is_queue, name)) is not None:
            return found
        try:
            return self._history.of(is_queue, name)
        except KeyError:
            raise HttpRefusal(
                404, f"no usage of {plural} {name} is recorded yet; it is recorded every 5 minutes"
            ) from None

    def _all_nodes(self) -> list[NodeState]:
        return self._in_pieces(self._read(node_names), lambda core, names: nodes(core.state.world, names), _PIECE)


def _namespaces(world: World) -> frozenset[str]:
    return frozenset(world.queues.namespaces_with_queues())


View: TypeAlias = Callable[..., dict[str, Any]]
"""A method of `ReconcilerApi`. The arguments are the caller, the names in the path, and the query."""
_NAME = r"([^/]+)"
ROUTES: tuple[tuple[str, View], ...] = (
    (rf"/v1/workloads/{_NAME}/{_NAME}/explanation", ReconcilerApi.explanation),
    (rf"/v1/namespaces/{_NAME}/workloads/{_NAME}/explanation", ReconcilerApi.explanation),
    (rf"/v1/jobs/{_NAME}/{_NAME}", ReconcilerApi.job_states),
    (rf"/v1/namespaces/{_NAME}/jobs/{_NAME}/state", ReconcilerApi.job_states),
    (rf"/v1/clusterqueues/{_NAME}/pendingworkloads", ReconcilerApi.pending_of_queue),
    (rf"/v1/clusterqueues/{_NAME}/workloads", ReconcilerApi.holders_of_queue),
    (rf"/v1/namespaces/{_NAME}/localqueues/{_NAME}/pendingworkloads", ReconcilerApi.pending_of_local_queue),
    (r"/v1/pendingworkloads", ReconcilerApi.pending_named),
    (rf"/v1/namespaces/{_NAME}/pendingpods", ReconcilerApi.pods_of_namespace),
    (rf"/v1/yunikorn/queues/{_NAME}/pendingpods", ReconcilerApi.pods_of_yunikorns_queue),
    (rf"/v1/volcano/queues/{_NAME}/pendingpods", ReconcilerApi.pods_of_volcanos_queue),
    (r"/v1/trees?", ReconcilerApi.tree),
    (rf"/v1/(clusterqueues|cohorts)/{_NAME}/history", ReconcilerApi.history),
    (rf"/v1/namespaces/{_NAME}/namespacetrees", ReconcilerApi.tree_of_namespace),
    (r"/v1/yunikorn/tree", ReconcilerApi.yunikorn_tree),
    (r"/v1/volcano/tree", ReconcilerApi.volcano_tree),
    (r"/v1/self", ReconcilerApi.self_access),
    (r"/v1/clusters", ReconcilerApi.clusters),
    (r"/v1/topologies", ReconcilerApi.topologies),
    (rf"/v1/topologies/{_NAME}/domains", ReconcilerApi.domains),
)


def _value(query: str, name: str) -> str | None:
    """The last value of a parameter in the query; None if it is missing."""
    try:
        values = parse_qs(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS).get(name)
    except ValueError as error:
        raise HttpRefusal(400, f"the query has too many parameters; it may have {_MOST_FIELDS}") from error
    return values[-1] if values else None


def _page(query: str) -> tuple[int, int]:
    """The offset and the limit of a list."""
    return _number(query, "offset", 0, _MOST_OFFSET), _number(query, "limit", DEFAULT_LIMIT, MOST)


def _number(query: str, name: str, default: int, most: int) -> int:
    text = _value(query, name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) <= most):
        raise HttpRefusal(400, f"{name} is {text!r}; it may be 0 to {most}")
    return int(text)
