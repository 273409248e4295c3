"""A small cluster in which every page has something in every part, and the paths of all pages by their route."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

from werkzeug.serving import make_server

from analysis.what_if.outcome import GainRow, LossRow, RiskRow
from cluster.resource import DEPLOYMENTS, NAMESPACES, PODS
from dashboard.app import create_app
from dashboard.login.authenticators import ByToken
from dashboard.login.sessions import Sessions
from dashboard.pages.namespace import LOCAL_QUEUES
from dashboard.pages.workload import EVENTS, WORKLOADS
from dashboard.settings import DashboardSettings
from dashboard.what_if.links import ChangeLinks
from dashboard.what_if.manifests import KINDS
from policies.model.findings import Severity
from tests.builders import cluster_queue, flavor, group
from tests.dashboard.people import COOKIE, Cluster, Telling
from tests.dashboard.trees.entries import kueue, tree
from tests.dashboard.what_if.answers import answer, finding

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_KEY = b"of the links"
EDIT = "quota=ClusterQueue&name=a&flavor=spot&resource=cpu&field=nominalQuota&amount=16"
PAGES: dict[str, tuple[str, ...]] = {
    "home": ("/",),
    "show_trees": (
        "/trees/kueue",
        "/trees/kueue?q=a&sort=share",
        "/trees/kueue?q=none",
        "/trees/volcano",
        "/trees/none",
    ),
    "show_node": ("/queues/kueue/ClusterQueue/a", "/queues/kueue/Cohort/org", "/queues/kueue/ClusterQueue/none"),
    "choose_namespace": ("/namespaces/",),
    "show_namespace": ("/namespaces/team", "/namespaces/empty"),
    "my_workloads": ("/workloads/", "/workloads/?q=none", "/workloads/?state=deactivated"),
    "show_workload": ("/workloads/team/late", "/workloads/team/runs", "/workloads/team/done"),
    "show_clusters": ("/clusters",),
    "show_topologies": ("/topologies",),
    "show_domains": ("/topologies/gpu",),
    "show_findings": ("/findings",),
    "show_what_if": (
        "/what-if",
        "/what-if?kind=ClusterQueue&name=a&flavor=spot&resource=cpu&field=nominalQuota&amount=16",
        f"/what-if?change={ChangeLinks(lambda: _KEY).seal([EDIT])}",
        "/what-if?change=none",
    ),
    "sign_in": ("/sign-in",),
    "start": ("/start",),
}
"""What each route of a page shows: what there is, nothing found, and what is refused or not there."""
PATHS = [path for paths in PAGES.values() for path in paths]
FILES = {"static", "tree_picture", "history_picture"}
"""Routes that are not pages."""
STATUS = {
    "/trees/volcano": 404,
    "/trees/none": 404,
    "/queues/kueue/ClusterQueue/none": 404,
    "/start": 401,
    "/what-if?change=none": 400,
}
"""Where it is not 200."""

_AT = "2026-11-27T10:00:00Z"
_JOB = {"kind": "Job", "namespace": "team", "name": "late", "workload": "late"}
_LACK = {
    "podSet": "main",
    "flavor": "spot",
    "resource": "cpu",
    "wanted": "16",
    "free": "8",
    "ever": True,
    "obstacle": {"kind": "Cohort", "name": "org", "limit": "nominalQuota", "lacking": "8"},
    "raise": [{"kind": "ClusterQueue", "name": "a", "limit": "nominalQuota", "from": "8", "to": "16"}],
    "kept": [],
    "holders": [{"clusterQueue": "b", "used": "16", "borrowed": "8"}],
    "moreHolders": {"count": 2, "used": "3", "borrowed": "1"},
}
_EXPLANATIONS: dict[str, dict[str, Any]] = {
    "late": {
        "state": "waiting",
        "job": _JOB,
        "sentence": "Waiting in ClusterQueue a (LocalQueue team/main): needs 8 more cpu of flavor spot",
        "reason": "Pending",
        "message": "insufficient unused quota",
        "clusterQueue": "a",
        "position": 2,
        "setAside": True,
        "lacks": [_LACK],
        "remedy": {"clusterQueue": "a", "flavor": "spot", "resource": "cpu", "from": "8", "to": "16", "more": "8"},
        "others": ["couldn't assign flavors to pod set main"],
        "leaving": [],
        "ahead": {"workloads": [{**_JOB, "name": "first", "workload": "first"}], "others": 3},
    },
    "runs": {
        "state": "running",
        "job": _JOB,
        "clusterQueue": "a",
        "admitted": True,
        "waitsForChecks": [],
        "podSets": [
            {
                "name": "main",
                "count": 2,
                "asked": 2,
                "flavors": {"cpu": "spot"},
                "resourceUsage": {"cpu": "2"},
                "topology": {"level": "rack", "domains": [{"name": "r1", "values": ["r1"], "pods": 2}]},
            }
        ],
        "placement": {
            "cluster": "west",
            "check": "multikueue",
            "state": "Ready",
            "message": "admitted",
            "nominated": ["west"],
            "refused": [{"cluster": "east", "reason": "Forbidden", "message": "no such queue"}],
        },
    },
    "done": {"state": "finished", "job": _JOB},
}


def small_cluster() -> Cluster:
    found = Cluster()
    found.answers |= {
        **_trees(),
        **_work(),
        "/v1/clusters": {"items": [_worker(each) for each in ("connected", "connecting", "lost", "misconfigured")]},
        "/v1/topologies": {"items": [_summary("gpu", 8, 0.6), _summary("tight", 2, 1.0), _summary("bare", 0)]},
        "/v1/topologies/gpu/domains": {
            **_TOPOLOGY,
            "within": [],
            "level": "rack",
            "items": [_domain("r1"), _domain("r2")],
        },
        "/v1/findings": {
            "judged": _AT,
            "items": [_finding("error"), _finding("warning")],
            "roots": [{"root": {"kind": "Cohort", "name": "org"}, "errors": 1, "warnings": 1}],
        },
        DEPLOYMENTS.collection(None): {"items": [_deployed("quotree-webhook"), _deployed("quotree-reconciler")]},
    }
    found.what_if = Telling(
        answer(
            findings=[finding(Severity.WARNING, "it lends more than it has"), finding(Severity.ERROR, "too much")],
            losses=[LossRow("Job team/low", "a", "preempted", "Preempted to make room", "Job team/high in b")],
            gains=[GainRow("Job team/late", "a")],
            risks=[RiskRow("ClusterQueue b", "spot/cpu", "9 in use, 8 its own", ("Job team/x", "2 more"))],
            left_out=["limitranges"],
            work=[{**_EXPLANATIONS["late"], "job": _JOB}],
        )
    )
    return found


def _trees() -> dict[str, Any]:
    beyond = kueue("over", "org", "4", "8", borrowed="4")
    beyond["quota"][0]["own"]["over"] = "2"
    nodes = [
        kueue("org", cohort=True, quota="2", below="32", used="30", pending=4),
        kueue("a", "org", "8", "11", borrowed="3", pending=2) | {"oldestPending": _AT},
        kueue("b", "org", "8", "2"),
        kueue("spare", "org", "8"),
        beyond,
        kueue("held", "org", "4", pending=2) | {"inactive": "Can't admit: is stopped.", "oldestPending": _AT},
        kueue("x", "y", cohort=True),
        kueue("y", "x", cohort=True),
    ]
    series = [{"flavor": "spot", "resource": "cpu", "changes": [{"at": _AT, "used": "0"}]}]
    history = {"stepSeconds": 300, "until": "2026-11-27T11:55:00Z", "series": series}
    stored = cluster_queue("a", "org", group("cpu", flavor("spot", cpu=8)))
    return {
        "/v1/tree": tree(*nodes),
        "/v1/clusterqueues/a/history": history,
        "/v1/cohorts/org/history": history,
        KINDS["ClusterQueue"].item("a", None): stored,
    }


def _work() -> dict[str, Any]:
    waits = {
        "metadata": {"namespace": "team", "name": "late", "creationTimestamp": _AT},
        "priority": 0,
        "localQueueName": "main",
        "positionInClusterQueue": 0,
        "reason": "Pending",
        "message": "8 more needed",
        "setAside": True,
    }
    pods = [
        {"metadata": {"name": "late-x", "ownerReferences": [{"uid": "u"}]}, "spec": {"nodeName": "n"}, "status": {}}
    ]
    held = [{"name": "spot", "resources": [{"name": "cpu", "total": "11"}]}]
    status = {"pendingWorkloads": 1, "reservingWorkloads": 2, "admittedWorkloads": 1, "flavorsReservation": held}
    queue = {"metadata": {"namespace": "team", "name": "main"}, "spec": {"clusterQueue": "a"}, "status": status}
    gone = [{"type": "Active", "status": "False", "reason": "ClusterQueueDoesNotExist", "message": "no"}]
    lost = {"metadata": {"namespace": "old", "name": "gone"}, "spec": {"clusterQueue": "none"}}
    lost["status"] = {"conditions": gone}
    event = {
        "involvedObject": {"kind": "Workload"},
        "reason": "Pending",
        "lastTimestamp": _AT,
        "message": "no",
        "count": 3,
    }
    return {
        "/v1/clusterqueues/a/pendingworkloads": {"items": [waits]},
        "/v1/clusterqueues/held/pendingworkloads": {"items": [waits]},
        "/v1/namespaces/team/localqueues/main/pendingworkloads": {"items": [waits]},
        "/v1/clusterqueues/a/workloads": {"workloads": 3, "items": [_holds("runs", "11"), _holds("little", "0")]},
        "/v1/namespaces/team/pendingpods": {"items": []},
        LOCAL_QUEUES.collection("team"): {"items": [queue]},
        LOCAL_QUEUES.collection(None): {"items": [queue, lost]},
        **{each.collection("empty"): {"items": []} for each in (LOCAL_QUEUES, WORKLOADS)},
        NAMESPACES.item("empty", None): {},
        NAMESPACES.collection(None): {"items": [{"metadata": {"name": name}} for name in ("team", "empty")]},
        WORKLOADS.collection("team"): {"items": [_stored(name) for name in _EXPLANATIONS]},
        WORKLOADS.collection(None): {"items": [_stored(name) for name in _EXPLANATIONS]},
        EVENTS.collection("team"): {"items": [event]},
        PODS.collection("team"): {"items": pods},
        **{WORKLOADS.item(name, "team"): _stored(name) for name in _EXPLANATIONS},
        **{f"/v1/workloads/team/{name}/explanation": why for name, why in _EXPLANATIONS.items()},
    }


def _holds(name: str, amount: str) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "team", "name": name, "ownerReferences": []},
        "localQueueName": "main",
        "priority": 0,
        "admitted": amount != "0",
        "since": _AT,
        "usage": [{"flavor": "spot", "resource": "cpu", "amount": amount}],
    }


def _stored(name: str) -> dict[str, Any]:
    state = {"late": ("QuotaReserved", "False"), "runs": ("Admitted", "True"), "done": ("Finished", "True")}[name]
    condition = {
        "type": state[0],
        "status": state[1],
        "reason": "Pending",
        "message": "8 more",
        "lastTransitionTime": _AT,
    }
    owner = {"kind": "Job", "name": name, "uid": "u"}
    return {
        "metadata": {"namespace": "team", "name": name, "creationTimestamp": _AT, "ownerReferences": [owner]},
        "spec": {"queueName": "main"},
        "status": {"conditions": [condition]},
    }


def _worker(connection: str) -> dict[str, Any]:
    free = [{"clusterQueue": "a", "flavor": "spot", "resource": "cpu", "free": "8"}]
    found = {"name": f"worker-{connection}", "connection": connection, "since": _AT, "lastSeen": _AT, "placed": 1}
    found |= {"workloads": ["team/runs"], "free": free, "credentialsEnd": _AT, "unread": ["jobs.batch"]}
    return found if connection == "connected" else found | {"error": "no route to host", "nextAttempt": _AT}


_TOPOLOGY = {"flavor": "gpu", "topology": "datacenter", "levels": ["rack", "kubernetes.io/hostname"]}


def _summary(flavor: str, nodes: int, *used: float) -> dict[str, Any]:
    amounts = {"capacity": "64", "outside": "8", "held": "32", "free": "24"}
    names = ("example.com/gpu", "cpu")
    resources = [
        {"resource": name, "used": share / at, **amounts} for share in used for at, name in enumerate(names, 1)
    ]
    return {**_TOPOLOGY, "flavor": flavor, "nodes": nodes, "resources": resources}


def _domain(name: str) -> dict[str, Any]:
    amounts = {"resource": "example.com/gpu", "capacity": "8", "outside": "1", "held": "4", "free": "3", "used": 0.6}
    placed = {"workload": "team/runs", "clusterQueue": "a", "pods": 2}
    return {"values": [name], "nodes": 4, "resources": [amounts], "placed": 3, "workloads": [placed]}


def _finding(severity: str) -> dict[str, Any]:
    about = {"kind": "ClusterQueue", "namespace": "", "name": "a"}
    root = {"kind": "Cohort", "name": "org"}
    said = {"message": "children get more than it has", "fix": "Lower one of them.", "rule": "a-rule"}
    return {"severity": severity, "object": about, "root": root, **said}


def _deployed(name: str) -> dict[str, Any]:
    meta = {"namespace": "quotree-system", "name": name, "labels": {"app.kubernetes.io/name": "quotree"}}
    pod = {"spec": {"containers": [{"image": "quotree:v0.1.0"}]}}
    return {"metadata": meta, "spec": {"replicas": 2, "template": pod}, "status": {"readyReplicas": 1}}


@contextmanager
def served(
    cluster: Cluster, middleware: Callable[[WSGIApplication], WSGIApplication] = lambda app: app
) -> Iterator[str]:
    """The address of a dashboard of this cluster, on loopback, that no open page asks again."""
    sessions = Sessions()
    settings = DashboardSettings(
        ByToken(sessions, COOKIE), COOKIE, sessions=sessions, refresh_seconds=0, link_key=lambda: _KEY
    )
    server = make_server("127.0.0.1", 0, middleware(create_app(settings, cluster)), threaded=True)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
