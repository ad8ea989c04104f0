// The page's behaviour: it asks the REST API with the key of this tab and shows what it answers.
import { hitItem, memoryItem, recallFacts, shortened, statsText } from "./view.js";

const API = "/api/v1";
const KEY = "recollect-key";
const PAGE_SIZE = 20;
const UNKNOWN_KEY = "Unknown key. Check it, or create a new one on the server: recollect keys create";
const at = (id) => document.getElementById(id);
let nextCursor = null;
let lastQuery = "";

class Refused extends Error {
  constructor(problem) {
    super(`${problem.detail[0].toUpperCase()}${problem.detail.slice(1)}. ${problem.remedy}`);
    this.status = problem.status;
  }
}

async function ask(method, path, body) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEY)}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(API + path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Refused({ status: 0, detail: "The server cannot be reached", remedy: "Is it running? Start it with `recollect serve`." });
  }
  // A proxy in between answers in its own format.
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new Refused(answer?.detail && answer.remedy ? answer : {
    status: response.status,
    detail: `The answer (status ${response.status}) is not one of Recollect's`,
    remedy: "Try again. If it keeps happening, check the proxy between this page and the server.",
  });
}

// Runs one action of a person; what goes wrong is shown, and an unknown key asks for another one.
async function attempt(action) {
  show("problem", "");
  try {
    await action();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status === 401) signOut();
    show("problem", error.status === 401 ? UNKNOWN_KEY : error.message);
  }
}

function show(id, text) {
  at(id).textContent = text;
  at(id).hidden = !text;
}

async function signIn() {
  try {
    await refresh();
  } catch (error) {
    askForKey(); // the one of this tab stays: a reload tries it again
    throw error;
  }
  at("key-form").hidden = true;
  at("signed-in").hidden = false;
  at("sign-out").hidden = false;
  at("query").focus();
}

function signOut() {
  sessionStorage.removeItem(KEY);
  at("signed-in").hidden = true;
  at("sign-out").hidden = true;
  at("hits-section").hidden = true;
  at("hits").replaceChildren();
  at("recent").replaceChildren();
  show("stats", "");
  show("notice", "");
  askForKey();
}

function askForKey() {
  at("key-form").hidden = false;
  at("key").focus();
}

async function refresh() {
  const [stats, page] = await Promise.all([ask("GET", "/stats"), ask("GET", `/memories?limit=${PAGE_SIZE}`)]);
  show("stats", statsText(stats));
  at("recent").replaceChildren();
  showPage(page);
}

function showPage(page) {
  at("recent").append(...page.memories.map((memory) => memoryItem(memory, confirmForget)));
  at("nothing").hidden = at("recent").childElementCount > 0;
  nextCursor = page.next_cursor;
  at("more").hidden = nextCursor === null;
}

async function showMore() {
  const first = at("recent").childElementCount;
  showPage(await ask("GET", `/memories?limit=${PAGE_SIZE}&cursor=${encodeURIComponent(nextCursor)}`));
  at("recent").children[first]?.querySelector("button")?.focus();
}

async function recall(query) {
  lastQuery = query;
  const answer = await ask("POST", "/recall", { query, explain: true });
  if (query !== lastQuery) return; // a later question was asked meanwhile
  const best = Math.max(0, ...answer.hits.map((hit) => hit.explanation.fused));
  at("hits").replaceChildren(...answer.hits.map((hit) => hitItem(hit, best, confirmForget)));
  show("recall-facts", recallFacts(answer));
  at("recall-facts").classList.toggle("warn", answer.degraded.length > 0);
  at("hits-section").hidden = false;
}

function draft() {
  const words = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);
  return {
    content: at("content").value,
    category: at("category").value,
    tags: words(at("tags").value),
    project: at("project").value || null,
    session: at("session").value || null,
    importance: Number(at("importance").value),
    is_sensitive: at("sensitive").checked || null, // null: the server looks for credentials itself
  };
}

async function remember() {
  const memory = await ask("POST", "/memories", draft());
  at("remember-form").reset();
  showImportance();
  const why = memory.sensitive_because;
  show("notice", why
    ? `Remembered and marked as sensitive: it looks like a secret (${why.kind}).`
    : `Remembered: ${shortened(memory.content)}`);
  await refresh();
  at("content").focus();
}

function confirmForget(memory) {
  at("confirm-text").textContent = shortened(memory.content);
  at("forever").checked = false;
  // Not when the dialog closes: that is told late, and may be told of the question before this one.
  at("confirm-form").onsubmit = (event) => {
    if (event.submitter.value === "forget") attempt(() => forget(memory, at("forever").checked));
  };
  at("confirm").showModal();
}

async function forget(memory, forever) {
  await ask("DELETE", `/memories/${memory.id}?forever=${forever}`);
  show("notice", `${forever ? "Erased" : "Forgotten"}: ${shortened(memory.content)}`);
  await refresh();
  if (!at("hits-section").hidden) await recall(lastQuery);
}

function showImportance() {
  at("importance-shown").textContent = at("importance").value;
}

function onSubmit(id, action) {
  at(id).addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(action);
  });
}

at("importance").addEventListener("input", showImportance);
onSubmit("recall-form", () => recall(at("query").value));
onSubmit("remember-form", remember);
onSubmit("key-form", async () => {
  sessionStorage.setItem(KEY, at("key").value.trim());
  at("key").value = "";
  await signIn();
});
at("more").addEventListener("click", () => attempt(showMore));
at("sign-out").addEventListener("click", signOut);
if (sessionStorage.getItem(KEY)) attempt(signIn);
else signOut();
