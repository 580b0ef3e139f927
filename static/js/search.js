/* The question field of the search pages: Enter asks, Shift and Enter make a line; what narrows asks again by itself.
   Keys among the hits: o opens the one that has the focus. */
(() => {
  "use strict";
  const form = document.querySelector("[data-ask]");
  if (!form) return;
  const question = form.elements.q;
  const ask = () => form.requestSubmit();
  question.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    ask();
  });
  let later = 0;
  form.addEventListener("change", (event) => {
    if (event.target === question || !question.value.trim()) return;
    clearTimeout(later);
    later = setTimeout(ask, 300);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "o" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const link = document.activeElement.closest("[data-row]")?.querySelector("[data-hit]");
    if (link) { event.preventDefault(); link.click(); }
  });
})();
