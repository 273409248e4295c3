"""The dashboard in Chromium, in front of the shipped reconciler and a real API server with 2 000 queues."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.apiserver.dashboard.browsed import QUEUES, WAITS, World
from tests.apiserver.dashboard.chromium import Visitor
from tests.apiserver.dashboard.pixels import colors, contrast
from tests.apiserver.dashboard.seen import block, focused, names, row
from tests.apiserver.dashboard.world import ADMIN, CPU, EACH, RBAC, STRANGER, TENANT, bound, reconciling
from tests.apiserver.kueue_world import KUEUE, workload
from tests.builders import cohort, flavor, group, quota
from tests.waiting import eventually

TREES, QUEUE, SPACE = "/trees/kueue", "/queues/kueue/ClusterQueue/queue-0", "/namespaces/team-0"
BELOW = f"{TREES}?node=Cohort/group-3"
PAGES = {
    "/": 200,
    TREES: 200,
    BELOW: 200,
    f"{TREES}?q=none-has-this": 200,
    QUEUE: 200,
    "/queues/kueue/Cohort/org": 200,
    "/namespaces/": 200,
    "/workloads/": 200,
    SPACE: 200,
    f"/workloads/team-0/{WAITS}": 200,
    "/workloads/team-0/train-0": 200,
    "/clusters": 200,
    "/topologies": 200,
    "/findings": 200,
    "/what-if": 200,
    "/trees/volcano": 403,
    "/trees/none": 404,
}


# --- what pages show


@pytest.mark.parametrize(
    "paths", [pytest.param([TREES, QUEUE], id="large"), pytest.param([*PAGES], id="all", marks=pytest.mark.nightly)]
)
def test_pages_are_accessible_in_both_themes(admin: Visitor, paths: list[str]) -> None:
    """CI looks at all pages of a small cluster in `test_every_page.py`."""
    for path in paths:
        page = admin.to(path, PAGES[path])
        assert page.locator("h1").count() == 1, path
        assert admin.serious() == [], path
        page.emulate_media(color_scheme="dark")
        assert admin.serious("color-contrast") == [], f"{path} in the dark"
        page.emulate_media(color_scheme="light")


def test_the_start_page_links_to_the_reason_why_a_workload_waits(admin: Visitor) -> None:
    page = admin.to("/")
    waiting = page.locator("li.pending", has_text="ClusterQueue queue-0 has 1 pending")

    expect(waiting).to_contain_text(f"team-0/{WAITS} is first and has waited")
    waiting.get_by_role("link", name=f"Why team-0/{WAITS} waits").click()
    expect(page.locator("h1")).to_contain_text(WAITS)


def test_the_tree_page_has_a_drawing_and_a_table(admin: Visitor) -> None:
    page = admin.to(TREES)

    assert block(page, "Cohort org").count() == 1
    assert block(page, "Cohort group-").count() == 0, "a name is whole"
    assert all(block(page, f"Cohort group-{each}").count() == 1 for each in range(100))
    assert names(page) == ["org", *(f"division-{each}" for each in range(10))]
    page.get_by_role("link", name="Unfold all").click()
    expect(page.locator("caption")).to_contain_text(f"1 to 100 of {QUEUES + 111}, spot/cpu")
    assert names(page)[:5] == ["org", "division-0", "group-0", "queue-0", "queue-1"]
    assert names(page)[13:16] == ["queue-10", "queue-11", "queue-12"]
    page.get_by_role("link", name="Next").click()
    expect(page.locator("caption")).to_contain_text("101 to 200 of")
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("caption")).to_contain_text("1 to 100 of")


def test_a_click_zooms_into_a_node_without_a_reload_and_back_returns(admin: Visitor) -> None:
    page = admin.to(TREES)
    page.evaluate("window.same = true")

    block(page, "Cohort division-3").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cohort division-3")
    assert page.locator("[data-icicle] .block:not(.rest)").count() == 211, "itself, 10 Cohorts, 200 queues"
    block(page, "Cohort group-35").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cohort group-35")
    assert page.url.endswith("node=Cohort%2Fgroup-35&pair=spot%2Fcpu")
    assert page.title() == "Kueue: group-35 · Quotree"
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cohort division-3")
    page.get_by_role("navigation", name="Path").get_by_role("link", name="org").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cohort org")
    assert page.evaluate("window.same")


def test_the_tree_page_filters_by_name_and_by_flavor_and_resource(admin: Visitor) -> None:
    page = admin.to(TREES)
    page.get_by_label("Name").fill("QUEUE-199")
    page.get_by_label("Name").press("Enter")
    expect(page.locator("#table tbody th").first).to_contain_text("queue-199")
    expect(page.locator("caption")).to_contain_text("1 to 11 of 11")
    assert names(page) == ["queue-199", *(f"queue-199{each}" for each in range(10))]

    page.get_by_label("Name").fill("queue-1")
    page.get_by_label("Flavor and resource").select_option("spot/memory")
    expect(page.locator("caption")).to_contain_text("spot/memory")
    assert row(page, "queue-1")[:4] == ["queue-1", "ClusterQueue", "8Gi", "0"]


def test_the_table_folds_and_sorts_and_keeps_the_focus(admin: Visitor) -> None:
    page = admin.to(TREES)
    page.evaluate("window.same = true")
    page.get_by_role("link", name="Unfold division-7", exact=True).press("Enter")
    expect(page.get_by_role("link", name="Fold division-7", exact=True)).to_be_focused()
    assert names(page)[8:10] == ["division-7", "group-70"]
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Unfold division-7", exact=True)).to_be_focused()
    page.get_by_role("columnheader", name="Pending").get_by_role("link").press("Enter")
    expect(page.get_by_role("columnheader", name="Pending")).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("columnheader", name="Pending").get_by_role("link")).to_be_focused()
    assert {"org", "division-0", "group-0", "queue-0"} == set(names(page)[:4])
    assert page.evaluate("window.same")


def test_each_state_has_contrast_and_a_pattern_in_both_themes(admin: Visitor, world: World) -> None:
    """queue-0 uses 70, of which 14 are allowed."""
    limits(world, "queue-2", stopPolicy="Hold")
    limits(world, "queue-0", borrow=10)
    page = admin.to(f"{TREES}?node=Cohort/group-0")
    shown = {"queue-0": ("borrowed", "over"), "queue-1": ("used",), "queue-2": ("stopped",)}
    try:
        expect(block(page, "ClusterQueue queue-2")).to_have_class(re.compile("stopped"))
        expect(block(page, "ClusterQueue queue-0")).to_have_class(re.compile("over"))
        settled(page)
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            ground = colors(block(page, "ClusterQueue queue-3").locator("rect.idle"))
            empty = max(ground, key=lambda color: ground[color])
            for state, bar in ((each, block(page, f"ClusterQueue {name}")) for name in shown for each in shown[name]):
                found = colors(bar.locator(f"rect.{state}"))
                assert max(contrast(color, empty) for color in found) >= 3, (theme, state, found)
                assert (len(found) > 1) is (state != "used"), (theme, state, found)
            assert admin.serious("color-contrast") == [], theme
    finally:
        page.emulate_media(color_scheme="light")
        limits(world, "queue-2", stopPolicy="None")
        limits(world, "queue-0", borrow=CPU * (EACH - 1))


def settled(page: Page) -> None:
    """Wait for the first refresh: from then on unchanged elements stay, and drawn ones can be examined."""
    read = page.locator("#read")
    expect(read).not_to_have_text(read.inner_text())


def limits(world: World, name: str, borrow: int | None = None, **spec: str) -> None:
    """Change the borrowing limit of a ClusterQueue, or other fields of its spec."""
    groups = {"resourceGroups": [group("cpu", flavor("spot", cpu=quota(CPU, borrow=borrow)))]} if borrow else {}
    path = f"{KUEUE}/clusterqueues/{name}"
    world.server.request("PATCH", path, {"spec": {**groups, **spec}}, content_type="application/merge-patch+json")


def test_the_drawing_of_the_tree_can_be_downloaded_as_svg(admin: Visitor) -> None:
    page = admin.to(BELOW)
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download as SVG").click()

    assert saved.value.suggested_filename == "kueue.svg"
    drawn = saved.value.path().read_text()
    assert "ClusterQueue queue-66: 0 of 4 spot/cpu used" in drawn
    page.goto("about:blank")
    page.set_content(drawn.partition("?>")[2])
    assert page.locator("svg").screenshot()


def test_the_queue_page_shows_usage_and_pending_workloads(admin: Visitor) -> None:
    page = admin.to(QUEUE)

    assert row(page, "spot/cpu")[1:5] == ["4", "70", "1750%", "66"]
    expect(page.get_by_role("img", name=re.compile(r"^spot.cpu: .* used .* ago, .* now"))).to_be_visible()
    expect(page.get_by_role("region", name="The object")).to_contain_text("kubectl edit clusterqueues.kueue.x-k8s.io")
    waits = page.get_by_role("region", name="Pending workloads")
    expect(waits).to_contain_text(f"team-0/{WAITS}")
    expect(waits).to_contain_text("It needs 10 more spot/cpu than queue-0 may borrow by its borrowingLimit")
    assert "queue-0" not in page.get_by_role("region", name="Siblings that borrow").inner_text()
    page.get_by_role("link", name="Show in the tree").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Cohort group-0")
    expect(block(page, "ClusterQueue queue-0")).not_to_have_class(re.compile("dim"))
    expect(block(page, "ClusterQueue queue-1")).to_have_class(re.compile("dim"))


def test_the_workload_page_shows_why_it_waits_and_its_history(admin: Visitor) -> None:
    page = admin.to(f"/workloads/team-0/{WAITS}")
    why = page.get_by_role("region", name="Why it is pending")
    expect(page.locator(".headline")).to_have_text(
        re.compile(
            r"^Waits .* in queue-0: it needs 10 more spot/cpu than queue-0 may borrow by its borrowingLimit;"
            r" 1st in line, tried again when something changes in its tree\.$"
        )
    )
    assert row(page, "main")[1:5] == ["spot/cpu", "20", "10", "ClusterQueue queue-0: borrowingLimit, 10 short"]
    expect(why).to_contain_text("Held by")
    expect(why.locator("td").last).to_contain_text("queue-0 70")
    expect(page.get_by_role("region", name="Timeline")).to_contain_text("QuotaReserved False (Pending)")

    page = admin.to("/workloads/team-0/train-0")
    expect(page.get_by_role("region", name="Status")).to_contain_text("Admitted in ClusterQueue queue-0")
    life = page.locator(".timeline li strong").all_inner_texts()
    assert life[0] == "Created"
    assert {"QuotaReserved", "Admitted"} < set(life)
    assert [each for each in life if each.startswith("Event")]


def test_a_tenant_sees_its_own_workloads_and_no_names_of_others(admin: Visitor, world: World, browser: Browser) -> None:
    admin.to(SPACE)  # once the reconciler knows it all
    with Visitor(browser, world.dashboard.url) as tenant:
        page = tenant.sign_in(TENANT.token, SPACE)
        expect(page.get_by_role("heading", level=1)).to_have_text("Namespace team-0")
        page = tenant.to("/workloads/")
        expect(page.get_by_role("row", name=re.compile(f"team-0.{WAITS}"))).to_be_visible()
        for path in ("/workloads/", "/namespaces/", f"/workloads/team-0/{WAITS}"):
            text = tenant.to(path).locator("main").inner_text()
            assert "team-1" not in text, path
            assert "queue-1" not in text, path
            assert tenant.serious() == [], path


def test_new_audit_findings_appear_at_once(admin: Visitor, world: World) -> None:
    page = admin.to("/findings")
    for name, above in (("loop-a", "loop-b"), ("loop-b", "loop-a")):
        world.server.request("POST", f"{KUEUE}/cohorts", cohort(name, above))
    try:
        found = page.get_by_role("row", name=re.compile("parent-cycle"))
        expect(found.first).to_be_visible()
        assert admin.serious() == []
        at = "/queues/kueue/Cohort/loop-a"
        eventually(lambda: page.request.get(world.dashboard.url + at).ok)  # the reconciler may know it later
        page = admin.to(at)
        expect(page.get_by_role("region", name="Findings")).to_contain_text("parent-cycle")
        expect(page.locator("main")).to_contain_text("It is on a cycle")
    finally:
        page.goto("about:blank")  # the page of a deleted queue reloads itself
        for name in ("loop-a", "loop-b"):
            world.server.remove(f"{KUEUE}/cohorts/{name}")


@pytest.mark.nightly  # CI has it with fewer queues in `test_tasks.py`
def test_the_what_if_page_shows_the_effect_of_more_quota(admin: Visitor) -> None:
    page = admin.to(QUEUE)
    page.get_by_role("link", name=re.compile("^What if .")).click()
    quota = page.get_by_role("group", name="Change a quota")
    assert quota.get_by_label("Name", exact=True).input_value() == "queue-0"
    quota.get_by_role("textbox", name="New amount").fill("34")
    page.get_by_role("button", name="Show the result").click()
    # Its process has a low priority, so it reads the cluster slowly on a busy machine; the page repeats its request.
    expect(page.get_by_role("heading", name="Result")).to_be_visible(timeout=180_000)

    expect(page.get_by_role("table", name="Pending workloads that get in")).to_contain_text(WAITS)
    expect(page.locator("#yaml")).to_contain_text(re.compile("nominalQuota: .?34"))
    assert admin.serious() == []
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as YAML").click()
    assert "queue-0" in download.value.path().read_text()
    page.get_by_role("button", name="Show the result").click()
    expect(page.get_by_role("table", name="Quota before and after")).to_contain_text("own quota 4 → 34")


def test_no_page_is_wider_than_a_narrow_screen(admin: Visitor) -> None:
    page = admin.page
    page.set_viewport_size({"width": 390, "height": 800})
    try:
        for path, status in PAGES.items():
            admin.to(path, status)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    finally:
        page.set_viewport_size({"width": 1280, "height": 800})


def test_the_tree_page_has_a_light_a_dark_and_a_print_style(admin: Visitor) -> None:
    page = admin.to(TREES)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) != light
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    for hidden in ("header", "form.filters", ".pages", ".tabs"):
        expect(page.locator(hidden)).to_be_hidden()
    for shown in ("svg[data-icicle]", "#table", "h1"):
        expect(page.locator(shown)).to_be_visible()
    fill = page.evaluate("getComputedStyle(document.querySelector('.block text')).fill")
    assert fill == "rgb(27, 31, 35)", "dark colors are for screens"
    assert page.pdf(format="A4").startswith(b"%PDF")


# --- with the keyboard alone


def test_the_focus_stays_on_the_content_during_a_refresh(admin: Visitor, world: World) -> None:
    page = admin.to(BELOW)
    page.evaluate("window.same = true")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{BELOW}#main")
    world.offer("queue-66", 9)

    expect(block(page, "ClusterQueue queue-66: 0 of 9")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.evaluate("window.same")


def test_the_focus_moves_to_the_table_on_its_next_page(admin: Visitor) -> None:
    page = admin.to(f"{TREES}?rows=all")
    page.get_by_role("link", name="Next").press("Enter")
    expect(page.locator("#table")).to_be_focused()
    expect(page.locator("caption")).to_contain_text("101 to 200 of")
    page.go_back()
    expect(page.locator("caption")).to_contain_text("1 to 100 of")


def test_the_tree_can_be_navigated_by_keyboard_alone(admin: Visitor) -> None:
    page = admin.to(TREES)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused(page).startswith("Cohort org"):
            break
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("Cohort division-5:"), "the one in the middle"
    page.keyboard.press("ArrowRight")
    assert focused(page).startswith("Cohort division-6:")
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("Cohort group-60:")
    page.keyboard.press("ArrowUp")
    assert focused(page).startswith("Cohort division-6:")
    page.keyboard.press("ArrowLeft")
    assert focused(page).startswith("Cohort division-5:")
    assert page.evaluate("getComputedStyle(document.activeElement.querySelector('.quota')).strokeWidth") == "2.5px"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Cohort division-5")
    assert page.evaluate("document.activeElement.id") == "main"


# --- while it is open


def test_an_automatic_refresh_keeps_focus_scroll_and_input(admin: Visitor, world: World) -> None:
    page = admin.to(BELOW)
    page.evaluate("window.same = true")
    link = block(page, "ClusterQueue queue-65")
    link.focus()
    page.evaluate("scrollTo(0, 150)")
    before = page.evaluate("scrollY")
    world.offer("queue-65", 9)

    expect(block(page, "ClusterQueue queue-65: 0 of 9")).to_be_focused()
    assert page.evaluate("scrollY") == before
    assert page.evaluate("window.same")
    page.get_by_label("Name").fill("half a na")
    world.offer("queue-65", 4)
    expect(block(page, "ClusterQueue queue-65: 0 of 4")).to_be_visible()
    assert page.get_by_label("Name").input_value() == "half a na"
    expect(page.get_by_label("Name")).to_be_focused()


def test_a_new_workload_appears_and_the_history_of_its_queue_grows(admin: Visitor, world: World) -> None:
    page = admin.to("/namespaces/team-1")
    world.server.request("POST", f"{KUEUE}/namespaces/team-1/workloads", workload("newcomer", "1"))
    expect(page.get_by_role("link", name="newcomer")).to_be_visible()

    page = admin.to("/queues/kueue/ClusterQueue/queue-1")
    line = page.get_by_role("img", name="spot/cpu:")
    expect(line).to_have_accessible_name(re.compile("2 now"))
    world.server.remove(f"{KUEUE}/namespaces/team-1/workloads/newcomer")
    expect(line).to_have_accessible_name(re.compile("1 now"))
    points = line.locator("polyline").get_attribute("points") or ""
    assert len(points.split()) > 1


def test_the_page_shows_that_it_is_stale_without_the_reconciler(admin: Visitor, world: World, tmp_path: Path) -> None:
    page = admin.to(QUEUE)
    port = world.replica.address["api"].rpartition(":")[2]
    world.replica.end(signal.SIGKILL)
    expect(page.get_by_role("alert")).to_contain_text("This is stale: it was read")
    expect(page.get_by_role("alert")).to_contain_text(f"127.0.0.1:{port}")
    assert row(page, "spot/cpu")[1:3] == ["4", "70"]

    world.replica = world.opened.enter_context(reconciling(world.server, tmp_path / "reconciler", int(port)))
    expect(page.get_by_role("alert")).to_have_count(0)
    settled(page)
    assert row(page, "spot/cpu")[1:3] == ["4", "70"]


def test_a_user_who_loses_a_right_loses_access_to_the_open_page(world: World, browser: Browser) -> None:
    with Visitor(browser, world.dashboard.url) as tenant:
        page = tenant.sign_in(TENANT.token, "/workloads/team-0/train-0")
        expect(page.get_by_role("heading", level=1)).to_have_text("Workload train-0")
        binding = f"{RBAC}/namespaces/team-0/rolebindings"
        role = bound("tenant", "quotree-batch-user", TENANT.name, "team-0")
        tenant.expected.append("status of 403")
        world.server.request("DELETE", f"{binding}/tenant")
        expect(page.get_by_role("heading", level=1)).to_have_text("You may not see this")
        page.wait_for_timeout(2000)
        asked = tenant.requests
        page.wait_for_timeout(2000)
        assert tenant.requests == asked, "a page without access does not repeat its request"
        world.server.request("POST", binding, role)


def test_an_open_page_reports_a_lost_connection_and_recovers(admin: Visitor) -> None:
    page = admin.to(BELOW)
    admin.expected.append("ERR_INTERNET_DISCONNECTED")
    page.context.set_offline(True)
    expect(page.locator("#live")).to_contain_text("Not refreshed for")
    page.context.set_offline(False)
    expect(page.locator("#live")).to_have_text("")


# --- other users than the admin, and no JavaScript


def test_the_dashboard_works_without_javascript(world: World, browser: Browser) -> None:
    with Visitor(browser, world.dashboard.url, java_script_enabled=False) as visitor:
        page = visitor.sign_in(ADMIN.token, TREES)
        assert page.url == world.dashboard.url + TREES
        block(page, "Cohort division-3").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Cohort division-3")
        page.get_by_label("Name").fill("queue-6")
        page.get_by_role("button", name="Show").click()
        assert page.get_by_label("Name").input_value() == "queue-6"
        expect(page.get_by_role("heading", level=1)).to_have_text("Cohort division-3")
        page.get_by_role("link", name="queue-600", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("ClusterQueue queue-600")
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="Namespaces").click()
        page.get_by_role("link", name="team-0", exact=True).click()
        page.get_by_role("link", name=WAITS).last.click()
        expect(page.get_by_role("region", name="Why it is pending")).to_contain_text("10 short")
        with page.expect_request("**/workloads/**") as again:
            page.get_by_role("link", name="Refresh").click()
        assert again.value.all_headers()["referer"] == again.value.url, "which asks for the newest"
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        visitor.to(TREES)
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_a_tenant_sees_only_its_own_namespace_beside_an_admin(admin: Visitor, world: World, browser: Browser) -> None:
    admin.to(TREES)
    with Visitor(browser, world.dashboard.url) as tenant:
        page = tenant.sign_in(TENANT.token, SPACE)
        expect(page.get_by_role("region", name="Pending workloads")).to_contain_text(WAITS)
        assert row(page, "train-0")[:4] == ["train-0", "main", "admitted", "30 cpu"]
        page = tenant.to(f"/workloads/team-0/{WAITS}")
        expect(page.get_by_role("region", name="Why it is pending")).to_contain_text("10 short")

        for path in (TREES, QUEUE, BELOW, "/clusters", "/workloads/team-1/other", "/workloads/team-1/none"):
            page = tenant.to(path, 403)
            assert "tenant" in tenant.text(), path
            assert not re.search(r"queue-1\b|group-|division-", tenant.text()), path
            assert tenant.serious() == [], path
        page = tenant.to(TREES, 403)
        page.get_by_role("link", name="My namespaces").click()
        page.get_by_label("Open a namespace by its name").fill("team-1")
        page.get_by_role("button", name="Open").click()
        expect(page.locator("main")).to_contain_text("You may not see LocalQueues")
        expect(page.locator("main")).to_contain_text("You may not see Workloads")
        for hidden in ("other", "queue-1"):
            assert hidden not in tenant.text().replace("others", "")
    admin.to("/workloads/team-1/other")


def test_users_without_rights_see_nothing_and_unknown_tokens_are_rejected(world: World, browser: Browser) -> None:
    with Visitor(browser, world.dashboard.url) as stranger:
        page = stranger.to(TREES)
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        stranger.expected.append("status of 401")
        page.get_by_label("Token").fill("of-nobody")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text(
            "The cluster does not accept this token: it is unknown or expired."
        )
        stranger.sign_in(STRANGER.token, SPACE)
        assert "You may not see LocalQueues" in stranger.text()
        assert WAITS not in stranger.text()
        for path in (TREES, QUEUE, f"/workloads/team-0/{WAITS}", "/clusters"):
            stranger.to(path, 403)
