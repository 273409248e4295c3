"""Every page that has a route, in Chromium: both widths and themes, by keyboard alone, without JavaScript; axe finds
nothing, the console is empty, no other origin is called, and nothing moves during loading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.apiserver.dashboard.chromium import NARROW, WIDE, Visitor, views
from tests.apiserver.dashboard.seen import unreached
from tests.dashboard.every_page import PATHS, STATUS, served, small_cluster
from tests.dashboard.people import ADMIN

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

EACH = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.partition("change=")[0])  # a link differs each time
_SHIFTS = """
window.shifted = [];
const named = ({ node }) => (node && (node.outerHTML || node.textContent) || "gone").slice(0, 200);
const kept = (each) => shifted.push([each.value, each.sources.map(named)]);
new PerformanceObserver((list) => list.getEntries().forEach(kept))
  .observe({ type: "layout-shift", buffered: true });
"""
_SHOWN = """
() => [...document.querySelectorAll("main :is(h1, h2, h3, h4, caption, th, legend, label), a")]
  .map((each) => each.textContent.replace(/\\s+/g, " ").trim())
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(small_cluster()) as address:
        yield address


@pytest.fixture(scope="module")
def visitor(url: str, browser: Browser) -> Iterator[Visitor]:
    with Visitor(browser, url, extra_http_headers={"Authorization": ADMIN}) as found:
        found.page.add_init_script(_SHIFTS)
        yield found


def to(visitor: Visitor, path: str, width: int) -> Page:
    visitor.page.set_viewport_size({"width": width, "height": 900})
    return visitor.to(path, STATUS.get(path, 200))


@EACH
def test_every_page_is_accessible_at_both_widths_in_both_themes(visitor: Visitor, path: str) -> None:
    for width, scheme in views():
        page = to(visitor, path, width)
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.emulate_media(color_scheme=scheme)
        assert (width, scheme, visitor.violations()) == (width, scheme, [])
        assert page.evaluate("shifted") == [], "something moved"
    visitor.judge()


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_moves_while_a_page_arrives_in_pieces(browser: Browser, width: int) -> None:
    headers: dict[str, Any] = {"extra_http_headers": {"Authorization": ADMIN}}
    with served(small_cluster(), _in_pieces) as address, Visitor(browser, address, **headers) as slow:
        slow.page.add_init_script(_SHIFTS)
        for path in ("/workloads/", "/topologies/gpu", "/queues/kueue/ClusterQueue/none"):
            assert to(slow, path, width).evaluate("shifted") == [], path


def _in_pieces(app: WSGIApplication) -> WSGIApplication:
    """The application over a slow link: each page stops before each part of the header, each cell and the footer."""

    def answered(environ: WSGIEnvironment, start_response: StartResponse) -> Iterator[bytes]:
        with closing(app(environ, start_response)) as parts:  # type: ignore[type-var]
            page = b"".join(parts)
        for piece in re.split(rb"(?=<nav|<div class=.who|<form|<main|<td|<footer)", page):
            yield piece
            sleep(0.05)  # longer than Chromium takes for a frame

    return answered


def test_the_header_and_the_menu_have_the_same_position_on_all_pages(visitor: Visitor) -> None:
    places = set()
    for path in ("/", "/trees/kueue", "/namespaces/", "/workloads/", "/clusters", "/findings", "/what-if"):
        page = to(visitor, path, WIDE)
        entries = page.locator("header nav a")
        boxes = [entries.nth(at).bounding_box() for at in range(entries.count())]
        places.add(tuple(round(each["x"], 1) for each in boxes if each))
    assert [len(each) for each in places] == [8]
    heights = {to(visitor, path, WIDE).locator("header").bounding_box()["height"] for path in ("/", "/sign-in")}  # type: ignore[index]
    assert len(heights) == 1
    visitor.judge()


@EACH
def test_the_keyboard_reaches_every_control_with_a_visible_focus(visitor: Visitor, path: str) -> None:
    assert unreached(to(visitor, path, WIDE)) == []
    visitor.judge()


def test_every_page_has_the_same_text_without_javascript(visitor: Visitor, url: str, browser: Browser) -> None:
    headers: dict[str, Any] = {"extra_http_headers": {"Authorization": ADMIN}}
    with Visitor(browser, url, java_script_enabled=False, **headers) as plain:
        for path in PATHS:
            with_script = to(visitor, path, WIDE).evaluate(_SHOWN)
            assert to(plain, path, WIDE).evaluate(_SHOWN) == with_script, path


def test_the_state_filter_works_without_javascript_and_is_kept_by_a_search(url: str, browser: Browser) -> None:
    headers: dict[str, Any] = {"extra_http_headers": {"Authorization": ADMIN}}
    with Visitor(browser, url, java_script_enabled=False, **headers) as plain:
        page = to(plain, "/workloads/", NARROW)
        states = page.get_by_role("navigation", name="By state")
        assert states.locator("[aria-current]").all_inner_texts() == ["all 3"]
        states.get_by_role("link", name="pending 1").press("Enter")
        expect(page).to_have_url(f"{url}/workloads/?state=pending")
        expect(page.locator("tbody th")).to_have_text(["team/late"])

        page.get_by_role("searchbox").fill("late")
        page.get_by_role("button", name="Search").click()
        expect(page).to_have_url(f"{url}/workloads/?q=late&state=pending")
        expect(states.locator("[aria-current]")).to_have_text(["pending 1"])
        states.get_by_role("link", name="finished 0").click()
        expect(page).to_have_url(f"{url}/workloads/?q=late&state=finished")
        page.get_by_role("link", name="Show all").click()
        expect(page.locator("tbody th")).to_have_count(3)


def test_the_copy_button_copies_the_command(visitor: Visitor) -> None:
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = to(visitor, "/queues/kueue/ClusterQueue/a", WIDE)
    page.get_by_role("button", name="Copy").click()

    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "kubectl edit clusterqueues.kueue.x-k8s.io a"
    visitor.judge()
