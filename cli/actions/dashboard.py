"""Shows the queues of a cluster or of files in the browser."""

from __future__ import annotations

from collections.abc import Callable

from analysis.simulation import decision_settings, play
from analysis.trees.as_json import trees_as_json
from cli.exits import Misused, OutOfReach
from cli.input.against import Against
from cli.input.documents import gather
from cli.input.quota_trees import context_of, of_cluster, simulated_sources
from cli.input.reconciler_api import Server, endpoint
from cli.input.settings import installed_beside, settings
from cli.input.simulation import note_problems
from cli.output import note
from cli.report.audited import audited
from cli.serving.connection import UserConnection
from cli.serving.file_reader import FilesReader
from cli.serving.own_audit import OwnAudit
from cli.serving.own_dashboard import ReadOnce, run_own
from cluster.client import ClusterClient
from cluster.errors import ClusterError
from dashboard.reading.backend import UserReader
from dashboard.reading.remote import Getter, RemoteReader
from dashboard.reading.served import named_servers
from dashboard.what_if.processes import Processes
from policies.dialects.declared import DECLARED
from policies.model.forest import Forest


def show(against: Against, reconciler: Server | None, port: int, *, browser: bool) -> int:
    """Serve until Ctrl-C; returns the exit code. Raises Misused and OutOfReach."""
    if against.kind not in ("cluster", "files"):
        raise Misused("--against: name a cluster, or files:DIR to simulate the files of a folder")
    if reconciler and against.kind == "files":
        raise Misused("--reconciler answers for a cluster, not for files; leave it out")
    audit = _audit(against)
    reader = _of_files(against, audit) if against.kind == "files" else _of_cluster(against, reconciler, audit)
    what_if = _what_if(against)
    servers = named_servers([("/v1", reconciler.url, reconciler.server_name)] if reconciler else ())
    return run_own(port, lambda: reader, what_if, browser=browser, say=note, servers=servers)


def _what_if(against: Against) -> Callable[[], Processes | None]:
    if against.kind == "files":
        return lambda: None
    own = UserConnection(login=against.login)
    return lambda: Processes(lambda _: own, settings(None, (), installed=installed_beside(against)))


def _audit(against: Against) -> Getter:
    """An audit with the configuration that `quotree audit` would use."""
    places = [against.name] if against.kind == "files" else []
    configuration = settings(None, places, installed=installed_beside(against))
    return OwnAudit(lambda: audited(against, configuration).audit)


def _of_cluster(against: Against, server: Server | None, audit: Getter) -> UserReader:
    """The reader of a cluster. Raises OutOfReach if the cluster does not answer."""
    try:
        cluster = against.login.connect()
        cluster.get("/version")
        if server is not None:
            return RemoteReader(cluster, ClusterClient(endpoint(server, against.login)), audit)
        once = ReadOnce(cluster, lambda: of_cluster(against))
        return RemoteReader(cluster, once, audit, once.behind)
    except ClusterError as error:
        raise OutOfReach(f"the dashboard cannot start: {error}") from error


def _of_files(against: Against, audit: Getter) -> UserReader:
    inputs = gather([against.name])
    configuration = settings(None, [against.name])
    played = play(inputs, configuration, decision_settings(configuration))
    note_problems(played.files, played.kueue, played.others)
    forest = Forest(frozenset(DECLARED)).put_all(placed.obj for placed in inputs.objects.values())
    return FilesReader(inputs, played, trees_as_json(forest, context_of(against), simulated_sources(played)), audit)
