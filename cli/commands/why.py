"""Explain why a workload waits."""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from urllib.parse import quote

import click

from analysis.why import API_VERSION, elsewhere, explained_work
from cli.exits import EXIT_CODES_OF_SIMULATIONS, AccessDenied, Misused
from cli.input import snapshot, unqueued
from cli.input.against import Against
from cli.input.held_pods import held_pods
from cli.input.login import ClusterLogin
from cli.input.named import NamedWork, NoWorkload, named
from cli.input.options import EngineOptions, against_of, namespace, output
from cli.input.options import engine as engine_options
from cli.input.reconciler_api import Server
from cli.input.reconciler_api import options as reconciler_options
from cli.input.simulation import note_problems, start
from cli.input.visibility import find_workload, reconciler_of, reporting_bad_answers
from cli.output import emit, json_text
from cli.report.explanations import explained_lines, job_state_lines
from policies.model.errors import PolicyError


@click.command(epilog=EXIT_CODES_OF_SIMULATIONS)
@click.argument("workload", metavar="[NS/]NAME")
@against_of(
    "cluster", "The source of the workload: a cluster as it is now, or files:DIR, simulated until nothing changes."
)
@namespace
@reconciler_options
@click.option(
    "--trace",
    is_flag=True,
    help="Show the state of its job in the reconciler, why the job is in it, and its last transitions.",
)
@output
@engine_options
def why(
    workload: str,
    against: Against,
    namespace: str | None,
    reconciler: Server | None,
    trace: bool,
    output: str,
    engine: EngineOptions,
) -> None:
    """Explain why a workload or job waits: in a cluster now, or in a simulation of files.

    Name it as NAME, as KIND/NAME such as job/train, or as NAMESPACE/NAME. Only a cluster has a default namespace.
    The answer has the ClusterQueue, the position in it and the workloads ahead. It says which quota is short, in which
    flavor and at which node of the tree, who uses that quota, and which limit to raise. For MultiKueue it also lists
    the nominated worker clusters, and why none of them admits the workload.
    For a job without a Workload, the answer says why the job is in no queue.
    If you may not read the whole cluster, its reconciler answers with what you may see.
    With --trace the reconciler reports its own state of the job: the Workloads and Pods that count for it, and the last
    transitions.

    \b
    Examples:
      quotree why train
      quotree why job/train -n ml
      quotree why ml/train
      quotree why ml/train --against files:cluster/
      quotree why ml/train --trace
    """
    if trace:
        emit(_traced(_traceable(workload, namespace, against), against.login, reconciler, output))
        return
    if reconciler is not None and against.kind != "cluster":
        raise Misused(f"--reconciler answers for a cluster, not for {against.kind}; leave it out")
    if against.kind == "files":
        _from_files(_of_files(workload, namespace), against.name, output, engine)
        return
    wanted = named(workload, namespace, partial(_namespace, against))
    try:
        emit(_of_workload(workload, wanted, against, reconciler, output, engine))
    except NoWorkload as error:
        if against.kind != "cluster":
            raise
        emit(_shown(_unqueued(wanted, against.login, error), output))


def _of_workload(
    written: str,
    wanted: NamedWork,
    against: Against,
    reconciler: Server | None,
    output: str,
    engine: EngineOptions,
) -> str:
    """Explain a workload of the cluster or snapshot.

    The reconciler explains it with --reconciler, or if the caller may not read the cluster.
    """
    refused = None
    if reconciler is None:
        try:
            return _from_cluster(written, wanted, against, output, engine)
        except AccessDenied as error:
            refused = error
    return _shown(_with_pods(_from_reconciler(wanted, against.login, reconciler, refused), against), output)


def _unqueued(wanted: NamedWork, login: ClusterLogin, error: NoWorkload) -> dict[str, Any]:
    """Explain a job without a Workload. Raises Misused if no such job exists, or the caller may not read it."""
    found = unqueued.explanation(login, wanted)
    if found is None:
        none = f"namespace {wanted.namespace} has no job of this name; of a Deployment or StatefulSet, name a Pod"
        raise Misused(f"{error.missing}; {error.near or none}")
    return {"apiVersion": API_VERSION, **found}


def _traceable(workload: str, namespace: str | None, against: Against) -> NamedWork:
    if against.kind != "cluster":
        raise Misused("--trace needs the reconciler of a cluster; leave --against out")
    return named(workload, namespace, partial(_namespace, against))


def _traced(wanted: NamedWork, login: ClusterLogin, server: Server | None, output: str) -> str:
    with reconciler_of(login, server) as ask, reporting_bad_answers():
        path = f"/v1/namespaces/{quote(wanted.namespace, safe='')}/jobs/{quote(wanted.name, safe='')}/state"
        found = ask(path)
        items = [each for each in found["items"] if wanted.kind in ("", each["kind"])]
        if not items:
            raise Misused(f"the reconciler knows no {wanted.kind} {wanted.key}; name the job, without its kind")
        if output == "json":
            return json_text({**found, "items": items})
        return "\n".join(line for each in items for line in job_state_lines(each))


def _of_files(workload: str, namespace: str | None) -> str:
    """The name of work in files, as the simulation knows it. Raises Misused."""
    wanted = named(workload, namespace, str)
    return wanted.key if wanted.namespace else wanted.name


def _namespace(against: Against) -> str:
    """The namespace if the user names none. Raises Misused."""
    if against.kind != "cluster":
        raise Misused("write NAMESPACE/NAME, or name the namespace with -n: only a kubeconfig has a default")
    return against.login.namespace()


def _from_cluster(written: str, wanted: NamedWork, against: Against, output: str, engine: EngineOptions) -> str:
    """Explain a workload with the rights of the caller. Raises AccessDenied if they do not suffice."""
    from reconciler.api.explanation import explanation_json
    from reconciler.api.placement import placement_json  # here, since files do not need them

    found = snapshot.take(against, engine)
    # An application of YuniKorn has no namespace. With a kind, only the key is the name of work.
    for name in (wanted.key,) if wanted.kind else (written, wanted.key):
        if found.others is not None and (answer := elsewhere(found.others, name)):
            return _shown(answer, output)
    key = snapshot.key_of(found.world, wanted)
    answer = {**explanation_json(found.world, key, time.time_ns()), **placement_json(found.world, key)}
    return _shown(_with_pods(answer, against), output)


def _with_pods(found: dict[str, Any], against: Against) -> dict[str, Any]:
    """The answer, for admitted work of a cluster with what keeps its Pods from running."""
    if against.kind != "cluster" or not found.get("admitted") or "placement" in found:
        return found
    held = held_pods(against.login, found["job"])
    return {**found, "heldPods": held} if held else found


def _from_reconciler(
    wanted: NamedWork, login: ClusterLogin, server: Server | None, refused: AccessDenied | None
) -> dict[str, Any]:
    with reconciler_of(login, server, refused) as ask:
        name = find_workload(login, wanted)
        return ask(f"/v1/namespaces/{quote(wanted.namespace, safe='')}/workloads/{quote(name, safe='')}/explanation")


def _shown(found: dict[str, Any], output: str) -> str:
    if output == "json":
        return json_text(found)
    with reporting_bad_answers():
        return "\n".join(explained_lines(found))


def _from_files(workload: str, folder: str, output: str, engine: EngineOptions) -> None:
    """Simulate the files, and explain one of their workloads. Raises Misused."""
    simulations = start([folder], engine)
    code = note_problems(simulations.files, simulations.kueue, simulations.others)
    try:
        emit(_shown(explained_work(simulations, workload), output))
    except PolicyError as error:
        raise Misused(str(error)) from error
    click.get_current_context().exit(code)
