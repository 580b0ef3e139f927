/* A conversation with opencode itself: the answer grows from the journal of its run, which page_ai.js reads; whenever the
   strip shows another run than the conversation, the conversation is fetched anew. */
(() => {
  "use strict";
  const doc = document;
  const panel = doc.querySelector("[data-page-ai]");
  if (!panel) return;
  const talk = () => panel.querySelector("#page-ai-talk");
  const live = (run) => panel.querySelector(`[data-page-ai-live="${run}"]`);
  const isAtEnd = (box) => box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  const toEnd = () => { const box = talk(); if (box) box.scrollTop = box.scrollHeight; };

  /* What was heard is kept until the conversation that is fetched meanwhile is there: it says how much of it it has. */
  let heard = [], followed = "";
  const grow = () => {
    const goal = live(followed);
    if (!goal) return;
    const follows = isAtEnd(talk());
    for (const { seq, payload } of heard.filter((each) => each.seq > Number(goal.dataset.seq))) {
      if (goal.dataset.part && goal.dataset.part !== payload.partId) goal.append("\n\n");
      goal.dataset.part = payload.partId;
      goal.dataset.seq = seq;
      goal.append(payload.text);
    }
    if (follows) toEnd();
  };
  panel.addEventListener("page-ai:heard", ({ detail: { run, kind, payload, seq } }) => {
    if (kind !== "message.delta") return;
    if (run !== followed) [heard, followed] = [[], run];
    heard.push({ seq: Number(seq), payload });
    grow();
  });

  const compare = () => {
    const shown = talk()?.dataset, run = panel.querySelector("[data-page-ai-run]")?.dataset;
    if (!shown || !run) return;
    if (shown.shown !== run.pageAiRun || shown.isLive !== run.isLive) htmx.trigger(talk(), "page-ai:talk");
  };
  doc.addEventListener("htmx:afterSettle", ({ detail }) => {
    if (detail.target?.id === "page-ai-talk" || detail.target === panel) { toEnd(); grow(); } else compare();
  });
  doc.addEventListener("htmx:oobAfterSwap", ({ detail }) => { if (detail.target?.id === "page-ai-now") setTimeout(compare); });
  doc.addEventListener("page-ai:asked", () => panel.querySelector("#page-ai-say")?.reset());
  doc.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    const form = event.target.closest?.("#page-ai-say");
    if (!form || !event.target.matches("textarea")) return;
    event.preventDefault();
    form.requestSubmit();
  });
  toEnd();
})();
