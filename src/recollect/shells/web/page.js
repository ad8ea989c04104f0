// The frame around the views: sign-in, navigation by the address, and live updates.
import {
  ask,
  exchangeLink,
  hasKey,
  howToStart,
  isLocal,
  takeLink,
  forgetKey,
  keepKey,
  Refused,
  listen,
  unreachable,
} from "./parts/api.js";
import { el, fill } from "./parts/dom.js";
import { clearNotices } from "./parts/notices.js";

const VIEWS = {
  home: ["Home", () => import("./home/home.js")],
  memories: ["Memories", () => import("./memories/memories.js")],
  memory: [null, () => import("./memories/memory.js")],
  recall: ["Recall", () => import("./recall/recall.js")],
  graph: ["Graph", () => import("./graph/graph.js")],
  review: ["Review", () => import("./review/review.js")],
  admin: ["Admin", () => import("./admin/admin.js")],
};
const main = document.getElementById("main");
let stopListening = () => {};
let shown = null;

// "#/memories?words=a" is the view "memories" with a parameter; "#/memory/ID" has a subject.
function readAddress() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/");
  const known = Object.hasOwn(VIEWS, name) ? name : "home";
  return {
    name: known,
    subject: decodeURIComponent(rest.join("/")),
    params: new URLSearchParams(query),
  };
}

async function showView() {
  if (!hasKey()) return askForKey();
  const { name, subject, params } = readAddress();
  document.getElementById("views").hidden = false;
  document.getElementById("sign-out").hidden = false;
  for (const link of document.querySelectorAll("#views a")) {
    const isCurrent =
      link.dataset.view === name || (name === "memory" && link.dataset.view === "memories");
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const address = location.hash;
  await VIEWS[name][1]();
  if (address !== location.hash || !hasKey()) return; // the user has navigated on meanwhile
  const stays = shown?.view === name && shown.element.isConnected && shown.element.readParams;
  if (stays && shown.subject === subject) {
    shown.element.readParams(params);
    return;
  }
  const element = document.createElement(`rc-${name}`);
  element.subject = subject;
  element.params = params;
  const moved = shown !== null;
  shown = { view: name, subject, element };
  document.title = `${VIEWS[name][0] ?? "Memory"} · Recollect`;
  main.replaceChildren(element);
  if (moved) main.focus({ preventScroll: true });
}

function askForKey(problem = "") {
  stopListening();
  shown = null;
  document.getElementById("views").hidden = true;
  document.getElementById("sign-out").hidden = true;
  document.getElementById("away").hidden = true;
  clearNotices();
  if (isLocal()) return askForLink();
  const key = el("input#key", {
    type: "password",
    autocomplete: "off",
    spellcheck: false,
    required: true,
    placeholder: "rk_…",
    "aria-describedby": "key-hint",
  });
  const form = el(
    "form.card.sign-in",
    {
      submit: (event) => {
        event.preventDefault();
        signIn(key.value.trim());
      },
    },
    el("h1", {}, "Open your memory"),
    problem && el("p.problem", { role: "alert" }, problem),
    el("label", { for: "key" }, "Key"),
    el("div.row", {}, key, el("button", { type: "submit" }, "Open")),
    el(
      "p#key-hint.quiet",
      {},
      "The server printed it once, when it first started. It stays in this tab only.",
    ),
  );
  main.replaceChildren(form);
  return key.focus();
}

function askForLink() {
  main.replaceChildren(
    el(
      "div.card.empty",
      {},
      el("h1", {}, "Open your memory"),
      el(
        "p",
        {},
        "Run ",
        el("code", {}, "recollect page"),
        " and open the link that it prints. A link works once, and as long as its command runs.",
      ),
    ),
  );
}

async function openLink(code) {
  try {
    await exchangeLink(code);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (hasKey()) return start(); // this tab is already signed in
    return showUsedLink(error);
  }
  return start();
}

function showUsedLink(error) {
  main.replaceChildren(
    el(
      "div.card.empty",
      {},
      el(
        "h1",
        {},
        error.status === 410 ? "This link was already used" : "The page cannot be opened",
      ),
      error.status === 410
        ? el(
            "p",
            {},
            "A link works once. Run ",
            el("code", {}, "recollect page"),
            " again for a new one. The tab that used it stays signed in.",
          )
        : el("p", {}, error.message),
    ),
  );
}

async function signIn(key) {
  keepKey(key);
  try {
    await ask("GET", "/settings");
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status !== 401) return askForKey(error.message);
    return rejectKey();
  }
  start();
}

function rejectKey() {
  forgetKey();
  askForKey("Unknown key. Check it, or create a new one on the server: recollect keys create");
}

function start() {
  stopListening();
  stopListening = listen({
    changed: () => document.dispatchEvent(new Event("recollect:changed")),
    away: () => showAway(true),
    back: () => {
      if (!document.getElementById("away").hidden)
        document.dispatchEvent(new Event("recollect:changed"));
      showAway(false);
    },
    rejected: rejectKey,
  });
  showView();
}

function showAway(isAway) {
  const banner = document.getElementById("away");
  banner.textContent = isAway ? `${unreachable()} Retrying… ${howToStart()}` : "";
  banner.hidden = !isAway;
}

fill(
  document.getElementById("views"),
  Object.entries(VIEWS)
    .filter(([, [title]]) => title)
    .map(([name, [title]]) => el("a", { href: `#/${name}`, "data-view": name }, title)),
);
document.getElementById("sign-out").addEventListener("click", () => {
  forgetKey();
  askForKey();
});
document.addEventListener("recollect:rejected", rejectKey);
document.addEventListener("keydown", (event) => {
  const isTyped = event.target.closest("input, textarea, select");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyped) return;
  const search = main.querySelector("input[type=search]");
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
});
window.addEventListener("hashchange", () => {
  const code = takeLink();
  if (code) openLink(code);
  else if (location.hash !== "#main") showView();
});
const code = takeLink();
if (code) openLink(code);
else if (hasKey()) start();
else askForKey();
