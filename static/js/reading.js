/* The document pane. It works without this file: the cited place has the anchor #cited. Here: going there at once, and the
   runtime by which a host or the AI panel opens files. */
(() => {
  "use strict";
  const doc = document;
  const $ = (selector, root = doc) => root.querySelector(selector);
  const $$ = (selector, root = doc) => [...root.querySelectorAll(selector)];

  /* Go to the cited place; never in the way of an address that names another one. */
  const goTo = (place) => {
    if (!place) return;
    place.scrollIntoView({ block: "center", behavior: "instant" });
    place.focus({ preventScroll: true });
  };
  const start = () => {
    const hash = decodeURIComponent(location.hash.slice(1));
    const wanted = !hash || hash === "cited" ? doc.getElementById("cited") : doc.getElementById(hash);
    const query = new URLSearchParams(location.search);
    goTo(wanted || doc.getElementById(`page-${query.get("page")}`) || doc.getElementById(`slide-${query.get("slide")}`));
  };
  if ($("[data-reading]")) start();
  doc.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-cited]") || !doc.getElementById("cited")) return;
    event.preventDefault();
    goTo(doc.getElementById("cited"));
  });

  /* The tree beside a document stays open or closed from page to page. */
  const remember = (fold) => { doc.cookie = `mnote_tree=${fold.open ? "open" : "closed"}; path=/; max-age=31536000; samesite=lax`; };
  doc.addEventListener("toggle", (event) => {
    const fold = event.target;
    if (fold.matches?.(".beside") && ($(".tree", fold).childElementCount || fold.open)) remember(fold);
  }, true);

  /* What a host page or the AI panel may ask of this pane. A host that embeds us has a pane of its own: it decides. */
  const own = {
    /** Open an address of this site, or a file by its path below the root that is open now. */
    openResourceInActiveTab(resource = {}) {
      const address = typeof resource === "string" ? resource : resource.url || addressOf(resource);
      const target = address && new URL(address, location.href);
      if (!target || target.origin !== location.origin) return false;
      if (target.pathname + target.search === location.pathname + location.search && target.hash) location.hash = target.hash;
      else location.assign(target.href);
      return true;
    },
    /** Show the open file as it is now. */
    refreshPrimaryDocument() {
      location.reload();
      return true;
    },
  };
  const addressOf = ({ path, root, lines, page, cite }) => {
    const at = location.pathname.match(/^(.*\/w\/[^/]+)\//);
    if (!path || !at) return "";
    const query = new URLSearchParams();
    const given = { root: root || new URLSearchParams(location.search).get("root"), lines: Array.isArray(lines) ? lines.join("-") : lines, page, cite };
    Object.entries(given).forEach(([name, value]) => { if (value) query.set(name, value); });
    return `${at[1]}/open/${path.split("/").map(encodeURIComponent).join("/")}?${query}`;
  };
  const hosts = () => {
    if (window.parent === window) return null;
    try { return window.parent.__mnoteDocumentPaneRuntime || null; } catch { return null; } /* another origin */
  };
  const ask = (name) => (...given) => {
    const host = hosts();
    return typeof host?.[name] === "function" ? host[name](...given) : own[name](...given);
  };
  window.__mnoteDocumentPaneRuntime = {
    openResourceInActiveTab: ask("openResourceInActiveTab"),
    refreshPrimaryDocument: ask("refreshPrimaryDocument"),
  };
})();
