/* OpenHub's built pages in small: the same names, the same calls, the same habits, among them the bad ones. It wants its
   API at "/api", goes to "/login" when it is refused, opens an empty chat, asks for notifications, and sends a question
   again, twice, when a stream ends without a proper last frame. A few lines are written as its bundler writes them. */
const U2="/api",Ft={baseURL:U2};
function Yb({basename:e,children:t,window:r}){const at=r.location.pathname;return e&&at.startsWith(e)?at.slice(e.length)||"/":at}
const preload=function(e){return"/"+e};
const root = document.getElementById("root");
const token = () => localStorage.getItem("auth_token");
const hg = () => localStorage.removeItem("auth_token");
const el = (name, text = "", more = {}) => Object.assign(document.createElement(name), { textContent: text }, more);
const headers = () => ({ "Content-Type": "application/json", Authorization: `Bearer ${token()}` });
let conversation = "";

const call = async (method, path, body) => {
  const p = await fetch(Ft.baseURL + path, { method, headers: headers(), body: body && JSON.stringify(body) });
  if (p.status === 401) { hg(), window.location.href="/login"; return {}; }
  return p.json();
};

const talk = el("div", "", { className: "messages-area" });
const drawer = el("div", "", { className: "drawer", hidden: true });
const box = el("textarea", "", { placeholder: "请输入您的问题" });
const put = (who, text) => {
  const one = el("div", text, { className: `message-item-${who}` });
  talk.append(one);
  return one;
};

const show = (data, at) => {
  if (data.type === "session" && !conversation) conversation = data.conversation_id;
  if (data.type === "text") at.append(data.content);
  if (data.type === "error") at.append(el("p", data.error, { className: "error" }));
  if (data.type !== "tool") return;
  let one = at.querySelector(`[data-call="${data.call_id}"]`);
  if (!one) {
    one = el("p", "", { className: "tool" });
    one.dataset.call = data.call_id;
    at.append(one);
  }
  one.textContent = `${data.tool}: ${data.state}`;
};

/* Returns whether the last frame was a proper end. */
const read = async (p, at) => {
  const reader = p.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", type = null, failed = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return failed || ["session_idle", "message_complete"].includes(type);
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    lines.filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6))).forEach((data) => {
      type = data.type;
      failed ||= type === "error";
      show(data, at);
    });
  }
};

const send = async (question, tries = 0, at = null) => {
  if (!at) { put("user", question); at = put("assistant", ""); }
  const body = JSON.stringify({ question, conversation_id: conversation, agent: "build" });
  const p = await fetch(`${Ft.baseURL}/query/stream`, { method: "POST", headers: headers(), body });
  if (p.status === 401) { hg(), window.location.href="/login"; return; }
  if (!p.ok) { show({ type: "error", error: `HTTP error! status: ${p.status}` }, at); return; }
  if (!(await read(p, at)) && tries < 2) {
    await new Promise((go) => { setTimeout(go, 50); });
    await send(question, tries + 1, at);
  }
};

const reconnect = async () => {
  const p = await fetch(`${Ft.baseURL}/query/stream/reconnect?session_id=${conversation}`, { headers: headers() });
  if (p.status === 401) { hg(), window.location.href="/login"; return; }
  if (p.ok) await read(p, put("assistant", ""));
};

const load = async (id) => {
  const found = await call("GET", `/sessions/${id}/messages`);
  conversation = id;
  drawer.hidden = true;
  talk.replaceChildren();
  (found.data || []).sort((a, b) => a.db_id - b.db_id).forEach((each) => put(each.role, each.content));
  if (found.is_processing) await reconnect();
};

const history = async () => {
  const found = await call("GET", "/sessions?page=1&page_size=10");
  drawer.replaceChildren(...(found.data || []).map((each) => {
    const item = el("div", "", { className: "ant-list-item-meta", onclick: () => load(each.session_id) });
    item.append(el("b", each.title), el("small", `ID: ${each.session_id.slice(-8)}`));
    return item;
  }));
};

const button = (title, onclick = () => {}) => el("button", title, { title, onclick });
const start = async () => {
  const at = Yb({ basename: void 0, children: null, window });
  if (!token() || at === "/login") { root.append(el("h1", "登录", { id: "login" })); return; }
  const me = await call("GET", "/auth/me");
  if (!me.success) return;
  const bar = el("div", "", { className: "bar" });
  const names = ["文件管理", "技能管理", "任务管理", "记忆", "知识库", "时光机", "智能体", "协作任务", "新建对话"];
  bar.append(...names.map((name) => button(name)), button("历史记录", () => { drawer.hidden = !drawer.hidden; }));
  bar.append(button("退出", () => { hg(), window.location.href="/login"; }));
  if (me.data.is_admin) bar.append(button("管理后台"));
  const models = el("small", "", { className: "models" });
  const go = button("发送", () => {
    const text = box.value.trim();
    box.value = "";
    if (text) send(text);
  });
  root.append(bar, drawer, talk, models, box, go);
  const [, permitted] = await Promise.all([history(), call("GET", "/models")]);
  models.textContent = (permitted.data?.models || []).map((each) => each.name).join(", ");
  root.dataset.ready = "1";
  new EventSource(`${window.location.origin}/api/notifications/stream?token=${token()}`);
};
start();
