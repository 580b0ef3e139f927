/* The page of a run that goes on: whenever something happened, the page fetches its steps anew, at most once a second. */
(() => {
  "use strict";
  const run = document.getElementById("run");
  if (!run?.dataset.run) return;
  const stream = new EventSource(run.dataset.run);
  let waits = 0;
  const fetchAnew = () => {
    waits = 0;
    htmx.ajax("GET", location.pathname, { target: "#run", select: "#run", swap: "outerHTML show:none" });
  };
  stream.onmessage = ({ data }) => {
    const isOver = /^run\.(completed|failed|cancelled)$/.test(JSON.parse(data).kind);
    if (isOver) stream.close();
    if (!waits) waits = setTimeout(fetchAnew, 1000);
  };
  stream.addEventListener("end", () => stream.close());
})();
