"""Calls the reconciler for users who may not read the whole cluster: through the API server, or at a URL.

The API server forwards requests of the API group `visibility.quotree.dev` with the name of the user. Therefore every
login of kubectl works, users only need rights for that group, and no token is sent to another server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from cli.exits import AccessDenied, Misused, OutOfReach
from cli.input import reconciler_api
from cli.input.login import ClusterLogin, unavailable
from cli.input.named import NamedWork, stored_workload_of
from cluster.errors import ApiError, ClusterError, Forbidden, NotFound
from cluster.roles import missing_role
from cluster.served import FOLLOWED, WORKLOADS
from policies.dialects.kueue import LOCAL_QUEUE
from policies.dialects.reading import mapping, metadata, text
from policies.model.printing import plain
from reconciler.api.aggregated import API_SERVICE, PREFIX

if TYPE_CHECKING:  # it takes long to load
    from cluster.client import ClusterClient

Ask = Callable[[str], dict[str, Any]]
"""Returns the response for a path of /v1. Raises Misused and OutOfReach."""


@contextmanager
def reconciler_of(
    login: ClusterLogin, server: reconciler_api.Server | None = None, refused: AccessDenied | None = None
) -> Iterator[Ask]:
    """A function that calls the reconciler of the cluster.

    `server`: the value of --reconciler. `refused`: why the user may not read the cluster itself.
    Raises OutOfReach, also for errors inside the `with` block.
    """
    try:
        if server is not None:
            yield partial(reconciler_api.get, server, login=login)
            return
        with login.connected() as cluster:
            yield partial(_forwarded, cluster)
    except OutOfReach as error:
        if refused is None or isinstance(error, AccessDenied):  # its message names the smaller role, which is enough
            raise
        raise OutOfReach(f"{refused.message}; {error.message}") from error


@contextmanager
def reporting_bad_answers() -> Iterator[None]:
    """Raise OutOfReach if the block cannot read a response of the reconciler."""
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise OutOfReach(
            "the answer is not from a reconciler of Quotree, or is from another version of it; check both"
        ) from error


def _forwarded(cluster: ClusterClient, path: str) -> dict[str, Any]:
    try:
        return cluster.get(PREFIX + path.removeprefix("/v1"))
    except Forbidden as error:
        cure = missing_role(error.message) or "ask for the ClusterRole quotree-batch-user in the namespace"
        raise AccessDenied(f"{error.message}; {cure}") from error
    except NotFound as error:
        if _served(cluster):
            raise Misused(plain(error.message)) from error
        cure = "install the reconciler with manifests/with-reconciler, or name one with --reconciler URL"
        raise OutOfReach(f"the cluster has no APIService {API_SERVICE}; {cure}") from error
    except ApiError as error:
        if error.status != 503:
            raise unavailable(error) from error
        cure = f"try again, or see `kubectl get apiservice {API_SERVICE}`"
        raise OutOfReach(f"the reconciler does not answer: {error.message}; {cure}") from error
    except ClusterError as error:
        raise unavailable(error) from error


def _served(cluster: ClusterClient) -> bool:
    try:
        cluster.get(PREFIX)
    except NotFound:
        return False
    except ClusterError:
        return True  # the API server knows the group
    return True


def find_workload(login: ClusterLogin, wanted: NamedWork) -> str:
    """The name of the Workload that the user means, read from the API server. Raises Misused and OutOfReach."""
    with login.connected() as cluster:
        listed = list(cluster.list(cluster.newest(WORKLOADS), namespace=wanted.namespace))
    return stored_workload_of({str(metadata(each)["name"]): each for each in listed}, wanted)


def local_queues(login: ClusterLogin, namespace: str) -> list[str]:
    """The names of the LocalQueues in the namespace, and those that Workloads refer to, since these may not exist.

    Raises OutOfReach, also if there are none.
    """
    with login.connected() as cluster:
        queues = cluster.list(cluster.newest(FOLLOWED[LOCAL_QUEUE]), namespace=namespace)
        found = {str(metadata(each)["name"]) for each in queues}
        with suppress(Forbidden):  # without the right to list Workloads, only existing LocalQueues are returned
            workloads = cluster.list(cluster.newest(WORKLOADS), namespace=namespace)
            found.update(filter(None, (text(mapping(each.get("spec")).get("queueName")) for each in workloads)))
    if not found:
        raise OutOfReach(f"namespace {namespace} has no LocalQueue; name another namespace with -n")
    return sorted(found)
