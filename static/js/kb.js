/* The knowledge base pages. Everything works by plain links and forms; this adds:

   addresses      htmx's own history would put old copies of the page back, dialogs and all. Here an answer names its
                  address (MNote-Address), [data-history] of what asked says push or replace, and Back asks again.
   the drawer     an entry of the history of its own; Back closes it; closed, the focus is on its row.
   selection      "all that match", what fits how many, what was left out; cleared when the list becomes another.
   menus          placed beside their button, arrow keys move in them.
   the poller     asks only for rows that are on the page, and drops answers for rows that are not. */
(() => {
  "use strict";
  const doc = document;
  const $ = (selector, root = doc) => root.querySelector(selector);
  const $$ = (selector, root = doc) => [...root.querySelectorAll(selector)];
  const tell = (name, detail) => doc.body.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  const announce = (text) => tell("kb:announce", { text });
  htmx.config.historyEnabled = false;
  htmx.config.defaultSettleDelay = 0; /* else a quick key on what was just swapped in finds a plain form and leaves the page */

  /* Addresses. The state of an entry says whether the drawer was open in it. */
  const isDrawerOpen = () => Boolean($("#drawer")?.open);
  const listAddress = () => $("#doc-list")?.dataset.address;
  let isGoingBack = false;
  const goTo = (address, way) => {
    if (address === location.pathname + location.search) return;
    history[way === "push" ? "pushState" : "replaceState"]({ kb: true }, "", address);
  };
  let wasOpen = false;
  doc.addEventListener("htmx:beforeSwap", () => { wasOpen = isDrawerOpen(); });
  doc.addEventListener("htmx:afterOnLoad", ({ detail }) => {
    const address = detail.xhr.getResponseHeader("MNote-Address");
    const asked = detail.requestConfig.elt;
    const way = asked?.closest?.("[data-history]")?.dataset.history;
    if (!address || !way || detail.xhr.status >= 400) return;
    goTo(address, detail.target.id === "drawer" && wasOpen ? "replace" : way);
    if (detail.target.id === "doc-list") markFolder();
    if (asked.matches?.("[data-closes-modal]")) tell("kb:close-modal");
  });
  addEventListener("popstate", () => {
    const here = location.pathname + location.search;
    if (isDrawerOpen() && !/\/docs\//.test(location.pathname)) { isGoingBack = true; $("#drawer").close(); isGoingBack = false; }
    if (/\/docs\//.test(location.pathname)) {
      if ($("#drawer")) htmx.ajax("GET", here, { target: "#drawer", swap: "innerHTML" });
    } else if ($("#doc-list") && here !== listAddress()) htmx.ajax("GET", here, { target: "#doc-list", swap: "outerHTML" }).then(markFolder);
    else if ($("#kb-grid")) location.reload();
  });

  /* The drawer. In it j and k are its own: next and previous document, not rows of the list behind it. */
  doc.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const drawer = event.target === doc.body ? isDrawerOpen() && $("#drawer") : event.target.closest?.("#drawer");
    if (!drawer || event.target.matches("input, textarea, select")) return;
    const goal = { j: "#document-next[href]", k: "#document-previous[href]" }[event.key];
    if (!goal) return;
    event.preventDefault();
    $(goal, drawer)?.click();
  }, true);
  doc.body.addEventListener("kb:closed", ({ detail }) => {
    if (detail.dialog !== "drawer") return;
    if (!isGoingBack && /\/docs\//.test(location.pathname) && listAddress()) {
      if (history.state?.kb) history.back(); else goTo(listAddress(), "replace");
    }
    const row = lastDocument && $(`[data-doc="${lastDocument}"] a.name`);
    if (row) row.focus();
  });
  let lastDocument = "";
  doc.addEventListener("htmx:afterSettle", () => { if (isDrawerOpen() && doc.activeElement === doc.body) focusTitle(); });
  const focusTitle = () => { const title = $("#drawer-title"); if (title) { title.tabIndex = -1; title.focus(); } };
  doc.addEventListener("htmx:afterSwap", () => { lastDocument = $("#document")?.dataset.document || lastDocument; });

  /* Folders: the tree says where the list is, and unfolds as far as that. */
  const pathOf = (address) => new URL(address, location.href).searchParams.get("path") || "";
  const markFolder = () => {
    if (!listAddress()) return;
    const here = pathOf(listAddress()), items = $$("#kb-tree a[role=treeitem]");
    const above = items.filter((each) => `${here}/`.startsWith(`${pathOf(each.href)}/`) || !pathOf(each.href));
    const goal = above.sort((one, other) => pathOf(other.href).length - pathOf(one.href).length)[0];
    items.filter((each) => each !== goal).forEach((each) => each.removeAttribute("aria-current"));
    if (!goal) return;
    goal.setAttribute("aria-current", pathOf(goal.href) === here ? "page" : "true");
    if (pathOf(goal.href) === here || goal.getAttribute("aria-expanded") === "true") return;
    const level = goal.nextElementSibling;
    level.hidden = false;
    goal.setAttribute("aria-expanded", "true");
    level.dispatchEvent(new CustomEvent("tree:open"));
  };
  doc.addEventListener("htmx:afterSettle", ({ detail }) => { if (detail.target?.closest?.("#kb-tree")) markFolder(); });
  doc.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-show]");
    if (!button) return;
    const shown = $(button.dataset.show).classList.toggle("shown");
    button.setAttribute("aria-expanded", String(shown));
  });

  /* Selection. The form's field "scope" says whether ids count or all that match but the boxes taken out. */
  const form = () => $("[data-batch]");
  const boxes = () => $$("input[name=doc]", form() || doc.createElement("div"));
  const isAll = () => form()?.elements.scope.value === "all";
  const fits = () => {
    if (!form()) return;
    const chosen = boxes().filter((each) => each.checked);
    $$("[data-for]", form()).forEach((button) => {
      const states = button.dataset.for.split(" ");
      const count = chosen.filter((box) => states.includes($("[data-status]", box.closest("tr"))?.dataset.status)).length;
      button.disabled = !isAll() && !count;
      button.title = button.disabled ? button.dataset.unfit : "";
      const label = $("[data-fit]", button);
      if (label) label.textContent = isAll() || count === chosen.length || !count ? "" : ` ${count}`;
    });
    const matching = $("[data-select-matching]", form());
    if (!matching) return;
    const isWhole = boxes().length > 0 && chosen.length === boxes().length;
    matching.hidden = isAll() || !isWhole;
    if (isAll()) {
      const count = Number(matching.dataset.total) - boxes().filter((each) => !each.checked).length;
      $("[data-select-count]", form()).textContent = count === Number(matching.dataset.total) ? matching.dataset.words : matching.dataset.words.replace(/[\d,]+/, count.toLocaleString("en"));
    }
  };
  const selectNone = () => {
    if (!form()) return;
    form().elements.scope.value = "ids";
    const all = $("[data-select-all]", form());
    if (all && boxes().some((each) => each.checked)) { all.checked = true; all.indeterminate = false; all.click(); }
    fits();
  };
  doc.addEventListener("click", (event) => {
    const at = (selector) => event.target.closest?.(selector);
    if (at("[data-select-matching]")) { form().elements.scope.value = "all"; fits(); announce($("[data-select-count]", form()).textContent); }
    else if (at("[data-select-none]")) selectNone();
    else if (at("[data-select-all]")) { if (!at("[data-select-all]").checked) form().elements.scope.value = "ids"; queueMicrotask(fits); }
    else if (at("input[name=doc]")) queueMicrotask(fits);
  });
  doc.body.addEventListener("kb:select-none", selectNone);
  doc.addEventListener("htmx:configRequest", ({ detail }) => {
    if (!detail.elt.matches("[data-for]") || !isAll()) return;
    detail.parameters.doc = [];
    detail.parameters.exclude = boxes().filter((each) => !each.checked).map((each) => each.value);
  });
  let dropped = "";
  doc.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.target?.id === "doc-list" && boxes().some((each) => each.checked)) dropped = $("[data-select-none]").dataset.said;
  });
  doc.addEventListener("htmx:afterSettle", () => {
    const words = dropped;
    dropped = "";
    if (words) setTimeout(() => announce(`${$("#announcer").textContent} ${words}`)); /* after what the answer says itself */
  });
  doc.addEventListener("htmx:afterSettle", () => {
    if (isAll()) boxes().forEach((each) => { if (!each.dataset.met) each.checked = true; });
    boxes().forEach((each) => { each.dataset.met = "1"; });
    fits();
  });
  doc.addEventListener("keydown", (event) => {
    const row = event.target.closest?.("tr[data-doc]"), list = event.target.closest?.("#doc-batch");
    if (event.target.matches?.("input:not([type=checkbox]), textarea, select") || event.isComposing) return;
    if (row && event.key === "x" && !event.ctrlKey && !event.metaKey) { $("input[name=doc]", row)?.click(); event.preventDefault(); }
    else if (row && event.key === "." && !event.ctrlKey) { $("[data-menu]", row)?.click(); event.preventDefault(); }
    else if (list && event.key === "a" && (event.ctrlKey || event.metaKey)) { const all = $("[data-select-all]", list); if (all && !all.checked) all.click(); event.preventDefault(); }
    else if (list && event.key === "Escape" && !isDrawerOpen()) selectNone();
  });

  /* Menus: the browser opens and closes them; they only have to know where. */
  let opener = null;
  doc.addEventListener("click", (event) => { opener = event.target.closest?.("[popovertarget]") || opener; }, true);
  const place = (menu) => {
    if (!opener || opener.getAttribute("popovertarget") !== menu.id) return;
    const box = opener.getBoundingClientRect(), own = menu.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.right - own.width), innerWidth - own.width - 8);
    const below = box.bottom + 4, above = box.top - own.height - 4;
    menu.style.left = `${Math.max(8, left)}px`;
    menu.style.top = `${below + own.height > innerHeight - 8 && above > 8 ? above : below}px`;
  };
  doc.addEventListener("toggle", (event) => {
    const menu = event.target;
    if (!menu.matches?.(".menu[popover]") || event.newState !== "open") return;
    place(menu);
    if (menu.childElementCount) $("a, button:not(:disabled)", menu)?.focus();
  }, true);
  doc.addEventListener("htmx:afterSwap", ({ detail }) => {
    const menu = detail.target;
    if (!menu?.matches?.(".menu[popover]:popover-open")) return;
    place(menu);
    $("a, button:not(:disabled)", menu)?.focus();
  });
  doc.addEventListener("keydown", (event) => {
    const menu = event.target.closest?.(".menu[popover]");
    if (!menu || !["ArrowDown", "ArrowUp", "Home", "End"].includes(event.key)) return;
    const items = $$("a, button:not(:disabled)", menu), at = items.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    items[to % items.length]?.focus();
    event.preventDefault();
  });
  doc.addEventListener("click", (event) => {
    const item = event.target.closest?.(".menu[popover] :is(a, button)");
    if (item) item.closest(".menu").hidePopover?.();
    const link = event.target.closest?.("[data-copy-link]");
    if (link) navigator.clipboard.writeText(new URL(link.dataset.copyLink, location.href).href).then(
      () => tell("kb:toast", { text: JSON.parse($("#words").textContent).copied, kind: "note" }));
  });

  /* The poller. */
  const isOnPage = (element) => $(element.getAttribute("hx-swap-oob").split(":")[1] || `#${CSS.escape(element.id)}`);
  /* Whether rows may come and go by themselves: nobody points at the list, types, has chosen or opened anything in it. */
  const isCalm = () => {
    const list = $("#doc-list");
    if (!list) return false;
    if ("empty" in list.dataset) return true;
    return scrollY < 40 && !list.matches(":hover, :focus-within") && !isDrawerOpen() && !boxes().some((each) => each.checked);
  };
  doc.addEventListener("htmx:configRequest", ({ detail }) => {
    if (detail.elt.id !== "kb-live") return;
    const ids = $$("[data-doc]").map((each) => each.dataset.doc);
    const open = isDrawerOpen() ? $("#document")?.dataset.document : "";
    detail.parameters.docs = [...new Set([...ids, open])].filter(Boolean).slice(0, 1000).join(",");
    if ($("tr.folder")) detail.parameters.folders = "1";
    if ($("#kb-tree[data-bare]")) detail.parameters.bare = "1";
    if (isCalm()) detail.parameters.calm = "1";
  });
  doc.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (!detail.elt?.matches?.("#kb-live, #kb-list-live") || detail.xhr.status !== 200) return;
    const answer = doc.createElement("template");
    answer.innerHTML = detail.serverResponse;
    const open = isDrawerOpen() && $("#document");
    if (open && answer.content.querySelector(`#s-${CSS.escape(open.dataset.document)}`)) htmx.trigger(open, "kb:changed");
    answer.content.querySelectorAll("[hx-swap-oob]").forEach((each) => { if (!isOnPage(each)) each.remove(); });
    detail.serverResponse = answer.innerHTML;
  });

  /* More rows when the end comes into sight, ten times; then the button has to be pressed. */
  const MOST = 10;
  let loads = 0;
  const watcher = new IntersectionObserver((seen) => seen.forEach((each) => {
    if (!each.isIntersecting || loads >= MOST || each.target.dataset.asked) return;
    each.target.dataset.asked = "1";
    loads += 1;
    htmx.trigger(each.target, "kb:reveal");
  }), { rootMargin: "200px" });
  const watch = () => $$("[data-more]").forEach((each) => { if (!each.dataset.watched) { each.dataset.watched = "1"; watcher.observe(each); } });
  doc.addEventListener("htmx:afterSwap", ({ detail }) => { if (detail.target?.id === "doc-list") loads = 0; });
  doc.addEventListener("htmx:afterSettle", watch);

  /* A place looked for in a text is scrolled to; a passage named by the address too. */
  doc.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.target?.id !== "document") return;
    ($("#document #cited") || null)?.scrollIntoView({ block: "center" });
  });
  watch();
  fits();
})();
