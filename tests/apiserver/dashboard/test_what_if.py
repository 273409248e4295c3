"""What-ifs on a real API server: with the numbers of `quotree diff` and the rights of the user."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from analysis.what_if.outcome import WhatIfOutcome
from analysis.what_if.state import ProposedChange
from cli.input.login import ClusterLogin as ClusterLogin
from cli.input.settings import settings
from cli.serving.connection import UserConnection
from dashboard.pages.outlined import quota_word
from dashboard.reading.backend import UserLogin
from dashboard.what_if.processes import Processes, TryAgain
from tests.apiserver.dashboard import world
from tests.apiserver.dashboard.world import ADMIN, TENANT, Dashboard, organisation, reconciling
from tests.apiserver.harness import ControlPlane, User
from tests.apiserver.kueue_world import KUEUE, workload
from tests.apiserver.reconciler.shipped_reconciler import shipped
from tests.cli.runs import run
from tests.waiting import eventually

pytestmark = pytest.mark.apiserver
READ_SECONDS = 180.0
"""The time limit for reading the cluster: its process has a low priority, and the machine may be busy."""
TRAINS = 4
"""The number of Workloads of 30 CPUs in queue-0 of team-0. The tree has 80 CPUs: two run."""


@pytest.fixture(scope="module")
def server() -> Iterator[ControlPlane]:
    with ControlPlane(users=world.USERS) as running:
        shipped(running)
        organisation(running, 20)
        yield running


@pytest.fixture(scope="module")
def page(server: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("what-if")
    with reconciling(server, folder / "reconciler") as replica:
        for number in range(TRAINS):
            server.request("POST", f"{KUEUE}/namespaces/team-0/workloads", workload(f"train-{number}", "30"))
        eventually(lambda: admitted(server) == 3)
        dashboard = Dashboard(server, folder / "dashboard", replica.address["api"])
        try:
            yield Page(dashboard.url)
        finally:
            dashboard.close()


def admitted(server: ControlPlane) -> int:
    items = server.request("GET", f"{KUEUE}/workloads")["items"]
    conditions = (each for item in items for each in item.get("status", {}).get("conditions", ()))
    return sum((each["type"], each["status"]) == ("Admitted", "True") for each in conditions)


class Page:
    """What the dashboard answers to a form."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, who: User, path: str = "/what-if", **fields: Any) -> tuple[int, str]:
        """The status and the text. The first request of a user reads the cluster, which may take longer."""
        found: list[tuple[int, str]] = []

        def answered() -> bool:
            found.append(self._sent(who, path, fields))
            return "is being read" not in found[-1][1]

        eventually(answered, lambda: shown(found[-1][1]), READ_SECONDS)
        return found[-1]

    def _sent(self, who: User, path: str, fields: dict[str, Any]) -> tuple[int, str]:
        body = urlencode({name.replace("_", "-"): value for name, value in fields.items()}, doseq=True).encode()
        request = Request(self.url + path, body, {"Authorization": f"Bearer {who.token}"})
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()


def quota(amount: str, name: str = "queue-0") -> dict[str, str]:
    node = {"quota_kind": "ClusterQueue", "quota_name": name, "quota_flavor": "spot", "quota_resource": "cpu"}
    return {**node, "quota_field": "nominalQuota", "quota_amount": amount}


MOVE = {"move_kind": "ClusterQueue", "move_name": "queue-5", "move_parent": "division-0"}
WORK = {"work_namespace": "team-0", "work_queue": "main", "work_name": "extra", "work_requests": "cpu=10"}


def shown(text: str) -> str:
    """The text of a page, without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_what_if_page_has_the_numbers_of_quotree_diff(page: Page, server: ControlPlane, tmp_path: Path) -> None:
    fields = {**quota("34"), **MOVE, **WORK}
    status, text = page.ask(ADMIN, **fields)
    _, change = page.ask(ADMIN, "/what-if/change.yaml", **fields)
    (tmp_path / "change.yaml").write_text(change)
    done = run(
        "diff",
        str(tmp_path / "change.yaml"),
        "--against",
        "cluster",
        "-o",
        "json",
        env={"KUBECONFIG": str(server.kubeconfig)},
    )
    diff, said = json.loads(done.stdout), shown(text)

    assert status == 200
    first, second = (each["job"]["name"] for each in diff["admitted"])
    assert first == "extra"
    assert second.startswith("train-"), "those that wait are of the same second"
    for each in diff["admitted"]:
        assert f"Workload team-0/{each['job']['name']} {each['clusterQueue']}" in said
    names = [each["name"] for each in diff["nodes"] if f"{each['kind']} {each['name']} " in said]
    assert {"queue-0", "queue-5", "group-0", "division-0"} <= set(names)
    for node in diff["nodes"]:
        for row in node["quota"] if node["name"] in names else ():
            for number, before in row["before"].items():
                of_itself = number == "subtree" and row["before"]["own"] == before
                if before != row["after"][number] and not of_itself:
                    assert f"{quota_word(number)} {before} → {row['after'][number]}" in said
    for risk in diff["couldBePreempted"]:
        assert f"{risk['kind']} {risk['name']} spot/cpu {risk['used']} in use, {risk['nominal']} its own" in said


def test_a_new_workload_that_would_wait_has_its_reason(page: Page) -> None:
    _, text = page.ask(ADMIN, **{**WORK, "work_requests": "cpu=500"})

    assert "Workload team-0/extra" in shown(text)
    assert "never fits" in shown(text)
    _, text = page.ask(ADMIN, **{**WORK, "work_requests": "cpu=25"})
    assert re.search(r"25 19 .*6 short", shown(text)), shown(text)


def test_a_stopped_queue_shows_its_evicted_workloads(page: Page) -> None:
    _, text = page.ask(ADMIN, stop_kind="ClusterQueue", stop_name="queue-0", stop_policy="HoldAndDrain")

    lost = re.findall(r"Workload team-0/train-\d queue-0 evicted", shown(text))
    assert len(lost) == 2, shown(text)
    assert "kubectl patch clusterqueues.kueue.x-k8s.io queue-0 --type=merge" in shown(text)


def test_a_what_if_is_judged_by_the_rules_of_the_webhook(page: Page) -> None:
    _, text = page.ask(ADMIN, move_kind="Cohort", move_name="division-0", move_parent="group-0")

    assert "The webhook refuses this change" in text, shown(text)
    assert "parent-cycle" in text
    _, text = page.ask(ADMIN, **quota("0", "queue-1"))
    assert "The rules allow this change, with warnings" in shown(text)
    assert "quota-below-reserved" in text


def test_a_quota_cannot_shrink_by_more_than_its_amount(page: Page) -> None:
    _, text = page.ask(ADMIN, **quota("-3"))
    assert "own quota 4 → 1" in shown(text)
    _, text = page.ask(ADMIN, **quota("-7"))
    assert "The nominalQuota of ClusterQueue queue-0 is 4, so it cannot shrink by 7." in shown(text)


def test_a_tenant_sees_its_missing_rights_and_no_quota(page: Page) -> None:
    page.ask(ADMIN, **quota("6"))
    for fields in (quota("6"), {"yaml": "kind: Cohort"}):
        status, text = page.ask(TENANT, **fields)

        assert status == 403
        assert "list clusterqueues.kueue.x-k8s.io list localqueues.kueue.x-k8s.io" in shown(text)
        assert "list namespaces" in shown(text)
        assert "4 → 6" not in shown(text)


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("a: &a [x,x,x]\nb: &b [*a,*a,*a]\n" + "c: [*b,*b]\n" * 3, 200, "line"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {key: c2VjcmV0}", 200, "Secret x has no quota"),
        ("kind: Odd\nmetadata: {name: <script>alert(1)</script>}", 200, "Odd <script>alert(1)</script> has no quota"),
        ("apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: <b>x</b>}", 200, "Cohort <b>x</b>"),
        ("x" * 300_000, 413, "exceeds"),
        ("- [", 200, "line 1"),
    ],
)
def test_pasted_yaml_gets_an_escaped_answer(page: Page, text: str, status: int, said: str) -> None:
    found, answer = page.ask(ADMIN, yaml=text)

    assert found == status
    assert said in html.unescape(
        re.sub(r"<script src.*?</script>|<textarea.*?</textarea>", "", answer, flags=re.DOTALL)
    )
    assert "<script>alert" not in answer
    assert "<b>x" not in answer


def test_the_what_if_page_does_not_write_to_the_cluster(page: Page, server: ControlPlane) -> None:
    asked = Processes(
        lambda _: UserConnection(login=ClusterLogin(kubeconfig=str(server.kubeconfig))), settings(None, ())
    )

    def answer() -> WhatIfOutcome | None:
        with suppress(TryAgain):
            return asked.ask(UserLogin(), ProposedChange((workload("extra", "10"),)))
        return None

    try:
        found = eventually(answer, seconds=READ_SECONDS)
    finally:
        asked.close()
    page.ask(ADMIN, **{**quota("34"), **MOVE, **WORK})

    assert not found.left_out
    generations = {each["metadata"]["generation"] for each in server.request("GET", f"{KUEUE}/clusterqueues")["items"]}
    assert generations == {1}
    assert len(server.request("GET", f"{KUEUE}/workloads")["items"]) == TRAINS + 1
