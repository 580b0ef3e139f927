/* The document pane and the file tree. Both work without this file: the cited place has the anchor #cited, folders are
   pages. Here: scrolling there at once, the tree's keys, and the runtime by which a host or the AI panel opens files. */
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
    if (fold.matches?.(".beside")) { if ($(".tree", fold).childElementCount || fold.open) remember(fold); return; }
    const item = fold.matches?.("[role=tree] details") && $(":scope > summary [role=treeitem]", fold);
    if (item) item.setAttribute("aria-expanded", String(fold.open));
  }, true);

  /* One item of a tree is in the tab order: the current one, then the one that had the focus last. */
  const enter = (tree, item) => {
    $$("[role=treeitem]", tree).forEach((each) => { each.tabIndex = each === item ? 0 : -1; });
  };
  const prepare = (tree) => {
    if (!$("[role=treeitem][tabindex='0']", tree)) enter(tree, $("[aria-current]", tree) || $("[role=treeitem]", tree));
  };
  doc.addEventListener("focusin", (event) => {
    const item = event.target.closest?.("[role=treeitem]");
    if (item) enter(item.closest("[role=tree]"), item);
  });
  let typed = "", typedAt = 0;
  doc.addEventListener("keydown", (event) => {
    const item = event.target.closest?.("[role=treeitem]");
    if (!item || event.key.length !== 1 || event.key === " " || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    typed = Date.now() - typedAt < 700 ? typed + event.key.toLowerCase() : event.key.toLowerCase();
    typedAt = Date.now();
    const items = $$("[role=treeitem]", item.closest("[role=tree]")).filter((each) => each.offsetParent);
    const from = items.indexOf(item) + (typed.length > 1 ? 0 : 1);
    const found = [...items.slice(from), ...items.slice(0, from)].find((each) => each.innerText.trim().toLowerCase().startsWith(typed));
    event.stopPropagation();
    if (!found) return;
    event.preventDefault();
    found.focus();
  }, true);
  doc.addEventListener("htmx:afterSettle", () => $$("[role=tree]").forEach(prepare));
  $$("[role=tree]").forEach(prepare);

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
