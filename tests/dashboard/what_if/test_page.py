"""The what-if page: the form, the request, the presentation of the result, and access."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from analysis.what_if.outcome import GainRow, LossRow, ReachRow, RiskRow
from analysis.what_if.outlines import OutlinedAmount, OutlinedNode, Outlines
from analysis.what_if.state import ProposedChange
from dashboard.what_if.processes import ReadingCluster, TryAgain, Unanswered
from policies.impact.quotas import Effect, Excess, NodeChange, NodeQuotas, PairChange, PairQuota, QuotaPair
from policies.model.findings import Severity
from policies.model.objects import Ref
from scheduling.simulation.submissions import LeftOut, Name
from tests.dashboard.people import ADMIN, TENANT, Cluster, signed_in
from tests.dashboard.what_if.answers import QUOTA, answer, cluster, finding

A, CPU = Ref("", "ClusterQueue", "", "a"), QuotaPair("spot", "cpu")


SVG = "{http://www.w3.org/2000/svg}"


def asked(world: Cluster) -> list[ProposedChange]:
    assert world.what_if is not None
    return [change for _, change in world.what_if.asked]


def nominal(change: ProposedChange) -> str:
    """The one quota of the one object of the change."""
    (made,) = change.manifests
    return str(made["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])


def test_the_form_of_a_node_is_filled_in() -> None:
    client = signed_in(cluster(), ADMIN)

    assert "/what-if?kind=ClusterQueue&amp;name=a" in client.get("/queues/kueue/ClusterQueue/a").text
    page = client.get("/what-if?kind=ClusterQueue&name=a&flavor=spot&resource=cpu").text
    assert 'name="quota-name" value="a"' in page
    assert len(re.findall('<input[^>]* value="a"', page)) == 1  # its name is there once
    assert re.findall("<details( open)?>", page) == [""] * 4  # the other parts are folded
    assert re.findall(
        r"<option[^>]*>(\w+)</option>", page.partition('name="quota-field"')[2].partition("</select>")[0]
    ) == [
        "nominalQuota",
        "borrowingLimit",
        "lendingLimit",
    ]
    assert 'data-refresh="0"' in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("kind=ClusterQueue&name=a&flavor=spot&resource=cpu", "Now: nominalQuota 8."),
        ("kind=Cohort&name=org&flavor=spot&resource=cpu", "Now: nominalQuota 2."),
        ("kind=ClusterQueue&name=a&flavor=spot&resource=memory", ""),
        ("kind=ClusterQueue&name=nobody&flavor=spot&resource=cpu", ""),
        ("kind=Queue&name=a&resource=cpu", ""),
    ],
)
def test_the_form_shows_the_current_quota(query: str, said: str) -> None:
    page = signed_in(cluster(), ADMIN).get(f"/what-if?{query}").text

    assert re.findall(r"Now: [^.]*\.", page) == ([said] if said else [])
    assert "Now: " not in signed_in(cluster(), TENANT).get(f"/what-if?{query}").text


def test_a_filled_in_edit_is_simulated_and_kept() -> None:
    world = cluster()
    page = signed_in(world, ADMIN).post("/what-if", data=QUOTA).text

    assert "nominalQuota: &#39;8&#39;" in page
    assert nominal(asked(world)[0]) == "8"
    assert "The rules allow this change" in page
    assert 'value="quota=ClusterQueue&amp;name=a&amp;flavor=spot' in page
    assert 'name="quota-amount" value=""' in page


def test_edits_add_up_and_one_that_is_not_ticked_is_left_out() -> None:
    world = cluster()
    client = signed_in(world, ADMIN)
    kept = "quota=ClusterQueue&name=a&flavor=spot&resource=cpu&field=nominalQuota&amount=8"
    move = {"quota-kind": "ClusterQueue", "quota-name": "a", "move-parent": "lab"}
    page = client.post("/what-if", data={"edit": [kept], **move, "do": "add"}).text

    assert asked(world) == []
    assert "nominalQuota: &#39;8&#39;" in page
    assert "cohortName: lab" in page
    before = page.partition('<h2 id="keep-title"')[2].partition("<pre")[0]
    assert '<button form="change" name="do" value="show" class="primary">Show the result</button>' in before
    assert '<button form="change"' not in client.post("/what-if", data={**move}).text, "it is there"
    assert nominal(asked(world)[0]) == "4"


@pytest.mark.parametrize(
    ("query", "kinds", "field"),
    [
        ("kind=Queue&name=a", ["Queue"], "capability"),
        ("kind=Namespace&name=a", ["Namespace"], "max"),
        ("kind=Cohort&name=org", ["ClusterQueue", "Cohort"], "nominalQuota"),
        ("", ["ClusterQueue", "Cohort", "Queue", "Namespace"], "nominalQuota"),
    ],
)
def test_the_form_of_a_node_has_only_the_fields_of_its_project(query: str, kinds: list[str], field: str) -> None:
    page = signed_in(cluster(), ADMIN).get(f"/what-if?{query}").text
    select = page.partition('name="quota-kind"')[2].partition("</select>")[0]

    assert re.findall(r'value="(\w+)"', select) == kinds
    fields = page.partition('name="quota-field"')[2].partition("</select>")[0]
    assert re.findall(r"<option[^>]*>(\w+)", fields)[0] == field
    assert ("capability" in fields) == ("Queue" in kinds)
    assert ("stopPolicy" in page) == ("ClusterQueue" in kinds)


def test_a_queue_is_stopped_from_its_page() -> None:
    world = cluster()
    client = signed_in(world, ADMIN)
    assert "<summary>Stop a</summary>" in client.get("/what-if?kind=ClusterQueue&name=a").text
    data = {"quota-kind": "ClusterQueue", "quota-name": "a", "quota-amount": "", "stop-policy": "Hold"}
    page = client.post("/what-if", data=data).text

    assert [change.manifests[0]["spec"]["stopPolicy"] for change in asked(world)] == ["Hold"]
    assert "{&#34;spec&#34;:{&#34;stopPolicy&#34;:&#34;Hold&#34;}}" in page


def test_pasted_yaml_is_sent_unchanged() -> None:
    world = cluster()
    text = "kind: Cohort\r\nmetadata: {name: <b>}\r\n"
    page = signed_in(world, ADMIN).post("/what-if", data={"yaml": text}).text

    assert asked(world) == [ProposedChange(pasted=text.replace("\r\n", "\n"))]
    assert "metadata: {name: &lt;b&gt;}\n" in page


def test_the_page_shows_all_parts_of_the_result() -> None:
    less = PairChange(CPU, PairQuota(4 * 10**9, None), PairQuota(2 * 10**9, None))
    said = answer(
        findings=[finding(Severity.WARNING, "it lends more than it has")],
        nodes=[NodeChange(A, NodeQuotas(A, "org"), NodeQuotas(A, "lab"), (less,), Effect.LOSES)],
        losses=[LossRow("Job ml/low", "a", "preempted", "Preempted to make room", "Job ml/high in b")],
        gains=[GainRow("Job ml/late", "b")],
        over=[Excess(Ref("", "Cohort", "", "lab"), CPU, 9 * 10**9, 8 * 10**9)],
        risks=[RiskRow("ClusterQueue b", "spot/cpu", "9 in use, 8 its own", ("Job ml/x", "2 more"))],
        more={"nodes": 3},
        settled=False,
    )
    page = signed_in(cluster(said), ADMIN).post("/what-if", data=QUOTA).text

    for text in (
        "1 admitted workload is stopped.</strong> Cohort lab uses 1 spot/cpu more than its new limit, and admits",
        "it lends more than it has",
        "moves from org to lab and loses",
        "own quota 4 → 2",
        'Preempted to make room</td><td data-label="For">Job ml/high in b',
        'Job ml/late</th><td data-label="ClusterQueue">b',
        'Cohort lab</th><td class="pair" data-label="Flavor and resource">spot/cpu</td>',
        '<td class="number" data-label="In use">9</td>',
        '<td class="number" data-label="Limit">8',
        "Job ml/x, 2 more",
        "This does not settle",
        "and 3 more",
        "read at <time>2026-11-23T10:00:00Z",
    ):
        assert text in page, text


def test_changes_of_the_usable_maximum_are_shown() -> None:
    reach = PairChange(CPU, PairQuota(8, 8, 8, 96 * 10**9), PairQuota(8, 8, 8, 136 * 10**9))
    rows = [ReachRow("spot/cpu", True, 8, "16"), ReachRow("spot/cpu", False, 1, "")]
    node = NodeChange(A, NodeQuotas(A, "org"), NodeQuotas(A, "org"), (reach,), Effect.GAINS)
    page = signed_in(cluster(answer(nodes=[node], only_reach=9, reaches=rows)), ADMIN).post("/what-if", data=QUOTA).text

    assert "most that it can use 96 → 136" in page
    end = "than before while others are idle."
    assert f"8 other queues or Cohorts keep their quota, and could use up to 16 more spot/cpu {end}" in page
    assert f"1 other queue or Cohort keeps its quota, and could use less spot/cpu {end}" in page


def test_the_tree_is_drawn_before_and_after() -> None:
    org = OutlinedNode(0, Ref("", "Cohort", "", "org"), (), (), 3)
    grown = OutlinedAmount("spot/cpu", "subtree", "8", 100.0, 50.0, 1)
    before = [org, OutlinedNode(1, A, (), (grown._replace(amount="4", width=50.0, other=100.0, step=0),), 0)]
    after = [org, OutlinedNode(1, A, ("1 admitted",), (grown,), 0)]
    page = signed_in(cluster(answer(outlines=Outlines(before, after))), ADMIN).post("/what-if", data=QUOTA).text

    first, second = page.partition('aria-label="After"')[::2]
    assert "spot/cpu: quota 4" in first
    assert '<rect class="kept" width="50.0"' in first
    assert "used" not in first.partition("<h3>The tree</h3>")[2], "quota is not use"
    assert '<rect class="gained" x="50.0" width="50.0"' in second
    assert 'quota 8 <span class="mark">more</span>' in second
    assert '<li class="depth-1 changes">ClusterQueue <strong>a</strong> <span class="mark">1 admitted</span>' in second
    assert "and 3 below that do not change" in second


def test_both_outlines_are_downloaded_as_one_svg() -> None:
    grown = OutlinedAmount("spot/cpu", "subtree", "8", 100.0, 50.0, 1)
    shrunk = grown._replace(pair="spot/memory", amount="1Gi", width=25.0, other=100.0, step=-1)
    before = [OutlinedNode(0, A, (), (grown._replace(width=50.0, other=100.0, step=0), shrunk._replace(step=0)), 2)]
    after = [OutlinedNode(0, A, ("in no tree",), (grown, shrunk), 1)]
    said = answer(outlines=Outlines(before, after, ("a -> b -> a",), (0, 7)))
    found = signed_in(cluster(said), ADMIN).post("/what-if/tree.svg", data=QUOTA)
    texts = ["".join(each.itertext()) for each in ElementTree.fromstring(found.data).iter(f"{SVG}text")]

    assert (found.mimetype, found.headers["Content-Disposition"]) == (
        "image/svg+xml",
        'attachment; filename="what-if.svg"',
    )
    assert texts[0] == "What if: ClusterQueue a: nominalQuota of spot/cpu becomes 8, 2026-11-23T10:00:00Z"
    assert texts[1:4] == ["After this change there is no tree: a -> b -> a is a cycle.", "Before", "After"]
    assert "ClusterQueue a  [in no tree]" in texts
    assert "spot/memory: quota 1Gi  [less]" in texts
    assert "and 7 more" in texts


def test_a_drawing_that_is_not_ready_returns_the_page() -> None:
    found = signed_in(cluster(ReadingCluster("for 9 s")), ADMIN).post("/what-if/tree.svg", data=QUOTA)

    assert (found.status_code, found.mimetype) == (202, "text/html")


def test_a_change_that_makes_a_cycle_has_no_tree_after_it() -> None:
    said = answer(
        findings=[finding(Severity.ERROR, "its parents form a cycle")],
        outlines=Outlines(
            [OutlinedNode(0, A, (), (), 0)], [OutlinedNode(0, A, ("in no tree",), (), 0)], ("a -> b -> a",)
        ),
    )
    page = signed_in(cluster(said), ADMIN).post("/what-if", data=QUOTA).text

    assert "After this change there is no tree: <strong>a → b → a</strong> is a cycle." in page
    assert "if it were allowed" not in page


def test_the_only_flavor_of_a_queue_is_filled_in_for_a_relative_amount() -> None:
    world = cluster()
    data = {"quota-kind": "ClusterQueue", "quota-name": "a", "quota-field": "nominalQuota", "quota-amount": "+16"}
    page = signed_in(world, ADMIN).post("/what-if", data=data).text

    assert "ClusterQueue a: nominalQuota of spot/cpu becomes 16 more than now" in page
    [(_, change)] = world.what_if.asked if world.what_if else []
    [flavor] = change.manifests[0]["spec"]["resourceGroups"][0]["flavors"]
    assert flavor["resources"] == [{"name": "cpu", "nominalQuota": "20"}]


def test_a_denial_and_objects_that_were_not_judged_are_shown() -> None:
    said = answer(
        findings=[finding(Severity.ERROR, "exceeds its parent")],
        not_judged=["Secret team/x"],
        left_out=["limitranges"],
        in_no_queue=[LeftOut(Name("Job", "a", "b"), "no")],
        unreadable=["line 7: is given twice"],
    )
    page = signed_in(cluster(said), ADMIN).post("/what-if", data=QUOTA).text

    assert "The webhook refuses this change" in page
    assert "exceeds its parent" in page
    assert "Secret team/x has no quota" in page
    notes = re.findall("<li>(.*?)</li>", page.partition("<h3>Notes</h3>")[2].partition("</ul>")[0])
    assert notes[-1] == "You may not list limitranges: the result assumes that there are none"
    assert "Job a/b</strong> is in no queue: no" in page
    assert "line 7: is given twice" in page


def test_new_work_is_explained_as_on_a_workload_page() -> None:
    big = {"kind": "Job", "namespace": "ml", "name": "big"}
    said = answer(
        work=[{"state": "waiting", "job": big, "reason": "Pending", "message": "26 more needed", "lacks": []}]
    )
    page = signed_in(cluster(said), ADMIN).post("/what-if", data={"yaml": "x"}).text

    assert "<h4>Job ml/big</h4>" in page
    assert "<strong>Pending</strong>: 26 more needed" in page


def test_a_user_without_rights_gets_403_with_the_missing_rights() -> None:
    world = cluster()
    found = signed_in(world, TENANT).post("/what-if", data=QUOTA)

    assert found.status_code == 403
    assert "<code>get clusterqueues.kueue.x-k8s.io</code>" in found.text
    assert "<code>list namespaces</code>" in found.text
    assert asked(world) == []


def test_missing_rights_are_shown_instead_of_the_form() -> None:
    page = signed_in(cluster(), TENANT).get("/what-if").text

    assert page.index("Rights that you lack: 1</summary>") < page.index("<code>list namespaces</code>")
    assert "The ClusterRole view lists Namespaces." in page
    assert "quotree-batch-admin" not in page, "it grants nothing of what is missing"
    assert 'href="#yaml"' not in page  # there is no YAML yet
    assert 'id="change"' not in page, "a form that cannot be answered"
    admins = signed_in(cluster(), ADMIN).get("/what-if").text
    assert "Rights that you lack" not in admins
    assert 'id="change"' in admins


def test_all_mistakes_in_a_form_are_reported_together() -> None:
    data = {"quota-kind": "ClusterQueue", "quota-field": "nominalQuota"}
    wrong = {**data, "quota-name": "nosuch", "quota-amount": "sixteen", "move-parent": "org", "stop-policy": "Hold"}
    page = signed_in(cluster(), ADMIN).post("/what-if", data=wrong).text

    said = re.findall("<p>(.*?)</p>", page.partition('role="alert"')[2].partition("</div>")[0])
    assert said[0] == "ClusterQueue nosuch does not exist."
    assert said[1].startswith("The nominalQuota of ClusterQueue nosuch is sixteen, which is not a valid amount")
    assert len(said) == 2
    assert 'name="quota-amount" value="sixteen"' in page
    assert not re.search('name="edit" value', page)


def test_a_cohort_may_be_missing_and_none_removes_a_limit() -> None:
    world = cluster()
    data = {**QUOTA, "quota-kind": "Cohort", "quota-name": "lab", "quota-field": "borrowingLimit"}
    page = signed_in(world, ADMIN).post("/what-if", data={**data, "quota-amount": "none"}).text

    assert "Cohort lab: borrowingLimit of spot/cpu is removed" in page
    assert "does not exist" not in page


def test_errors_are_listed_first_and_less_quota_is_not_drawn_as_more() -> None:
    said = [finding(Severity.WARNING, "it is odd"), finding(Severity.ERROR, "it is wrong")]
    shrunk = OutlinedNode(0, A, (), (OutlinedAmount("spot/cpu", "subtree", "2", 25.0, 100.0, -1),), 0)
    page = (
        signed_in(cluster(answer(findings=said, outlines=Outlines([], [shrunk]))), ADMIN)
        .post("/what-if", data=QUOTA)
        .text
    )

    assert page.index("it is wrong") < page.index("it is odd")
    assert '<span class="mark less">less</span>' in page


@pytest.mark.parametrize(
    ("error", "status", "again"),
    [(ReadingCluster("for 9 s"), 202, True), (TryAgain("others ask"), 503, True), (Unanswered("too long"), 503, False)],
)
def test_the_form_is_kept_if_the_result_is_not_ready(error: Exception, status: int, again: bool) -> None:
    found = signed_in(cluster(error), ADMIN).post("/what-if", data=QUOTA)

    assert found.status_code == status
    assert str(error) in found.text
    assert ("data-again" in found.text) == again
    assert "nominalQuota of spot/cpu becomes 8" in found.text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "The form has no change yet"),
        ({**QUOTA, "quota-amount": "lots"}, "lots, which is not a valid amount"),
        ({**QUOTA, "quota-name": "zzz"}, "ClusterQueue zzz does not exist"),
        ({"edit": "move=Cohort&name=..&parent=y"}, "is not a valid object name"),
        ({"edit": "rm -rf"}, "was not made by this form"),
        ({"edit": ["move=Cohort&name=x&parent=y"] * 51}, "no more than 50 edits"),
    ],
)
def test_an_invalid_change_is_reported_on_the_form(data: dict[str, Any], said: str) -> None:
    world = cluster()
    found = signed_in(world, ADMIN).post("/what-if", data=data)

    assert found.status_code == 400
    assert said in found.text
    assert asked(world) == []


def test_a_too_large_form_gets_413() -> None:
    world = cluster()
    found = signed_in(world, ADMIN).post("/what-if", data={"yaml": "x" * 300_000})

    assert found.status_code == 413
    assert asked(world) == []


def test_the_change_is_downloaded_as_yaml() -> None:
    world = cluster()
    found = signed_in(world, ADMIN).post("/what-if/change.yaml", data={**QUOTA, "yaml": "kind: Cohort"})

    assert found.headers["Content-Disposition"] == 'attachment; filename="change.yaml"'
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    assert [each.get("kind") for each in yaml.safe_load_all(found.text)] == ["ClusterQueue", "Cohort"]
    assert asked(world) == []
    assert signed_in(cluster(), TENANT).post("/what-if/change.yaml", data=QUOTA).status_code == 403


def test_the_downloaded_change_has_its_edits_and_the_pasted_yaml() -> None:
    page = signed_in(cluster(answer()), ADMIN).post("/what-if", data={**QUOTA, "yaml": 'note: "<&\n"'}).text
    kept = page.partition('action="/what-if/change.yaml"')[2].partition("</form>")[0]
    asked = page.partition('id="change"')[2].partition("</form>")[0]

    fields = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', kept)}
    assert fields["yaml"] == 'note: "<&\n"'
    assert fields["edit"] in unescape(asked)
    assert re.findall(r"<button[^>]*>([^<]*)", asked)[0] == "Show the result", "what Enter in a field does"


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}}", "a\u202eb"])
def test_names_are_escaped(name: str) -> None:
    said = answer(
        findings=[finding(Severity.ERROR, name)],
        losses=[LossRow(name, name, name, name, name)],
        in_no_queue=[LeftOut(Name(name, name, name), name)],
        not_judged=[name],
        left_out=[name],
    )
    data = {**QUOTA, "yaml": name, "move-name": name, "work-name": name}
    page = signed_in(cluster(said), ADMIN).post("/what-if", data=data).text

    assert "<script>alert" not in page
    assert "<img" not in page
    assert "49" not in page or name != "{{7*7}}"
    assert page.count("\u202e") == (2 if name == "a\u202eb" else 0)  # in the forms of who has pasted it


def test_a_request_from_another_site_gets_403() -> None:
    world = cluster()
    found = signed_in(world, ADMIN).post("/what-if", data=QUOTA, headers={"Origin": "https://evil"})

    assert found.status_code == 403
    assert asked(world) == []
