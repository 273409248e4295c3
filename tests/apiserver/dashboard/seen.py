"""What a page shows, and what has the focus."""

from __future__ import annotations

from playwright.sync_api import Locator, Page


def block(page: Page, name: str) -> Locator:
    """In the picture, by its name, or that with some of its numbers."""
    return page.locator("[data-icicle]").get_by_role("link", name=name if ":" in name else f"{name}:")


def names(page: Page) -> list[str]:
    return page.locator("#table tbody th a").all_inner_texts()


def row(page: Page, name: str) -> list[str]:
    """The texts of the first row of that name, without the empty ones at its end."""
    found = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True)).first
    return found.locator("th, td").all_inner_texts()


def focused(page: Page) -> str:
    """The name of what has the focus."""
    found = "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
    return str(page.evaluate(found) or "")
