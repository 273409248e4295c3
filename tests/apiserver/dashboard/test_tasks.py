"""The daily questions of an administrator and a tenant are answered within three clicks from the start page: also
without JavaScript, at both widths and in both themes. A small company with every kind of problem."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.apiserver import build
from tests.apiserver.dashboard.browsed import audited
from tests.apiserver.dashboard.chromium import NARROW, WIDE, Visitor, views
from tests.apiserver.dashboard.company import company, work
from tests.apiserver.dashboard.pixels import contrasts
from tests.apiserver.dashboard.world import ADMIN, TENANT, USERS, Dashboard, post, reconciling, sees_namespaces
from tests.apiserver.harness import ControlPlane
from tests.apiserver.jobs.job_kinds import JOB_SET, definition
from tests.apiserver.kueue_world import KUEUE
from tests.apiserver.manifests import apply, define, kustomized
from tests.apiserver.reconciler.shipped_reconciler import shipped
from tests.apiserver.webhook.guard import ROOT
from tests.builders import cohort, kueue
from tests.waiting import eventually

WAITS = "/workloads/language/pretrain-13b"
QUEUE = "/queues/kueue/ClusterQueue/language"
PAGES = ("/", "/workloads/", "/namespaces/", QUEUE, WAITS, "/what-if?kind=ClusterQueue&name=vision")


@pytest.fixture(scope="module")
def url(programs: build.Programs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard of the company, with an unreachable worker and two Cohorts on a cycle."""
    folder = tmp_path_factory.mktemp("morning")
    with ExitStack() as opened:
        server = shipped(opened.enter_context(ControlPlane(users=USERS)))
        define(server, [definition(JOB_SET)])
        kinds = ("Namespace", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
        rights = [each for each in kustomized(ROOT / "manifests" / "with-multikueue") if each["kind"] in kinds]
        apply(server, rights)
        company(server)
        sees_namespaces(server)
        post(server, f"{KUEUE}/cohorts", [cohort("loop-a", "loop-b"), cohort("loop-b", "loop-a")])
        source = {"clusterSource": {"kubeConfig": {"location": "worker-west", "locationType": "Secret"}}}
        post(server, f"{KUEUE}/multikueueclusters", [kueue("MultiKueueCluster", "worker-west", source)])
        replica = opened.enter_context(reconciling(server, folder / "reconciler", 0, "--feature-gates=MultiKueue=true"))
        work(server)
        dashboard = Dashboard(
            server, folder / "dashboard", replica.address["api"], *audited(server, folder, opened), "--refresh=0"
        )
        opened.callback(dashboard.close)
        yield dashboard.url


@pytest.fixture
def visitor(url: str, browser: Browser) -> Iterator[Visitor]:
    with Visitor(browser, url) as found:
        found.sign_in(ADMIN.token)
        yield found


class Clicks:
    """A user on the start page with three clicks. Submitting a form is a click, typing into a field is not."""

    def __init__(self, visitor: Visitor) -> None:
        self.page, self._left = visitor.to("/"), 3

    def on(self, what: Locator) -> None:
        assert self._left, "this takes more than three clicks"
        self._left -= 1
        what.click()


def link(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=name, exact=True)


# --- the five tasks


def test_one_click_shows_why_a_job_waits(visitor: Visitor) -> None:
    person = Clicks(visitor)
    person.on(link(person.page, "Why language/pretrain-13b waits"))

    expect(person.page.locator(".headline")).to_have_text(
        re.compile(r"^Waits .* in language: it needs 40 more h100/nvidia.com/gpu than language may borrow")
    )


def test_one_click_shows_which_workloads_use_the_gpus_of_a_queue(visitor: Visitor) -> None:
    person = Clicks(visitor)
    notice = person.page.locator("li.borrowing", has_text="ClusterQueue language")
    expect(notice).to_contain_text("borrows 24 h100/nvidia.com/gpu beyond its quota of 64")

    person.on(notice.get_by_role("link").first)
    expect(person.page.get_by_role("heading", level=1)).to_have_text("ClusterQueue language")
    held = person.page.get_by_role("region", name="Workloads with quota").get_by_role("row")
    expect(held.nth(1)).to_contain_text("language/pretrain-7b")
    expect(held.nth(1)).to_contain_text("64 h100/nvidia.com/gpu")


def test_a_tenant_finds_the_queue_that_uses_the_gpus_without_typing(url: str, browser: Browser) -> None:
    with Visitor(browser, url) as visitor:
        page = visitor.sign_in(TENANT.token)
        expect(page.get_by_role("heading", level=1)).to_have_text("My workloads")
        expect(page.locator("header")).to_contain_text(TENANT.name)
        menu = page.get_by_role("navigation", name="Pages").get_by_role("link")
        assert menu.all_inner_texts() == ["Namespaces", "My workloads", "Findings"]
        link(page, "language/pretrain-13b").click()
        expect(page.locator(".headline")).to_contain_text("than language may borrow by its borrowingLimit")
        expect(page.get_by_role("region", name="Why it is pending")).to_contain_text("language 88 (24 borrowed)")
        named = page.get_by_role("link", name="language", exact=True)
        expect(named).to_have_count(1)  # the namespace, not the page of the queue, which it may not open
        expect(named).to_have_attribute("href", "/namespaces/language")
        assert visitor.violations() == []


def test_three_clicks_show_the_effect_of_more_quota(visitor: Visitor) -> None:
    person = Clicks(visitor)
    person.on(link(person.page, "acme"))
    person.on(person.page.locator("#table").get_by_role("link", name="vision", exact=True))
    person.page.get_by_label("Change nominalQuota to").fill("+16")
    person.on(person.page.get_by_role("button", name="Show what happens"))

    after = person.page.get_by_role("region", name="After")
    expect(after).to_contain_text("ClusterQueue vision", timeout=180_000)  # once the cluster is read
    expect(after).to_contain_text(re.compile(r"acme.*quota with its children 272.*more.*vision.*quota 64", re.DOTALL))
    expect(person.page.get_by_role("region", name="Before")).to_contain_text("quota 48")
    assert visitor.violations() == []

    shared = str(link(person.page, "Link to this change").get_attribute("href"))
    page = visitor.to(shared)
    expect(page.get_by_role("region", name="After")).to_contain_text("quota 64")


def test_two_clicks_show_the_effect_of_more_quota_without_the_tree(visitor: Visitor) -> None:
    person = Clicks(visitor)
    person.on(person.page.get_by_role("navigation", name="Pages").get_by_role("link", name="What if"))
    quota = person.page.get_by_role("group", name="Change a quota")
    quota.get_by_label("Name", exact=True).fill("vision")
    quota.get_by_label("New amount").fill("+16")
    person.on(person.page.get_by_role("button", name="Show the result"))

    expect(person.page.get_by_role("region", name="After")).to_contain_text("quota 64", timeout=180_000)
    expect(person.page.get_by_role("table", name="Quota before and after")).to_contain_text("own quota 48 → 64")
    expect(person.page.locator("#yaml")).to_contain_text(re.compile("nominalQuota: .?64"))
    with person.page.expect_download() as download:
        person.page.get_by_role("button", name="Download as YAML").click()
    assert "vision" in download.value.path().read_text()


def test_three_clicks_show_the_quota_that_admits_a_job(visitor: Visitor) -> None:
    person = Clicks(visitor)
    person.on(link(person.page, "Why language/pretrain-13b waits"))
    person.on(person.page.get_by_role("link", name=re.compile("^What if language had .* more h100.nvidia.com.gpu")))
    person.on(person.page.get_by_role("button", name="Show the result"))

    admitted = person.page.get_by_role("table", name="Pending workloads that get in")
    expect(admitted).to_contain_text("pretrain-13b", timeout=180_000)  # once the cluster is read


def test_one_click_shows_how_to_reconnect_a_worker(visitor: Visitor) -> None:
    person = Clicks(visitor)
    notice = person.page.locator("li.misconfigured", has_text="Worker worker-west")

    person.on(notice.get_by_role("link").first)
    expect(person.page.get_by_role("region", name="worker-west")).to_contain_text(
        "kubectl -n quotree-kubeconfigs create secret generic worker-west --from-file=kubeconfig=worker.yaml"
    )


def test_two_clicks_show_all_findings(visitor: Visitor) -> None:
    person = Clicks(visitor)

    person.on(person.page.get_by_role("link", name="All findings of this tree").first)
    expect(person.page.get_by_role("row", name=re.compile("parent-cycle")).first).to_be_visible()
    person.on(person.page.get_by_role("navigation", name="Pages").get_by_role("link", name="Findings"))
    expect(person.page.get_by_role("row", name=re.compile("parent-cycle")).first).to_be_visible()
    expect(person.page.locator("li.misconfigured")).to_contain_text("Worker worker-west")


# --- accessibility


def test_every_page_is_accessible_at_both_widths_in_both_themes(visitor: Visitor) -> None:
    for width, scheme in views():
        visitor.page.emulate_media(color_scheme=scheme)
        visitor.page.set_viewport_size({"width": width, "height": 900})
        for path in PAGES:
            page = visitor.to(path)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert visitor.violations() == [], path


def test_names_in_the_drawing_do_not_overlap_badges_or_numbers(visitor: Visitor) -> None:
    for width in (NARROW, WIDE):
        visitor.page.set_viewport_size({"width": width, "height": 900})
        page = visitor.to("/trees/kueue")
        collided = page.evaluate(
            """() => [...document.querySelectorAll(".picture > svg .block")].filter((each) => each.checkVisibility())
              .filter((each) => {
                const name = each.querySelector("text").getBoundingClientRect(), most = each.querySelector(".quota");
                const beside = [...each.querySelectorAll(".badge, .small")].map((one) => one.getBoundingClientRect());
                return name.right > most.getBoundingClientRect().right
                  || beside.some((one) => one.top < name.bottom - 4 && one.left < name.right);
              }).map((each) => each.getAttribute("aria-label"))"""
        )
        assert collided == []


def test_pages_fit_the_width_of_paper_and_of_a_404_page(visitor: Visitor) -> None:
    page = visitor.page
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    for path in ("/trees/kueue", *PAGES):
        page = visitor.to(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 794, path
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": NARROW, "height": 800})
    page = visitor.to(f"/workloads/language/{'a-long-name' * 9}", 404)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_words_of_each_state_have_enough_contrast(visitor: Visitor, scheme: str) -> None:
    visitor.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = visitor.to("/")
    states = page.locator(".notices li")
    kinds = {str(each.get_attribute("class")) for each in states.all()}
    assert {"stopped", "misconfigured", "pending", "borrowing"} <= kinds
    shown = {kind: page.locator(f".notices li.{kind} .word").first for kind in kinds} | {"": page.locator(".brand a")}
    faint = {kind: ratio for kind, ratio in zip(shown, contrasts([*shown.values()]), strict=True) if ratio < 4.5}
    assert faint == {}
    assert contrasts([visitor.to(WAITS).locator(".headline")])[0] >= 4.5


def test_all_tasks_without_javascript(url: str, browser: Browser) -> None:
    with Visitor(browser, url, java_script_enabled=False) as visitor:
        page = visitor.sign_in(ADMIN.token)
        link(page, "Why language/pretrain-13b waits").click()
        expect(page.locator(".headline")).to_contain_text("than language may borrow by its borrowingLimit")
        page = visitor.to("/workloads/")
        page.get_by_role("searchbox").fill("ranking")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("row", name=re.compile("ranking-wide"))).to_be_visible()
        expect(page.get_by_role("row", name=re.compile("pretrain"))).to_have_count(0)
        page = visitor.to("/namespaces/")
        page.get_by_role("searchbox").fill("lang")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("rowheader").get_by_role("link", name="language", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Namespace language")

        page = visitor.to("/what-if?kind=ClusterQueue&name=vision")
        page.locator("summary", has_text="Stop").click()
        stop = page.get_by_role("group", name="Stop a ClusterQueue")
        stop.get_by_label("stopPolicy").select_option("HoldAndDrain")
        page.get_by_role("button", name="Show the result").click()
        _until_read(page)
        after = page.get_by_role("region", name="After")
        expect(after).to_contain_text("stopPolicy HoldAndDrain")
        expect(after).to_contain_text("2 lose quota")
        link(page, "Link to this change").click()
        expect(page.get_by_role("region", name="After")).to_contain_text("stopPolicy HoldAndDrain")


def _until_read(page: Page) -> None:
    """Repeat the request, as the page says, while the cluster is read."""

    def is_read() -> bool:
        page.wait_for_load_state()
        if not page.get_by_text("Ask again in a moment").count():
            return True
        page.get_by_role("button", name="Show the result").click()
        return False

    eventually(is_read, seconds=180)
