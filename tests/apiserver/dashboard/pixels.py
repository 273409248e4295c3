"""Colors as they are on the screen."""

from __future__ import annotations

import base64

from playwright.sync_api import Locator, Page

_CONTRAST = """
async (png) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const color = [data[at], data[at + 1], data[at + 2]].join();
    counts.set(color, (counts.get(color) || 0) + 1);
  }
  const light = (color) => {
    const [red, green, blue] = color.split(",").map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = light([...counts].sort((first, second) => second[1] - first[1])[0][0]);
  const ratios = [...counts.keys()].map(light)
    .map((each) => (Math.max(each, ground) + 0.05) / (Math.min(each, ground) + 0.05));
  return Math.max(...ratios);
}
"""


def contrast(page: Page, element: Locator) -> float:
    """The contrast (WCAG 2) of what stands out most in the element to its commonest color, its ground."""
    png = base64.b64encode(element.screenshot()).decode()
    other = page.context.new_page()  # a page of the dashboard may not load a picture by its data
    try:
        return float(other.evaluate(_CONTRAST, png))
    finally:
        other.close()
