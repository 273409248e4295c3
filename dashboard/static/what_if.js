"use strict";
// The form of a what-if: another try where the answer comes later.
(() => {
  const again = document.querySelector("[data-again]");
  const form = document.getElementById("change");
  if (again && form) {
    const timer = setTimeout(() => form.requestSubmit(form.querySelector('[value="show"]')), Number(again.dataset.again) * 1000);
    form.addEventListener("input", () => clearTimeout(timer)); // who types is not interrupted
  }
})();
