"""The actions of `quotree queue` that behave like vcctl: list, get, draw, create, operate and delete queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from cli.exits import Misused
from cli.input.login import ClusterLogin
from cli.output import emit
from cluster.actions import Create, Delete
from cluster.apply import perform
from cluster.client import ClusterClient
from policies.configuration.settings import Configuration
from policies.dialects.reading import Manifest, metadata
from policies.model.printing import plain
from reconciler.controllers.volcano.kinds import POD_GROUP, QUEUES
from reconciler.controllers.volcano.operation_runner import OperationRunner
from reconciler.controllers.volcano.queue_writers import FIELD_MANAGER
from reconciler.controllers.volcano.queue_writes import patch
from scheduling.volcano_queues import vcctl
from scheduling.volcano_queues.states import QueueAction

T = TypeVar("T")


def show_children(login: ClusterLogin, name: str | None) -> None:
    """Print the children of this queue; without a name, all queues. Raises Misused and OutOfReach."""
    _table(login, lambda queues: queues if name is None else vcctl.children_of(queues, name), name or "")


def show_queue(login: ClusterLogin, name: str) -> None:
    """Print one queue. Raises Misused, OutOfReach."""
    _table(login, lambda queues: [each for each in queues if metadata(each).get("name") == name], name)


def draw_tree(login: ClusterLogin, name: str) -> None:
    """Draw the queue and its descendants. Raises Misused, OutOfReach."""
    with login.connected() as cluster:
        queues = _queues(cluster, name)
    emit("\n".join(map(plain, vcctl.drawn(queues, name))))


def create(login: ClusterLogin, name: str, weight: int, parent: str) -> None:
    """Create the queue. Raises Misused, OutOfReach."""
    with _request(login, partial(vcctl.new_queue, name, weight, parent)) as (cluster, body):
        perform(cluster, Create(QUEUES, body, FIELD_MANAGER))


def operate(login: ClusterLogin, name: str, action: str, weight: int) -> None:
    """Open or close the queue, or set its weight. Raises Misused, OutOfReach."""
    with _request(login, partial(vcctl.requested, name, action, weight)) as (cluster, wanted):
        if isinstance(wanted, QueueAction):
            runner = OperationRunner(cluster, Configuration(), "default", 0, emit)
            found = runner.read().queues.get(name)
            if found is None:
                raise Misused(f"queue {name} does not exist; `quotree queue list` lists the queues")
            runner.give(found, wanted)
        else:
            perform(cluster, patch(name, {"spec": {"weight": wanted}}, ""))


def delete(login: ClusterLogin, name: str) -> None:
    """Delete the queue, but not its descendants. Raises Misused and OutOfReach."""
    with _request(login, partial(vcctl.check_name, name)) as (cluster, _):
        perform(cluster, Delete(QUEUES, None, name))


def _queues(cluster: ClusterClient, needed: str) -> list[Manifest]:
    """All queues of the cluster. `needed`: a queue that must exist, unless it is root. Raises Misused."""

    found: list[Manifest] = list(cluster.list(QUEUES))
    if needed not in ("", "root", *(metadata(each).get("name") for each in found)):
        raise Misused(f"queue {needed} does not exist; `quotree queue list` lists the queues")
    return found


def _table(login: ClusterLogin, chosen: Callable[[list[Manifest]], list[Manifest]], needed: str) -> None:
    """Print the chosen queues as vcctl does. `needed`: see `_queues`."""

    with login.connected() as cluster:
        text = vcctl.listed(chosen(_queues(cluster, needed)), vcctl.counts_by_queue(cluster.list(POD_GROUP.resource)))
    emit("\n".join(map(plain, text.splitlines())))


@contextmanager
def _request(login: ClusterLogin, request: Callable[[], T]) -> Iterator[tuple[ClusterClient, T]]:
    """Connect to the cluster, and yield the client and the request. Raises Misused for a request that vcctl refuses."""

    try:
        wanted = request()
    except vcctl.BadRequest as error:
        raise Misused(str(error)) from error
    with login.connected() as cluster:
        yield cluster, wanted
