/* The frame's behaviour. Pages work without it; texts come from the server (#words). Listeners sit on the document:
   swapped parts need no new ones. What a page may use:

   #modal, #drawer         htmx target; opens when it gets content. Events kb:close-modal, kb:close-drawer close.
   kb:toast {text, kind}   a message in the corner; kb:announce {text} tells it to readers only.
   kb:poke                 fired on the body when work may have changed; pollers listen "from:body".
   data-events="/api/…"    a stream that pokes when something changed; closed while the tab is hidden.
   data-poll               an element that polls: rests while the tab is hidden, backs off on errors, never redirects.
   data-hotkey="g s"       a key, or two in a row, clicks (or focuses) the element.
   data-copy="#id|text"    copies the text of an element, or the text itself.
   data-select-table       a form whose check boxes select rows, with [data-select-all], -count and -bar in it.
   data-keep               a form in a dialog: closing asks before it loses what was typed.
   data-close              inside a dialog: closes it (a link still works where there is no dialog).
   role="tree"             arrow keys move between its treeitems; Right and Left open and close their <details>.
   data-move-list          j and k move between the first links of its [data-row]s. */
(() => {
  "use strict";
  const doc = document;
  const $ = (selector, root = doc) => root.querySelector(selector);
  const $$ = (selector, root = doc) => [...root.querySelectorAll(selector)];
  const words = JSON.parse($("#words").textContent);
  const on = (name, handle, first) => doc.addEventListener(name, handle, first);
  const tell = (name, detail) => doc.body.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
  const say = (text) => { $("#announcer").textContent = text; };
  const cookie = (name) => doc.cookie.split("; ").find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
  const token = () => cookie(doc.body.dataset.csrfCookie) || "";
  const isTyping = (el) => el.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]");

  /* Toasts. They sit in the open dialog, if any: what is outside a modal dialog cannot be clicked. */
  const placeToasts = () => { ($("dialog:modal") || doc.body).append($("#toasts")); };
  const dropLater = (toast) => {
    if (!["bad", "error", "warning"].includes(toast.dataset.toast)) setTimeout(() => toast.remove(), 7000);
  };
  const toast = (text, kind = "good") => {
    const one = $("#toast-template").content.firstElementChild.cloneNode(true);
    one.dataset.toast = kind;
    one.className = `toast ${kind}`;
    $("[data-toast-text]", one).textContent = text;
    placeToasts();
    $("#toasts").prepend(one);
    dropLater(one);
  };

  /* Dialogs: focus goes in, comes back, and typed text is not lost by accident. */
  const openers = new Map();
  const isDirty = (dialog) => "dirty" in dialog.dataset;
  on("input", (event) => {
    const dialog = event.target.closest("[data-keep]")?.closest("dialog");
    if (dialog) dialog.dataset.dirty = "";
  });
  const open = (dialog) => {
    if (dialog.open) return;
    openers.set(dialog, doc.activeElement);
    if (dialog.id === "drawer" && matchMedia("(min-width: 69rem)").matches) dialog.show();
    else dialog.showModal();
    placeToasts();
    focusIn(dialog);
  };
  const focusIn = (dialog) => {
    const goal = $("[autofocus]", dialog) || $("h1, h2", dialog);
    if (!goal) return;
    if (!goal.matches("a, button, input, select, textarea")) goal.tabIndex = -1;
    goal.focus();
  };
  const mayClose = (dialog) => !isDirty(dialog) || confirm(words.dirty);
  const close = (dialog) => { if (dialog?.open) dialog.close(); };
  const closed = (dialog) => {
    placeToasts();
    dialog.replaceChildren();
    delete dialog.dataset.dirty;
    const back = openers.get(dialog);
    openers.delete(dialog);
    if (back?.isConnected) back.focus();
    else $("#main")?.focus();
    tell("kb:closed", { dialog: dialog.id });
  };
  $$("#modal, #drawer").forEach((dialog) => {
    dialog.addEventListener("close", () => closed(dialog));
    dialog.addEventListener("cancel", (event) => { if (event.target === dialog && !mayClose(dialog)) event.preventDefault(); });
    dialog.addEventListener("click", (event) => {
      if (event.target !== dialog || !dialog.matches(":modal") || $("[data-no-backdrop]", dialog)) return;
      const box = dialog.getBoundingClientRect();
      const inside = event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
      if (!inside && !isDirty(dialog)) close(dialog);
    });
  });
  on("htmx:afterSwap", (event) => {
    const dialog = event.detail.target;
    if (!dialog?.matches?.("#modal, #drawer")) return;
    if (!dialog.childElementCount) close(dialog);
    else if (dialog.open) focusIn(dialog);
    else open(dialog);
  });
  on("kb:close-modal", () => close($("#modal")));
  on("kb:close-drawer", () => close($("#drawer")));
  on("kb:toast", (event) => toast(event.detail.text, event.detail.kind));
  on("kb:announce", (event) => say(event.detail.text));

  /* Requests: the token of now, not of when the page was made; no answer becomes a strip. */
  const strip = $("#connection-strip");
  const signInAddress = () => `${doc.body.dataset.signIn}?next=${encodeURIComponent(location.pathname + location.search)}`;
  const showStrip = (text, out) => {
    if (!strip) return;
    $("[data-strip-text]", strip).textContent = text;
    const link = $("[data-sign-in-link]", strip);
    link.hidden = !out;
    link.href = signInAddress();
    strip.hidden = false;
  };
  const isPoll = (event) => event.target.closest("[data-poll]");
  let failures = 0, notBefore = 0, lastAnswer = new Date(), isSignedOut = false;
  const failedPoll = () => {
    failures += 1;
    notBefore = Date.now() + Math.min(30000, 1000 * 2 ** failures);
    const time = lastAnswer.toLocaleTimeString(doc.documentElement.lang, { hour: "2-digit", minute: "2-digit" });
    showStrip(words.offline.replace("%(time)s", time), false);
  };
  on("htmx:configRequest", ({ detail }) => {
    detail.headers["X-CSRFToken"] = token();
    if (detail.parameters.csrfmiddlewaretoken && token()) detail.parameters.csrfmiddlewaretoken = token();
  });
  on("submit", ({ target }) => {
    const field = $("input[name=csrfmiddlewaretoken]", target);
    if (field && token()) field.value = token();
  }, true);
  on("htmx:beforeRequest", (event) => {
    if (!isPoll(event)) return;
    if (doc.hidden || isSignedOut || Date.now() < notBefore) event.preventDefault();
  });
  on("htmx:beforeOnLoad", (event) => {
    const { xhr, requestConfig } = event.detail;
    const away = xhr.getResponseHeader("HX-Redirect") || "";
    const isOut = xhr.status === 401 || away.startsWith(doc.body.dataset.signIn);
    if (!isOut) {
      lastAnswer = new Date();
      if (xhr.status < 500 && strip && !strip.hidden) { strip.hidden = true; failures = notBefore = 0; isSignedOut = false; }
      return;
    }
    if (requestConfig.verb === "get" && !isPoll(event)) {
      if (!away) { event.preventDefault(); location.assign(signInAddress()); }
      return;
    }
    event.preventDefault();
    isSignedOut = true;
    showStrip(words.signedOut, true);
    if ($("dialog:modal")) toast(words.signedOut, "bad");
  });
  on("htmx:beforeSwap", (event) => {
    /* A problem never replaces a row or a list: it goes into the dialog it belongs to, else to the corner. */
    const { xhr, target } = event.detail;
    if (xhr.status < 400 || xhr.status >= 500 || xhr.status === 422 || xhr.getResponseHeader("HX-Retarget")) return;
    if (!/data-problem/.test(xhr.responseText.slice(0, 400))) { event.detail.shouldSwap = false; toast(words.failed, "bad"); return; }
    if (isPoll(event)) { event.detail.shouldSwap = false; return; }
    if (target.matches("#modal, #drawer") && !target.open) return;
    event.detail.target = $("#toasts");
    event.detail.swapOverride = "afterbegin";
  });
  on("htmx:responseError", (event) => {
    if (event.detail.xhr.status < 500) return;
    if (isPoll(event)) failedPoll(); else toast(words.failed, "bad");
  });
  on("htmx:sendError", (event) => {
    if (isPoll(event)) failedPoll(); else toast(words.noAnswer, "bad");
  });
  on("visibilitychange", () => {
    listen();
    if (!doc.hidden) { notBefore = 0; isSignedOut = false; tell("kb:poke"); }
  });
  let stream;
  const listen = () => {
    const url = $("[data-events]")?.dataset.events;
    stream?.close();
    stream = url && !doc.hidden ? new EventSource(url) : null;
    stream?.addEventListener("changed", () => tell("kb:poke"));
    stream?.addEventListener("end", () => { stream.close(); tell("kb:poke"); });
  };

  /* Clicks. */
  const copy = async (what) => {
    const text = /^#[\w-]+$/.test(what) ? $(what)?.textContent.trim() : what;
    try { await navigator.clipboard.writeText(text); toast(words.copied, "note"); say(words.copied); } catch { toast(words.notCopied, "bad"); }
  };
  on("click", (event) => {
    const at = (selector) => event.target.closest?.(selector);
    if (at("[data-copy]")) copy(at("[data-copy]").dataset.copy);
    else if (at("[data-close-toast]")) at("[data-toast], [data-problem]").remove();
    else if (at("dialog [data-close]")) { event.preventDefault(); if (mayClose(at("dialog"))) close(at("dialog")); }
    else if (at(".rail-rest a")) $("#rail-rest")?.hidePopover?.();
  });
  on("submit", (event) => {
    const form = event.target.closest("[data-theme-switch]");
    if (!form || !event.submitter) return;
    event.preventDefault();
    const theme = event.submitter.value;
    const root = doc.documentElement;
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    $("meta[name=color-scheme]").content = theme || "light dark";
    $$("[data-theme-switch] button").forEach((button) => button.setAttribute("aria-pressed", String(button.value === theme)));
    fetch(form.action, { method: "POST", headers: { "X-CSRFToken": token(), "HX-Request": "true" }, body: new URLSearchParams({ theme }) });
    tell("host:theme", { theme });
  });

  /* Selection: Shift takes the range; the bar says how many. */
  let lastBox = null;
  const boxes = (table) => $$("input[type=checkbox][name]:not([data-select-all])", table).filter((each) => each.closest("[data-row], tr, li"));
  const count = (table) => {
    const all = boxes(table), checked = all.filter((each) => each.checked);
    $$("[data-select-count]", table).forEach((each) => { each.textContent = words.selected.replace("%(count)s", checked.length.toLocaleString("en")); });
    $$("[data-select-bar]", table).forEach((each) => { each.hidden = !checked.length; });
    $$("[data-select-all]", table).forEach((each) => { each.checked = all.length > 0 && checked.length === all.length; each.indeterminate = checked.length > 0 && checked.length < all.length; });
    all.forEach((each) => { const row = each.closest("tr"); if (row) { if (each.checked) row.setAttribute("aria-selected", "true"); else row.removeAttribute("aria-selected"); } });
  };
  on("click", (event) => {
    const box = event.target.closest?.("[data-select-table] input[type=checkbox]");
    if (!box) return;
    const table = box.closest("[data-select-table]");
    const all = boxes(table);
    if (box.matches("[data-select-all]")) all.forEach((each) => { each.checked = box.checked; });
    else {
      const from = all.indexOf(lastBox), to = all.indexOf(box);
      if (event.shiftKey && from >= 0 && to >= 0) all.slice(Math.min(from, to), Math.max(from, to) + 1).forEach((each) => { each.checked = box.checked; });
      lastBox = box;
    }
    count(table);
  });
  const countAll = () => $$("[data-select-table]").forEach(count);
  on("htmx:afterSettle", () => { countAll(); $$("#toasts > [data-toast]").forEach((each) => { if (!each.dataset.timed) { each.dataset.timed = "1"; dropLater(each); } }); });

  /* Keys: never while somebody types, composes a character, or has a dialog open. */
  let firstKey = "", firstAt = 0;
  const rowsOf = (list) => $$("[data-row]", list).map((row) => (row.matches("a") ? row : $("a", row))).filter((each) => each?.offsetParent);
  const move = (step) => {
    const list = $("[data-move-list]");
    if (!list) return false;
    const rows = rowsOf(list), row = doc.activeElement?.closest("[data-row]");
    const at = rows.findIndex((each) => row?.contains(each));
    rows[Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
    return rows.length > 0;
  };
  const treeKey = (event) => {
    const tree = event.target.closest?.("[role=tree]");
    if (!tree) return false;
    const items = $$("[role=treeitem]", tree).filter((each) => each.offsetParent);
    const item = event.target.closest("[role=treeitem]"), at = items.indexOf(item), fold = item?.closest("details");
    const go = (to) => { items[to]?.focus(); };
    switch (event.key) {
      case "ArrowDown": go(at + 1); break;
      case "ArrowUp": go(Math.max(0, at - 1)); break;
      case "Home": go(0); break;
      case "End": go(items.length - 1); break;
      case "ArrowRight": if (fold && !fold.open) fold.open = true; else go(at + 1); break;
      case "ArrowLeft": if (fold?.open && fold.contains(item) && $("summary", fold)?.contains(item)) fold.open = false; else go(items.indexOf($("[role=treeitem]", item?.closest("ul")?.closest("details, li") || tree))); break;
      default: return false;
    }
    return true;
  };
  on("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && $("#drawer")?.open && !$("#drawer:modal") && !$("dialog:modal")) { if (mayClose($("#drawer"))) close($("#drawer")); return; }
    if (treeKey(event)) { event.preventDefault(); return; }
    if (isTyping(event.target) || $("dialog:modal") || event.key.length !== 1) return;
    if ((event.key === "j" && move(1)) || (event.key === "k" && move(-1))) { event.preventDefault(); return; }
    const both = Date.now() - firstAt < 1200 && firstKey ? `${firstKey} ${event.key}` : "";
    const find = (key) => $$("[data-hotkey]").find((each) => each.dataset.hotkey === key && each.offsetParent);
    const goal = (both && find(both)) || find(event.key);
    firstKey = event.key; firstAt = Date.now();
    if (!goal) return;
    event.preventDefault();
    firstKey = "";
    if (isTyping(goal)) { goal.focus(); goal.select?.(); } else goal.click();
  });

  $$("#toasts > [data-toast]").forEach(dropLater);
  countAll();
  listen();
  /* The clock for times. */
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zone && cookie("mnote_time_zone") !== encodeURIComponent(zone)) doc.cookie = `mnote_time_zone=${encodeURIComponent(zone)}; path=/; max-age=31536000; samesite=lax`;
})();
