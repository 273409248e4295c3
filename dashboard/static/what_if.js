"use strict";
// The form of a what-if: a button that copies the change, and another try where the answer comes later.
(() => {
  for (const place of document.querySelectorAll("[data-copy]")) {
    const text = document.getElementById(place.dataset.copy);
    if (!text || !navigator.clipboard) continue; // only a page by HTTPS, or of this machine, has a clipboard
    const button = document.createElement("button");
    button.type = "button"; button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(text.href || text.textContent); button.textContent = "Copied"; }
      catch { button.textContent = "Not copied: select the text instead"; }
    });
    place.append(button);
  }
  const again = document.querySelector("[data-again]");
  const form = document.getElementById("change");
  if (again && form) {
    const timer = setTimeout(() => form.requestSubmit(form.querySelector('[value="show"]')), Number(again.dataset.again) * 1000);
    form.addEventListener("input", () => clearTimeout(timer)); // who types is not interrupted
  }
})();
