// Requests to the REST API with the key of this tab.
const API = "/api/v1";
const KEY = "recollect-key";
const LINK = /^#link=([\w-]+)/;

// A request that failed or was refused. `message` is for people.
export class Refused extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

function refusal({ detail, remedy, status }) {
  return new Refused(`${detail.charAt(0).toUpperCase()}${detail.slice(1)}. ${remedy}`, status);
}

// `recollect page` serves the page of a local store, with a key that only its link provides.
export const isLocal = () => document.body.dataset.command === "recollect page";
export const unreachable = () =>
  isLocal() ? "`recollect page` does not answer." : "The server cannot be reached.";
export const howToStart = () =>
  `If it was stopped, ${isLocal() ? "run it again and open the link that it prints" : "start it with `recollect serve`"}.`;

export const hasKey = () => sessionStorage.getItem(KEY) !== null;
export const keepKey = (key) => sessionStorage.setItem(KEY, key);
export const forgetKey = () => sessionStorage.removeItem(KEY);

// A link of `recollect page` carries a code after the #, which browsers never send. It can be
// exchanged for the key once.
export function takeLink() {
  const code = LINK.exec(location.hash)?.[1];
  if (code) history.replaceState(null, "", "#/home");
  return code;
}

export async function exchangeLink(code) {
  const { key } = await answerOf(fetch("/page/key", { method: "POST", body: code }));
  keepKey(key);
}

const headers = () => ({
  Authorization: `Bearer ${sessionStorage.getItem(KEY)}`,
  "Recollect-Client": "page",
});

export function ask(method, path, body) {
  const sent = headers();
  if (body !== undefined) sent["Content-Type"] = "application/json";
  return answerOf(fetch(API + path, { method, headers: sent, body: body && JSON.stringify(body) }));
}

async function answerOf(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Refused(`${unreachable()} ${howToStart()}`);
  }
  // A proxy in between may answer in its own format.
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  if (response.status === 401) document.dispatchEvent(new Event("recollect:rejected"));
  throw refusal(
    answer?.detail && answer.remedy
      ? answer
      : {
          status: response.status,
          detail: `the answer (status ${response.status}) is not one of Recollect's`,
          remedy:
            "Try again. If it keeps happening, check the proxy between this page and the server.",
        },
  );
}

export function withParams(path, params) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined && each !== "") query.append(name, each);
    }
  }
  return `${path}?${query}`;
}

// Follows the server's events until the returned function is called. A lost connection is retried
// with growing delays.
export function listen({ changed, away, back, rejected }) {
  const stopped = new AbortController();
  let pause = 500;
  async function follow() {
    while (!stopped.signal.aborted) {
      try {
        const response = await fetch(`${API}/events`, {
          headers: headers(),
          signal: stopped.signal,
        });
        if (response.status === 401) return rejected();
        if (!response.ok) throw new Error(response.status);
        back();
        pause = 500;
        await readEvents(response.body, changed);
      } catch {
        if (stopped.signal.aborted) return;
        away();
        pause = Math.min(pause * 1.5, 5000);
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  follow();
  return () => stopped.abort();
}

async function readEvents(body, changed) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let isFirst = true;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (!event.startsWith("event: changed")) continue;
      if (!isFirst) changed();
      isFirst = false;
    }
  }
}
