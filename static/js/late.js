/* Answers that come after what asked has left the page. htmx would tell their messages to that element, where nobody hears
   them, and look for their updates around it, where none is. */
(() => {
  "use strict";
  const doc = document;
  const tell = (messages) => Object.entries(messages).forEach(([name, detail]) => htmx.trigger(doc.body, name, detail));
  const late = (event) => {
    const { elt, target, xhr, requestConfig } = event.detail;
    if (event.target !== event.currentTarget || elt.isConnected) return;
    const isPoll = elt.matches("[data-poll]");
    if (!isPoll) tell(JSON.parse(xhr.getResponseHeader("HX-Trigger") || "{}"));
    if (target.isConnected) return;
    if (requestConfig.verb !== "get" && xhr.getResponseHeader("HX-Redirect")) return;
    event.preventDefault();
    if (!isPoll && xhr.status >= 400 && /data-problem/.test(xhr.responseText.slice(0, 400))) htmx.swap("#toasts", xhr.responseText, { swapStyle: "afterbegin" });
  };
  doc.addEventListener("htmx:beforeRequest", ({ detail }) => detail.elt.addEventListener("htmx:beforeOnLoad", late));
})();
