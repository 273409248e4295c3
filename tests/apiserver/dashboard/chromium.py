"""Debian's Chromium on a dashboard; a page may not log errors or call another origin."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from axe_playwright_python.base import AXE_SCRIPT  # type: ignore[import-untyped]
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, expect, sync_playwright

from tests.apiserver.needs import debian_program
from tests.profiles import spread
from tests.waiting import SECONDS, eventually

_QUIET = (
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-pings",
    "--metrics-recording-only",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # every other host is unreachable
)
_VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
"""
_SERIOUS = ("serious", "critical")
NARROW, WIDE = 390, 1400
_VIEWS: list[tuple[int, Literal["light", "dark"]]] = [
    (NARROW, "light"),
    (NARROW, "dark"),
    (WIDE, "dark"),
    (WIDE, "light"),
]
expect.set_options(timeout=SECONDS * 1000)


def views() -> Sequence[tuple[int, Literal["light", "dark"]]]:
    """Widths and themes. The lean profile has two of the four pairs, with both widths and both themes."""
    return spread(_VIEWS, 0.4)


@contextmanager
def chromium() -> Iterator[Browser]:
    """One Chromium process for many visitors."""
    program = debian_program("chromium-headless-shell")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_QUIET, *root])
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A user with an own browser profile at the dashboard at `url`; options are those of a browser context.

    `complaints` are errors and warnings of the console, breaches of the Content-Security-Policy among them, and errors
    of scripts, except those that match a pattern in `expected`. `asked` are the origins of all requests.
    """

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self._context = browser.new_context(viewport={"width": 1280, "height": 800}, **options)
        self._context.set_default_timeout(SECONDS * 1000)
        self._context.add_init_script(_VIOLATIONS)
        self._said: list[str] = []
        self.expected: list[str] = []
        self.asked: set[str] = set()
        self._origins = {url}
        self.requests = 0
        self._context.on("request", self._request)
        self._context.on("console", self._console)
        self._context.on("weberror", lambda error: self._said.append(str(error.error)))
        self.page: Page = self._context.new_page()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._context.close()
        if kind is None:
            self.judge()

    @property
    def complaints(self) -> list[str]:
        return [each for each in self._said if not any(re.search(text, each) for text in self.expected)]

    def may_ask(self, origin: str) -> None:
        self._origins.add(origin)

    def judge(self) -> None:
        """Raises AssertionError if a page logged errors since the last call, or called another origin."""
        found, self._said = self.complaints, []
        assert not found
        assert self.asked <= self._origins

    def to(self, path: str, status: int = 200) -> Page:
        """Open this path, which must have this status; the request is repeated if the page says so."""
        eventually(lambda: self._is_answered(path, status), lambda: f"{path} says try again: {self.text()}")
        return self.page

    def _is_answered(self, path: str, status: int) -> bool:
        answer = self.page.goto(self.url + path)
        assert isinstance(answer, Response)
        if answer.status >= 400:  # Chromium logs it in the console
            self.expected.append(rf"status of {answer.status} .*{re.escape(self.url + path)}\)$")
        is_so = answer.status == status
        assert is_so or "try again" in self.text(), f"{path}: {answer.status}: {self.text()}"
        return is_so

    def sign_in(self, token: str, path: str = "/") -> Page:
        """Open the path, sign in with the form, and return to the path."""
        self.page.goto(self.url + path)
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(lambda url: "/sign-in" not in url)
        return self.page

    def text(self) -> str:
        """The text of the content of the page."""
        return self.page.locator("main").inner_text()

    def violations(self) -> list[str]:
        """What axe-core finds of any level, its best practices included: each with the elements."""
        return violations(self.page)

    def serious(self, *rules: str) -> list[str]:
        """The serious violations that axe-core finds, by these rules or all: each with the elements."""
        return [_told(each) for each in _judged(self.page, *rules) if each["impact"] in _SERIOUS]

    def _request(self, request: Request) -> None:
        self.requests += 1
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob", "about"):
            self.asked.add(f"{parts.scheme}://{parts.netloc}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._said.append(f"{message.type}: {message.text} ({message.location['url']})")


def violations(page: Page) -> list[str]:
    """What axe-core finds of any level, its best practices included: each with the elements."""
    return [_told(each) for each in _judged(page)]


def _judged(page: Page, *rules: str) -> list[dict[str, Any]]:
    """The violations by these rules or all. Each page loads axe-core, half a megabyte, once."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    return list(page.evaluate("(options) => axe.run(options).then((found) => found.violations)", options))


def _told(violation: dict[str, Any]) -> str:
    return f"{violation['id']}: {[node['html'][:200] for node in violation['nodes'][:3]]}"
