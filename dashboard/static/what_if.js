"use strict";
// The form of a what-if: the buttons that copy, and another try where the answer comes later.
(() => {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!navigator.clipboard) break; // only a page by HTTPS, or of this machine, has a clipboard
    const text = document.getElementById(button.dataset.copy);
    button.disabled = false;
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(text.href || text.textContent); button.textContent = "Copied"; }
      catch { button.textContent = "Not copied: select the text instead"; }
    });
  }
  const again = document.querySelector("[data-again]");
  const form = document.getElementById("change");
  if (again && form) {
    const timer = setTimeout(() => form.requestSubmit(form.querySelector('[value="show"]')), Number(again.dataset.again) * 1000);
    form.addEventListener("input", () => clearTimeout(timer)); // who types is not interrupted
  }
})();
