"""A forbidden request is reported with the role that grants it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cluster.roles import missing_role
from tests.cli.runs import kubeconfig, run
from tests.cluster.fake import FakeApi, Reply, Seen, status
from tests.profiles import each_case

USER = "ask for the ClusterRole quotree-batch-user, by a RoleBinding in namespace team"
ADMIN = "the ClusterRole quotree-batch-admin grants this"


def rbac(verb: str, resource: str, group: str, within: str = 'in the namespace "team"') -> str:
    """As an API server says it."""
    access = f'cannot {verb} resource "{resource}" in API group "{group}" {within}'
    return f'{resource}.{group} is forbidden: User "tina" {access}'


@each_case(
    ("message", "role"),
    [
        (rbac("list", "workloads", "kueue.x-k8s.io"), USER),
        (rbac("get", "localqueues/pendingworkloads", "visibility.quotree.dev"), USER),
        (rbac("list", "workloads", "kueue.x-k8s.io", "at the cluster scope"), ADMIN),
        (rbac("patch", "localqueues", "kueue.x-k8s.io"), ADMIN),
        (rbac("get", "clusterqueues/pendingworkloads", "visibility.quotree.dev", "at the cluster scope"), ADMIN),
        ("tina may not get workloads.kueue.x-k8s.io in namespace team", USER),
        ("tina may not get localqueues.visibility.kueue.x-k8s.io/pendingworkloads in namespace team", USER),
        ("tina may not list cohorts.kueue.x-k8s.io", ADMIN),
        ("tina may not list queues.scheduling.volcano.sh", "the ClusterRole quotree-volcano-viewer grants this"),
        ("tina may not list nodes", ADMIN),
        ("tina may not list namespaces", "the ClusterRole quotree-yunikorn-viewer grants this"),
        (
            "tina may not list pods",
            "the ClusterRole quotree-yunikorn-viewer or quotree-volcano-gates-viewer grants this",
        ),
        (rbac("delete", "nodes", "", "at the cluster scope"), ""),
        (rbac("delete", "queues", "scheduling.volcano.sh", "at the cluster scope"), ""),
        ("tina may not list pods in namespace team", ""),
        (rbac("list", "secrets", ""), ""),
        ('admission webhook "kueue-trees.quotree.dev" denied the request: no', ""),
    ],
)
def test_forbidden_message_names_the_missing_role(message: str, role: str) -> None:
    assert missing_role(message) == role


class Closed(FakeApi):
    """Lets this user do nothing, but say which kinds there are."""

    def reply_to(self, seen: Seen) -> Reply:
        if seen.path.count("/") == 3:
            names = [{"name": each} for each in ("localqueues", "workloads", "clusterqueues")]
            return lambda handler: handler.send_json(200, {"resources": names})
        group = seen.path.split("/")[2]
        place = 'in the namespace "team"' if "/namespaces/" in seen.path else "at the cluster scope"
        return status(403, "Forbidden", message=rbac("list", seen.path.rpartition("/")[2], group, place))


class OneNamespace(Closed):
    """Lets this user read the default namespace, and ask the reconciler about it."""

    def reply_to(self, seen: Seen) -> Reply:
        if "/namespaces/default/" not in seen.path:
            return super().reply_to(seen)
        names = [{"metadata": {"name": "main"}}] if seen.path.endswith("/localqueues") else []
        return lambda handler: handler.send_json(200, {"metadata": {"resourceVersion": "1"}, "items": names})


def test_tenant_is_informed_that_only_one_namespace_is_listed(tmp_path: Path) -> None:
    with closing(OneNamespace()) as api:
        login = "--kubeconfig", str(kubeconfig(tmp_path, api.url))
        shown, named = run("pending", *login), run("pending", "-n", "default", *login)

    assert (shown.exit_code, shown.stdout) == (0, "LocalQueue default/main: no pending workloads\n")
    assert shown.stderr == "you may not read the whole cluster; only namespace default is listed\n"
    assert (named.stdout, named.stderr) == (shown.stdout, "")


@pytest.fixture
def login(tmp_path: Path) -> Iterator[tuple[str, str]]:
    api = Closed()
    yield "--kubeconfig", str(kubeconfig(tmp_path, api.url))
    api.close()


@pytest.mark.parametrize(
    "asked", [("why", "job/late", "-n", "team"), ("pending", "-n", "team"), ("list", "localqueue", "-n", "team")]
)
def test_forbidden_tenant_gets_the_missing_role_and_no_output(login: tuple[str, str], asked: tuple[str, ...]) -> None:
    refused = run(*asked, *login)

    assert (refused.exit_code, refused.stdout) == (4, "")
    assert refused.stderr.rstrip().endswith(USER)
    assert refused.stderr.count("is forbidden") == 1
