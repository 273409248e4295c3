"""What a page shows, and what has the focus."""

from __future__ import annotations

import base64

from playwright.sync_api import Locator, Page


def block(page: Page, name: str) -> Locator:
    """In the picture, by its name, or that with some of its numbers."""
    return page.locator("[data-icicle]").get_by_role("link", name=name if ":" in name else f"{name}:")


def names(page: Page) -> list[str]:
    return page.locator("#table tbody th a:not(.fold)").all_inner_texts()


def row(page: Page, name: str) -> list[str]:
    """The texts of the first row of that name, without the empty ones at its end."""
    found = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True)).first
    return found.locator("th, td").all_inner_texts()


def colors(element: Locator) -> dict[tuple[int, ...], float]:
    """The colors of its pixels as Chromium draws them, each with its share; only those of 8 % or more."""
    encoded = base64.b64encode(element.screenshot()).decode()
    counted = element.page.evaluate(_COUNT, encoded)
    total = sum(counted.values())
    found = {tuple(map(int, text.split(","))): count / total for text, count in counted.items()}
    return {color: share for color, share in found.items() if share >= 0.08}


_COUNT = """
async (encoded) => {
  const bytes = Uint8Array.from(atob(encoded), (each) => each.charCodeAt(0));
  const drawn = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(drawn.width, drawn.height), pen = canvas.getContext("2d");
  pen.drawImage(drawn, 0, 0);
  const found = {}, data = pen.getImageData(0, 0, drawn.width, drawn.height).data;
  for (let at = 0; at < data.length; at += 4) {
    const key = `${data[at]},${data[at + 1]},${data[at + 2]}`;
    found[key] = (found[key] || 0) + 1;
  }
  return found;
}
"""


def contrast(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """As WCAG 2.2 computes it, between 1 and 21."""
    darker, lighter = sorted(map(_luminance, (first, second)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: tuple[int, ...]) -> float:
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parts(color: tuple[int, ...]) -> list[float]:
    return [each / 255 for each in color]


def focused(page: Page) -> str:
    """The name of what has the focus."""
    found = "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
    return str(page.evaluate(found) or "")


_FOCUSABLE = "main :is(a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'])"
_NUMBERED = """
(all) => [...document.querySelectorAll(all)].filter((each) => each.checkVisibility())
  .map((each, at) => { each.dataset.at = at; return at; }).length
"""
_HERE = """
() => {
  const at = document.activeElement;
  return [at.dataset.at, getComputedStyle(at).outlineStyle !== "none" || at.matches(".block")];
}
"""


def unreached(page: Page) -> list[str]:
    """What the Tab key does not reach in the order of the page, or without showing where it is; the first of it."""
    count = page.evaluate(_NUMBERED, _FOCUSABLE)
    page.keyboard.press("Tab")
    if focused(page) != "Skip to the content":
        return [f"begins at {focused(page)}"]
    page.keyboard.press("Enter")
    for at in range(count):
        page.keyboard.press("Tab")
        if page.evaluate(_HERE) != [str(at), True]:
            return [focused(page)]
    return []
