/* Trees of links. Each folder is a page of its own, so a tree works without this file.

   <ul role="tree">
     <li role="none"><a role="treeitem" href="…" aria-expanded="false" aria-owns="x" tabindex="-1"><span data-twist></span>…</a>
       <ul role="group" id="x" hidden hx-get="…" hx-trigger="tree:open once" hx-swap="innerHTML"></ul></li>
   Right opens or goes in, Left closes or goes out, letters jump; Up, Down, Home and End are mnote.js's. */
(() => {
  "use strict";
  const doc = document;
  const all = (tree) => [...tree.querySelectorAll("[role=treeitem]")];
  const shown = (tree) => all(tree).filter((each) => each.offsetParent);
  const below = (item) => (item.hasAttribute("aria-expanded") ? item.nextElementSibling : null);
  const isOpen = (item) => item.getAttribute("aria-expanded") === "true";

  const fold = (item, open) => {
    const group = below(item);
    if (!group) return;
    group.hidden = !open;
    item.setAttribute("aria-expanded", String(open));
    if (open) group.dispatchEvent(new CustomEvent("tree:open"));
  };
  doc.addEventListener("click", (event) => {
    if (!event.target.closest?.("[data-twist]")) return;
    const item = event.target.closest("[role=treeitem]");
    event.preventDefault();
    event.stopPropagation();
    fold(item, !isOpen(item));
    item.focus();
  }, true);

  /* One item is in the tab order: the current one, then the one that had the focus last. */
  const enter = (tree, item) => { all(tree).forEach((each) => { each.tabIndex = each === item ? 0 : -1; }); };
  const prepare = (tree) => {
    if (!tree.querySelector("[role=treeitem][tabindex='0']")) enter(tree, tree.querySelector("[aria-current]") || all(tree)[0]);
  };
  doc.addEventListener("focusin", (event) => {
    const item = event.target.closest?.("[role=treeitem]");
    if (item) enter(item.closest("[role=tree]"), item);
  });

  const right = (item) => { if (below(item) && !isOpen(item)) fold(item, true); else below(item)?.querySelector("[role=treeitem]")?.focus(); };
  const left = (item) => { if (isOpen(item)) fold(item, false); else item.closest("[role=group]")?.previousElementSibling?.focus(); };
  let typed = "", typedAt = 0;
  const jump = (item, key) => {
    typed = Date.now() - typedAt < 700 ? typed + key : key;
    typedAt = Date.now();
    const items = shown(item.closest("[role=tree]")), from = items.indexOf(item) + (typed.length > 1 ? 0 : 1);
    [...items.slice(from), ...items.slice(0, from)].find((each) => each.innerText.trim().toLowerCase().startsWith(typed))?.focus();
  };
  doc.addEventListener("keydown", (event) => {
    const item = event.target.closest?.("[role=treeitem]");
    if (!item || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "ArrowRight") right(item);
    else if (event.key === "ArrowLeft") left(item);
    else if (event.key.length === 1 && event.key !== " ") jump(item, event.key.toLowerCase());
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  const prepareAll = () => doc.querySelectorAll("[role=tree]").forEach(prepare);
  doc.addEventListener("htmx:afterSettle", prepareAll);
  prepareAll();
})();
