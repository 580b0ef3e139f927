/* Uploading: files and folders are chosen or dropped, the server says what would become of each, then each is sent by a
   request of its own, a few at a time. What fails stays in the list with its reason and can be tried again. Texts come
   from the server (#upload-data). */
(() => {
  "use strict";
  const doc = document;
  const $ = (selector, root = doc) => root.querySelector(selector);
  const form = $("[data-upload]");
  if (!form) return;
  const data = JSON.parse($(form.dataset.upload).textContent);
  const words = data.words;
  const AT_ONCE = 3, HASHED = 64 * 1024 * 1024, ASKED = 500;
  const items = new Map();
  let next = 0, running = 0, isStarted = false;

  const say = (text, facts) => text.replace(/%\((\w+)\)s/g, (_, name) => facts[name]);
  const number = (value) => value.toLocaleString("en");
  const size = (bytes) => {
    for (const [unit, factor, digits] of [["GB", 2 ** 30, 1], ["MB", 2 ** 20, 1], ["KB", 2 ** 10, 0]]) {
      if (bytes >= factor) return `${(bytes / factor).toFixed(digits)}\u00a0${unit}`;
    }
    return `${bytes}\u00a0B`;
  };
  const token = () => {
    const name = `${doc.body.dataset.csrfCookie}=`;
    const found = doc.cookie.split("; ").find((each) => each.startsWith(name));
    return found ? found.slice(name.length) : form.elements.csrfmiddlewaretoken.value;
  };
  const destination = () => new FormData(form).getAll("to").pop();
  const all = () => [...items.values()];
  /* Nothing is sent before the server has said where it would go. */
  const wanted = () => all().filter((item) => item.name && $("[data-wanted]", item.row).checked && item.state !== "done");

  /* The list. */
  const show = (item, text, kind = "") => {
    const place = $("[data-verdict]", item.row);
    place.textContent = text;
    place.className = `small ${kind}`;
  };
  const summary = () => {
    const list = all(), chosen = wanted(), done = list.filter((item) => item.state === "done");
    const failed = list.filter((item) => item.state === "failed");
    $("[data-chosen]").hidden = !list.length;
    const total = $("[data-total]");
    total.hidden = !isStarted;
    if (isStarted) {
      const batch = list.filter((item) => item.isAsked);
      const bytes = batch.reduce((sum, item) => sum + item.file.size, 0) || 1;
      total.value = 100 * batch.reduce((sum, item) => sum + (item.state === "done" ? item.file.size : item.sent || 0), 0) / bytes;
    }
    const facts = { count: number(chosen.length), total: number(list.length), done: number(done.length), failed: number(failed.length), size: size(chosen.reduce((sum, item) => sum + item.file.size, 0)) };
    const text = running ? words.running : isStarted && done.length ? (failed.length ? words.ended : words.endedWell) : words.chosen;
    $("[data-summary]").textContent = say(text, running ? { ...facts, total: number(list.filter((item) => item.isAsked).length) } : facts);
    $("[data-start]").disabled = !chosen.length || running > 0;
    $("[data-start]").hidden = !chosen.length && isStarted;
    $("[data-clear]").disabled = running > 0;
    $("[data-retry]").hidden = !failed.length || running > 0;
  };
  const add = (file, path) => {
    if (items.size >= data.most) return false;
    const row = $("#upload-row").content.firstElementChild.cloneNode(true);
    const id = String(next++);
    row.dataset.file = id;
    $("[data-name]", row).textContent = path;
    $("[data-size]", row).textContent = size(file.size);
    $("[data-bar]", row).setAttribute("aria-label", path);
    const item = { id, file, path, row, state: "new", key: crypto.randomUUID?.() || `${Date.now()}-${id}` };
    items.set(id, item);
    show(item, words.checking, "quiet");
    $("[data-list]").append(row);
    return true;
  };
  const addAll = async (found) => {
    const fresh = found.filter(({ file, path }) => !all().some((item) => item.path === path && item.file.size === file.size && item.state !== "done"));
    const before = items.size;
    const fitted = fresh.filter(({ file, path }) => add(file, path)).length;
    summary();
    if (fitted < fresh.length) doc.body.dispatchEvent(new CustomEvent("kb:toast", { detail: { text: say(words.tooMany, { most: number(data.most) }), kind: "warning" } }));
    await check(all().slice(before));
  };

  /* What would become of each. */
  const digest = async (file) => {
    if (!crypto.subtle || file.size > HASHED || !file.size) return "";
    const sum = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
    return [...new Uint8Array(sum)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  };
  const check = async (list) => {
    const open = list.filter((item) => item.state !== "done"), to = destination();
    for (let at = 0; at < open.length; at += ASKED) {
      const part = open.slice(at, at + ASKED);
      const files = [];
      for (const item of part) files.push({ path: item.path, size: item.file.size, sha256: (item.sha256 ??= await digest(item.file).catch(() => "")) });
      const answer = await fetch(data.check, {
        method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": token() }, body: JSON.stringify({ to, files }),
      }).catch(() => null);
      if (to !== destination()) return;
      if (!answer?.ok || answer.redirected) {
        part.forEach((item) => { item.state = "failed"; show(item, answer?.redirected ? words.signedOut : words.noAnswer, "bad"); $("[data-again]", item.row).hidden = false; });
        continue;
      }
      const found = (await answer.json()).files;
      part.forEach((item, number) => judge(item, found[number]));
    }
    summary();
  };
  const judge = (item, found) => {
    if (!found) return;
    item.state = "new";
    $("[data-again]", item.row).hidden = true;
    const isFine = found.verdict === "new" || found.verdict === "taken";
    item.folder = found.folder;
    item.name = found.name;
    show(item, found.text, isFine || found.verdict === "same" ? "quiet" : "bad");
    $("[data-rename]", item.row).hidden = found.verdict !== "taken";
    $("[data-new-name]", item.row).value = found.name;
    const box = $("[data-wanted]", item.row);
    box.checked = isFine;
    box.disabled = !isFine && found.verdict !== "same";
  };

  /* Sending. */
  const start = () => {
    isStarted = true;
    wanted().forEach((item) => { item.state = "waiting"; item.isAsked = true; item.sent = 0; show(item, words.waiting, "quiet"); });
    while (running < AT_ONCE && sendNext());
    summary();
  };
  /* Those the server never judged are judged first, and wait for the button like new ones. */
  const again = async (list) => {
    const judged = list.filter((item) => item.name);
    judged.forEach((item) => { item.state = "new"; $("[data-wanted]", item.row).checked = true; });
    await check(list.filter((item) => !item.name));
    if (judged.length) start();
  };
  const sendNext = () => {
    const item = all().find((each) => each.state === "waiting");
    if (!item) return false;
    running += 1;
    send(item);
    return true;
  };
  const finish = (item) => {
    running -= 1;
    $("[data-bar]", item.row).hidden = true;
    if (!sendNext() && !running) { summary(); doc.body.dispatchEvent(new CustomEvent("kb:poke")); }
    summary();
  };
  const fail = (item, text) => {
    item.state = "failed";
    item.sent = 0;
    show(item, text, "bad");
    $("[data-again]", item.row).hidden = false;
    finish(item);
  };
  const send = (item) => {
    const bar = $("[data-bar]", item.row), box = $("[data-wanted]", item.row), rename = $("[data-rename]", item.row);
    const name = rename.hidden ? item.name : $("[data-new-name]", item.row).value.trim() || item.name;
    const root = destination().split(":", 1)[0];
    const query = new URLSearchParams({ name, folder: item.folder, rootUri: data.roots[root], makeFolders: "true" });
    const xhr = new XMLHttpRequest();
    item.state = "sending";
    item.xhr = xhr;
    bar.hidden = false; bar.value = 0; box.disabled = true; $("[data-again]", item.row).hidden = true;
    show(item, words.sending, "quiet");
    xhr.upload.addEventListener("progress", (event) => { item.sent = event.loaded; bar.value = event.total ? 100 * event.loaded / event.total : 0; summary(); });
    xhr.upload.addEventListener("load", () => { bar.removeAttribute("value"); show(item, words.writing, "quiet"); });
    xhr.addEventListener("load", () => answered(item, xhr));
    xhr.addEventListener("error", () => fail(item, words.noAnswer));
    xhr.addEventListener("timeout", () => fail(item, words.noAnswer));
    xhr.open("POST", `${data.upload}?${query}`);
    xhr.setRequestHeader("Content-Type", "application/octet-stream");
    xhr.setRequestHeader("Accept", "application/json");
    xhr.setRequestHeader("X-CSRFToken", token());
    xhr.setRequestHeader("Idempotency-Key", `${item.key}-${name.length}-${query.toString().length}`);
    xhr.send(item.file);
  };
  const answered = (item, xhr) => {
    let body = {};
    try { body = JSON.parse(xhr.responseText); } catch { /* a proxy's page: the status says enough */ }
    if (xhr.status >= 200 && xhr.status < 300) { added(item, body); return; }
    if (xhr.status === 401) { fail(item, words.signedOut); return; }
    if (body.suggestion) {
      $("[data-rename]", item.row).hidden = false;
      $("[data-new-name]", item.row).value = body.suggestion;
    }
    const fields = Object.values(body.errors || {}).flat().map((each) => each.message).join(" ");
    fail(item, fields || body.detail || body.title || words.noAnswer);
  };
  const added = (item, body) => {
    item.state = "done";
    $("[data-name]", item.row).textContent = body.sourcePath || item.path;
    $("[data-wanted]", item.row).checked = false;
    $("[data-rename]", item.row).hidden = true;
    show(item, words.done, "good");
    if (body.sourceId) {
      const link = $("[data-link]", item.row);
      link.href = data.document.replace("/-/", `/${encodeURIComponent(body.sourceId)}/`);
      link.hidden = false;
    }
    finish(item);
  };

  /* Choosing and dropping. */
  form.addEventListener("change", (event) => {
    const target = event.target;
    if (target.matches("[data-pick]")) {
      addAll([...target.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      target.value = "";
    } else if (target.matches("[data-folder-name]")) {
      $("[data-chosen-folder]").textContent = target.dataset.folderName;
      check(all());
    } else if (target.matches("[data-wanted]")) summary();
  });
  form.addEventListener("click", (event) => {
    const at = (selector) => event.target.closest(selector);
    if (at("[data-start]")) start();
    else if (at("[data-clear]")) { items.clear(); isStarted = false; $("[data-list]").replaceChildren(); summary(); }
    else if (at("[data-retry]")) again(all().filter((item) => item.state === "failed"));
    else if (at("[data-again]")) again([items.get(at("[data-file]").dataset.file)]);
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); if (!$("[data-start]").disabled) start(); });
  const walk = async (entry, path) => {
    if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path: path + entry.name }];
    const reader = entry.createReader(), found = [];
    for (;;) {
      const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!part.length) return found;
      for (const each of part) if (found.length < data.most) found.push(...await walk(each, `${path}${entry.name}/`));
    }
  };
  const holdsFiles = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  const veil = $("[data-veil]");
  let depth = 0;
  doc.addEventListener("dragenter", (event) => { if (holdsFiles(event)) { depth += 1; veil.hidden = false; } });
  doc.addEventListener("dragleave", (event) => { if (holdsFiles(event)) { depth -= 1; veil.hidden = depth > 0 ? false : true; } });
  doc.addEventListener("dragover", (event) => { if (holdsFiles(event)) event.preventDefault(); });
  doc.addEventListener("drop", async (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    depth = 0; veil.hidden = true;
    const entries = [...event.dataTransfer.items].map((each) => each.webkitGetAsEntry?.()).filter(Boolean);
    if (!entries.length) { addAll([...event.dataTransfer.files].map((file) => ({ file, path: file.name }))); return; }
    const found = [];
    for (const entry of entries) found.push(...await walk(entry, "").catch(() => []));
    addAll(found);
  });
  addEventListener("beforeunload", (event) => { if (running) event.preventDefault(); });
  doc.documentElement.classList.add("scripted");
})();
