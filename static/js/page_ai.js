/* The AI panel beside a document: opening and closing it, what is selected on the page, news from the server, and the
   bridge to OpenHub's page in the frame. Messages count only from that frame and our own origin. */
(() => {
  "use strict";
  const doc = document;
  const $ = (selector, root = doc) => root.querySelector(selector);
  const panel = $("[data-page-ai]");
  if (!panel) return;
  const frame = () => $("[data-page-ai-frame]", panel);
  const place = () => $("[data-page-ai-events]", panel);
  const token = () => {
    const name = `${doc.body.dataset.csrfCookie}=`;
    return doc.cookie.split("; ").find((each) => each.startsWith(name))?.slice(name.length) || "";
  };
  const remember = (state) => { doc.cookie = `mnote_page_ai=${state}; path=/; max-age=31536000; samesite=lax`; };

  /* Opening and closing. */
  const button = $("[data-page-ai-show]");
  const show = () => {
    panel.hidden = false;
    button.hidden = true;
    button.setAttribute("aria-expanded", "true");
    remember("open");
    if (!place()) htmx.trigger(panel, "page-ai:show");
    $("h2", panel)?.focus();
    listen();
  };
  const hide = () => {
    panel.hidden = true;
    button.hidden = false;
    button.setAttribute("aria-expanded", "false");
    remember("closed");
    button.focus();
    listen();
    follow();
  };
  button?.addEventListener("click", show);

  /* News: the server says that something changed; what, the page fetches. Rests while nobody looks. */
  let stream = null, watched = "";
  const changed = () => htmx.trigger(doc.body, "page-ai:changed");
  const listen = () => {
    const url = !panel.hidden && !doc.hidden ? place()?.dataset.pageAiEvents || "" : "";
    if (url === watched) return;
    stream?.close();
    watched = url;
    stream = url ? new EventSource(url) : null;
    stream?.addEventListener("ready", changed);
    stream?.addEventListener("changed", changed);
    stream?.addEventListener("end", () => { stream.close(); watched = ""; changed(); });
  };
  doc.addEventListener("visibilitychange", listen);

  /* The run that goes on is followed by its journal, from what this browser saw of it last. Which run that is, the server
     says; a run that it does not name is forgotten. */
  const SNAPSHOT = "mnote.page_ai_active_run_snapshot.v1";
  const IS_END = /^run\.(completed|failed|cancelled)$/;
  let journal = null, followed = "", said = "", news = 0;
  const snapshot = () => { try { return JSON.parse(localStorage.getItem(SNAPSHOT)) || {}; } catch { return {}; } };
  const line = () => $("[data-page-ai-run]", panel);
  const showSaid = () => { const at = $("[data-page-ai-said]", panel); if (at) at.textContent = said.slice(-90); };
  const soon = () => { news ||= setTimeout(() => { news = 0; changed(); }, 400); };
  const heard = (run, session, { data, lastEventId }) => {
    const { kind, payload } = JSON.parse(data);
    localStorage.setItem(SNAPSHOT, JSON.stringify({ hostRunId: run, sessionId: session, lastSeq: lastEventId, createdAt: Date.now() }));
    htmx.trigger(panel, "page-ai:heard", { run, kind, payload, seq: lastEventId });
    if (kind === "message.delta") { said = (said + payload.text).slice(-200); showSaid(); } else soon();
    if (IS_END.test(kind)) { journal.close(); localStorage.removeItem(SNAPSHOT); }
  };
  const follow = () => {
    const at = line()?.dataset;
    const run = at?.isLive === "true" ? at.pageAiRun : "";
    const wanted = !panel.hidden && !doc.hidden ? run : "";
    showSaid();
    if (!run) localStorage.removeItem(SNAPSHOT);
    if (wanted === followed) return;
    journal?.close();
    if (followed && at?.pageAiRun === followed && !run) htmx.trigger(doc.body, "kb:announce", { text: at.sentence });
    followed = wanted;
    said = "";
    if (!wanted) return;
    const known = snapshot();
    const shown = $(`[data-page-ai-live="${run}"]`, panel)?.dataset.seq;
    journal = new EventSource(`${at.journal}?afterSeq=${shown ?? (known.hostRunId === run ? known.lastSeq : 0)}`);
    journal.onmessage = (event) => heard(run, at.session, event);
    journal.addEventListener("end", () => journal.close());
  };
  doc.addEventListener("visibilitychange", follow);

  /* What is selected on the page goes along with the next question, as far as it is seen here. */
  let selected = null, waits = 0;
  const shown = (text) => {
    const line = $("[data-page-ai-selection]", panel);
    if (!line) return;
    line.hidden = !text;
    $("[data-page-ai-quote]", line).textContent = text.length > 80 ? `${text.slice(0, 79)}…` : text;
  };
  const send = (text) => {
    const url = place()?.dataset.pageAiSelect;
    if (!url || text === selected) return;
    selected = text;
    shown(text);
    fetch(url, { method: "POST", headers: { "X-CSRFToken": token() }, body: new URLSearchParams({ text }) }).catch(() => { selected = null; });
  };
  doc.addEventListener("selectionchange", () => {
    const choice = doc.getSelection();
    const place = choice.anchorNode?.parentElement?.closest("#main");
    if (panel.hidden || !place || choice.isCollapsed) return;
    clearTimeout(waits);
    waits = setTimeout(() => send(choice.toString().trim().slice(0, 2000)), 400);
  });

  /* References open in the document pane beside the conversation, which stays as it is. */
  const runtime = () => window.__mnoteDocumentPaneRuntime;
  const isPane = (target) => target.origin === location.origin && /\/w\/[^/]+\/open\//.test(target.pathname);
  const isHere = (target) => target.pathname === location.pathname;
  const open = (address) => {
    const target = new URL(address, location.href);
    if (!isPane(target)) return;
    if (!$("[data-reading]") || window.parent !== window) { if (runtime()) runtime().openResourceInActiveTab({ url: target.href }); else location.assign(target.href); return; }
    if (isHere(target) && !target.hash && !target.searchParams.get("cite") && !target.searchParams.get("lines")) { refresh(); return; }
    const address_ = target.pathname + target.search;
    htmx.ajax("GET", address_, { target: "#main", select: "#main", swap: "outerHTML show:window:top" }).then(() => {
      history.pushState({ htmx: false }, "", address_ + target.hash);
      arrive(target.hash);
    });
  };
  const refresh = () => {
    const here = location.pathname + location.search;
    htmx.ajax("GET", here, { target: "#main", select: "#main", swap: "outerHTML show:none" });
  };
  const arrive = (hash) => {
    const place = doc.getElementById(decodeURIComponent(hash.slice(1)) || "cited") || doc.getElementById("cited");
    place?.scrollIntoView({ block: "center", behavior: "instant" });
    place?.focus({ preventScroll: true });
  };
  window.addEventListener("popstate", () => location.reload());

  /* The bridge: OpenHub's page can ask for four things, and for nothing else. */
  const ask = {
    open: ({ url }) => { if (typeof url === "string") open(url); },
    signedOut: () => location.assign(`${doc.body.dataset.signIn}?next=${encodeURIComponent(location.pathname + location.search)}`),
    newConversation: () => $("[hx-post$='/new']", panel)?.click(),
    conversation: ({ session }) => {
      const url = frame()?.dataset.pageAiBelongs;
      if (url && /^ses_[A-Za-z0-9]+$/.test(session)) htmx.ajax("GET", `${url}?session=${session}`, { target: "#page-ai-belongs", swap: "innerHTML" });
    },
  };
  window.addEventListener("message", (event) => {
    if (event.origin !== location.origin || event.source !== frame()?.contentWindow) return;
    const name = event.data?.mnote;
    if (typeof name === "string" && Object.hasOwn(ask, name)) ask[name](event.data);
  });

  doc.body.addEventListener("host:theme", ({ detail }) => frame()?.contentWindow?.postMessage({ mnoteTheme: detail.theme }, location.origin));

  panel.addEventListener("click", (event) => {
    const at = (selector) => event.target.closest?.(selector);
    if (at("[data-page-ai-hide]")) hide();
    else if (at("[data-page-ai-unselect]")) { doc.getSelection().removeAllRanges(); send(""); }
    else if (at("[data-page-ai-chip]") && !event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); open(at("[data-page-ai-chip]").href); }
  });
  doc.addEventListener("htmx:afterSettle", () => { listen(); follow(); });
  /* The lamp of a layer that does not answer stays: how the run stands says nothing about that. */
  doc.addEventListener("htmx:oobBeforeSwap", ({ detail }) => { if (detail.target.matches("[data-trouble]")) detail.shouldSwap = false; });
  listen();
  follow();
})();
