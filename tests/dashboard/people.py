"""People who look at a small cluster, each with what they may read, without any server."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flask.testing import FlaskClient
from jinja2.bccache import Bucket, BytecodeCache

from analysis.what_if.outcome import WhatIfOutcome
from analysis.what_if.state import ProposedChange
from cluster.errors import Forbidden, NotFound, Unauthorized
from cluster.resource import Resource
from dashboard.app import create_app
from dashboard.login.authenticators import Authenticator, ByToken
from dashboard.login.sessions import Sessions
from dashboard.reading.backend import NO_PARAMS, UserLogin, UserReader
from dashboard.reading.served import NamedServer
from dashboard.settings import DashboardSettings
from tests.dashboard.trees.entries import kueue, tree

COOKIE = "quotree-0"
_OF_TENANT = re.compile("/namespaces/team/|^/v1/workloads/team/|^/v1/self$")
ADMIN, TENANT = "Bearer admin", "Bearer tenant"
TREE = tree(
    kueue("org", cohort=True, quota="2", below="16", used="13"),
    kueue("a", "org", "8", "11", borrowed="3", pending=1),
    kueue("b", "org", "8", "2"),
)
ANSWERS: dict[str, Any] = {
    "/v1/tree": TREE,
    "/v1/clusterqueues/a/pendingworkloads": {
        "items": [
            {
                "metadata": {"namespace": "team", "name": "late"},
                "priority": 0,
                "localQueueName": "main",
                "positionInClusterQueue": 0,
                "reason": "Pending",
                "message": "insufficient unused quota for cpu in flavor spot, 3 more needed",
                "setAside": False,
            }
        ]
    },
    "/v1/clusters": {"items": []},
    "/v1/topologies": {"items": []},
}


def self_access(user: str, *namespaces: str, tenant: bool = True) -> dict[str, Any]:
    """What /v1/self says to a tenant with these namespaces, or to who may see everything."""
    reads = [] if tenant else ["trees", "volcano", "yunikorn", "clusters", "topologies"]
    return {"user": user, "reads": reads, "allNamespaces": not tenant, "namespaces": [*namespaces], "allTried": True}


class CompiledTemplates(BytecodeCache):
    """The templates of each browser's app, compiled once for all of them."""

    def __init__(self) -> None:
        self._found: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if found := self._found.get(bucket.key + bucket.checksum):
            bucket.bytecode_from_string(found)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._found[bucket.key + bucket.checksum] = bucket.bytecode_to_string()


TEMPLATES = CompiledTemplates()


class Answering:
    """Reads as one person: the admin may everything, the tenant what is below its namespace."""

    def __init__(self, backend: Cluster, login: UserLogin) -> None:
        self._backend, self._login = backend, login

    def ask(self, path: str, params: Mapping[str, str] = NO_PARAMS) -> dict[str, Any]:
        self._backend.asked.append(path)
        self._known()
        if path == "/v1/self" and path not in self._backend.answers:
            return self_access(self.user().removeprefix("Bearer "), tenant=self._login.authorization == TENANT)
        if self._login.authorization == TENANT and not _OF_TENANT.search(path):
            raise Forbidden(403, "Forbidden", "tenant may not list clusterqueues.kueue.x-k8s.io")
        if self._backend.down:
            raise self._backend.down
        if path not in self._backend.answers:
            raise NotFound(404, "NotFound", f"there is nothing at {path}")
        answer = self._backend.answers[path]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def findings(self, params: Mapping[str, str] = NO_PARAMS) -> dict[str, Any]:
        of_tenant = self._login.authorization == TENANT and params.get("namespace") == "team"
        found = {**self._backend.answers["/v1/findings"], "roots": []} if of_tenant else self.ask("/v1/findings")
        first = int(params.get("offset", 0))
        return {**found, "items": found["items"][first : first + int(params["limit"])]}

    def stored(self, resource: Resource, namespace: str | None, name: str) -> dict[str, Any]:
        return self.ask(resource.item(name, namespace))

    def listed(
        self, resource: Resource, namespace: str | None, most: int, of: str = "", labels: str = ""
    ) -> list[dict[str, Any]]:
        return list(self.ask(resource.collection(namespace))["items"])

    def user(self) -> str:
        self._known()
        return str(self._login.authorization)

    def behind(self) -> float:
        return 0.0

    def _known(self) -> None:
        if self._login.impersonated is None and self._login.authorization not in (ADMIN, TENANT):
            raise Unauthorized(401, "Unauthorized", "who?")


class Telling:
    """Says of every change what it is told to, and notes who asked what."""

    def __init__(self, answer: WhatIfOutcome | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[UserLogin, ProposedChange]] = []

    def missing(self, login: UserLogin) -> tuple[str, ...]:
        return ("list namespaces",) if login.authorization == TENANT else ()

    def ask(self, login: UserLogin, change: ProposedChange) -> WhatIfOutcome:
        self.asked.append((login, change))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def tiles(page: str) -> list[tuple[str, str]]:
    """The large numbers of a page: the class of the color, and the text."""
    shown = re.search(r'<ul class="totals".*?</ul>', page, re.DOTALL)
    found = re.findall(r"<li( class=\"\w+\")?>(.*?)</li>", shown[0] if shown else "", re.DOTALL)
    texts = [(kind[8:-1], re.sub(r"<[^>]+>", "", text)) for kind, text in found]
    return [(kind, " ".join(text.split())) for kind, text in texts]


class Cluster:
    """See `Backend`. `down`: what every answer is while a server is away."""

    def __init__(self, **answers: Any) -> None:
        self.answers = dict(ANSWERS)
        self.asked: list[str] = []
        self.down: Exception | None = None
        self.logins: list[UserLogin] = []
        self.what_if: Telling | None = None
        self.audited = True
        self.servers: Sequence[NamedServer] = ()

    def reader(self, login: UserLogin) -> UserReader:
        self.logins.append(login)
        return Answering(self, login)


def browser(cluster: Cluster, authenticator: Callable[[Sessions], Authenticator] | None = None) -> FlaskClient:
    sessions = Sessions()
    chosen = authenticator(sessions) if authenticator else ByToken(sessions, COOKIE)
    app = create_app(DashboardSettings(chosen, COOKIE, sessions=sessions), cluster)
    app.jinja_env.bytecode_cache = TEMPLATES
    return app.test_client()


def signed_in(cluster: Cluster, token: str) -> FlaskClient:
    client = browser(cluster)
    client.environ_base["HTTP_AUTHORIZATION"] = token
    return client
