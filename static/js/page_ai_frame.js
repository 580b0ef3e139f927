/* Runs in OpenHub's page before its bundle: tells the bundle where it is, signs its calls against forged requests, opens
   the conversation that belongs to the page, and passes four wishes on to the host. Nothing secret is here. */
(() => {
  "use strict";
  const own = document.currentScript.dataset;
  const origin = location.origin;
  const tell = (mnote, more = {}) => { if (window.parent !== window) window.parent.postMessage({ mnote, ...more }, origin); };
  window.__mnotePanel = Object.freeze({
    base: own.base,
    api: `${own.base}/api`,
    chunks: own.assets.replace(/assets\/$/, ""),
    signedOut: () => tell("signedOut"),
  });
  /* The bundle wants to see a token before it starts; the real one never leaves the server. */
  localStorage.setItem("auth_token", "host-managed");

  /* OpenHub knows light only; our style sheet turns it dark where the host is. */
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let theme = document.cookie.match(/(?:^|; )mnote_theme=(light|dark)/)?.[1] || "";
  const paint = () => { document.documentElement.dataset.theme = theme || (dark.matches ? "dark" : "light"); };
  paint();
  dark.addEventListener("change", paint);
  window.addEventListener("message", (event) => {
    if (event.origin !== origin || event.source !== window.parent || typeof event.data?.mnoteTheme !== "string") return;
    theme = event.data.mnoteTheme;
    paint();
  });

  const token = () => document.cookie.split("; ").find((each) => each.startsWith("mnote_csrf="))?.slice(11) || "";
  const isOurs = (url) => new URL(url, location.href).origin === origin;
  const note = (url) => {
    const found = new URL(url, location.href).pathname.match(/\/api\/sessions\/(ses_[A-Za-z0-9]+)\/messages$/);
    if (found) tell("conversation", { session: found[1] });
  };
  const plainFetch = window.fetch.bind(window);
  window.fetch = (what, options = {}) => {
    const url = typeof what === "string" ? what : what.url;
    if (!isOurs(url)) return Promise.reject(new TypeError("not allowed here"));
    note(url);
    const headers = new Headers(options.headers || (typeof what === "string" ? {} : what.headers));
    headers.set("X-CSRFToken", token());
    return plainFetch(what, { ...options, headers });
  };
  const { open, send } = XMLHttpRequest.prototype;
  XMLHttpRequest.prototype.open = function (method, url, ...rest) {
    this.mnoteUrl = String(url);
    return open.call(this, method, url, ...rest);
  };
  XMLHttpRequest.prototype.send = function (...given) {
    if (isOurs(this.mnoteUrl)) { note(this.mnoteUrl); this.setRequestHeader("X-CSRFToken", token()); }
    return send.apply(this, given);
  };
  /* Only notifications use it, which MNote has its own of. */
  window.EventSource = class extends EventTarget { close() {} };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const button = event.target.closest?.("button");
    if (link && isOurs(link.href) && /\/w\/[^/]+\/open\//.test(new URL(link.href).pathname)) {
      event.preventDefault();
      tell("open", { url: link.href });
    } else if (button && [button.title, button.textContent.trim()].includes("新建对话")) {
      event.preventDefault();
      event.stopPropagation();
      tell("newConversation");
    }
  }, true);

  /* OpenHub always opens an empty chat. The conversation of the page is opened by the entry of its own list, found by
     the end of its id, while the list itself stays out of sight. */
  const SECONDS = 12;
  const resume = () => {
    const end = `ID: ${own.session.slice(-8)}`;
    let isOpened = false;
    const page = document.documentElement;
    page.dataset.resuming = "";
    const watch = new MutationObserver(() => look());
    const stop = () => { watch.disconnect(); delete page.dataset.resuming; };
    const look = () => {
      const list = document.querySelector('button[title="历史记录"]');
      if (!isOpened && list) { isOpened = true; list.click(); }
      const entries = [...document.querySelectorAll(".ant-list-item-meta")];
      const entry = entries.find((each) => each.textContent.replace(/\s+/g, " ").includes(end));
      if (!entry) return;
      stop();
      entry.click();
    };
    watch.observe(page, { childList: true, subtree: true });
    setTimeout(stop, SECONDS * 1000);
  };
  if (own.session) resume();
})();
