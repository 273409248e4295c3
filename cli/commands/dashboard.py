"""Look at queues in the browser: of a cluster, or of files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from cli.exits import EXIT_CODES_OF_ACTIONS, Misused, OutOfReach
from cli.input.against import Against
from cli.input.options import against_of
from cli.input.reconciler_api import Server, endpoint
from cli.input.reconciler_api import options as reconciler_options
from cli.output import note
from cluster.errors import ClusterError

if TYPE_CHECKING:
    from dashboard.reading.backend import UserReader
    from dashboard.reading.remote import Getter
    from dashboard.what_if.processes import Processes


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@against_of("cluster", "What to show: a cluster, or files:DIR, simulated until nothing changes.")
@reconciler_options
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0 takes a free one.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def dashboard(
    against: Against,
    reconciler: Server | None,
    port: int,
    no_browser: bool,
) -> None:
    """Show quota trees in the browser: quota, use, who waits and why.

    It listens on loopback only. Anybody who has the printed address gets the rights of your kubeconfig. Without
    --reconciler it reads the cluster itself; a large cluster is read less often.

    \b
    Examples:
      quotree dashboard
      quotree dashboard --against cluster:prod --no-browser
      quotree dashboard --against files:trees/
      quotree dashboard --reconciler https://localhost:8443 --ca ca.crt
    """
    from cli.serving.own_dashboard import run_own  # here, since these take long to load
    from dashboard.login.authenticators import ByKey
    from dashboard.login.sessions import cookie_name
    from dashboard.reading.served import named_servers
    from dashboard.settings import DashboardSettings

    if against.kind not in ("cluster", "files"):
        raise Misused("--against: name a cluster, or files:DIR to simulate the files of a folder")
    if reconciler and against.kind == "files":
        raise Misused("--reconciler answers for a cluster, not for files; leave it out")
    audit = _audit(against)
    reader = _of_files(against, audit) if against.kind == "files" else _of_cluster(against, reconciler, audit)
    cookie = cookie_name(port, secure=False)
    settings = DashboardSettings(ByKey("", cookie), cookie, port=port)
    what_if = _what_if(against)
    servers = named_servers([("/v1", reconciler.url, reconciler.server_name)] if reconciler else ())
    code = run_own(settings, lambda: reader, what_if, browser=not no_browser, say=note, servers=servers)
    click.get_current_context().exit(code)


def _what_if(against: Against) -> Callable[[], Processes | None]:
    from cli.input.kueue_version import installed_beside
    from cli.input.settings import settings
    from cli.serving.connection import UserConnection
    from dashboard.what_if.processes import Processes

    if against.kind == "files":
        return lambda: None
    own = UserConnection(login=against.login)
    return lambda: Processes(lambda _: own, settings(None, (), installed=installed_beside(against)))


def _audit(against: Against) -> Getter:
    """An audit with the configuration that `quotree audit` uses."""
    from cli.input.kueue_version import installed_beside
    from cli.input.settings import settings
    from cli.report.audited import audited
    from cli.serving.own_audit import OwnAudit

    places = [against.name] if against.kind == "files" else []
    configuration = settings(None, places, installed=installed_beside(against))
    return OwnAudit(lambda: audited(against, configuration).audit)


def _of_cluster(against: Against, server: Server | None, audit: Getter) -> UserReader:
    """The reader of a cluster. Raises OutOfReach if the cluster does not answer."""
    from cli.input.quota_trees import of_cluster
    from cli.serving import own_dashboard
    from cluster.client import ClusterClient

    try:
        cluster = against.login.connect()
        cluster.get("/version")
        if server is not None:
            return own_dashboard.of_cluster(cluster, ClusterClient(endpoint(server, against.login)), audit)
        once = own_dashboard.ReadOnce(cluster, lambda: of_cluster(against))
        return own_dashboard.of_cluster(cluster, once, audit)
    except ClusterError as error:
        raise OutOfReach(f"the dashboard cannot start: {error}") from error


def _of_files(against: Against, audit: Getter) -> UserReader:
    from analysis.simulation import decision_settings, play
    from analysis.trees.answer import answer
    from cli.input.gathering import gather
    from cli.input.quota_trees import context_of, users_of
    from cli.input.settings import settings
    from cli.input.simulation import note_problems
    from cli.serving.file_reader import FilesReader
    from policies.dialects.declared import DECLARED
    from policies.model.forest import Forest

    inputs = gather([against.name])
    configuration = settings(None, [against.name])
    played = play(inputs, configuration, decision_settings(configuration))
    note_problems(played.files, played.kueue, played.beside)
    forest = Forest(frozenset(DECLARED)).put_all(placed.obj for placed in inputs.objects.values())
    return FilesReader(inputs, played, answer(forest, context_of(against), users_of(played)), audit)
