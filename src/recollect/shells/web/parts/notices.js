// Messages at the bottom: what was done, with an undo for ten seconds, and what went wrong.
import { Refused } from "./api.js";
import { button, el } from "./dom.js";

const SECONDS = 10;
let timer = null;
const place = () => document.getElementById("notices");

export function clearNotices() {
  clearTimeout(timer);
  place().replaceChildren();
}

function show(kind, text, action, seconds) {
  clearNotices();
  const bar = el(
    `div.bar.${kind}`,
    { role: kind === "problem" ? "alert" : "status" },
    el("span.said", { dir: "auto" }, text),
    action,
    button("Close", clearNotices, "link"),
  );
  place().append(bar);
  if (seconds) timer = setTimeout(clearNotices, seconds * 1000);
}

export const notify = (text) => show("notice", text, null, SECONDS);
export const showProblem = (text) => show("problem", text, null, 0);

// Shows a message with a button for an action.
export function offer(text, title, action) {
  show(
    "notice",
    text,
    button(title, () => {
      clearNotices();
      attempt(action);
    }),
    SECONDS,
  );
}

// Says why a change could not be undone.
export const undoProblem = (error) =>
  error.status === 409
    ? "It was changed since then. Its history has every version."
    : error.message;

// `isPartial`: the text also says what failed, so it stays until it is closed.
export function offerUndo(text, undo, { isPartial = false } = {}) {
  const back = button(
    "Undo",
    async () => {
      clearNotices();
      try {
        await undo();
        notify("Undone.");
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (error.status !== 401) showProblem(`Not undone. ${undoProblem(error)}`);
      }
    },
    "undo",
  );
  show(isPartial ? "problem" : "notice", text, back, isPartial ? 0 : SECONDS);
}

// Runs an action of the user, and shows what went wrong.
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.status !== 401) showProblem(error.message);
    return undefined;
  }
}
