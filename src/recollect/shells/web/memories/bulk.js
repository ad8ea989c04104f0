// Actions on several memories at once, each with an undo.
import { ask } from "../parts/api.js";
import { button, count, el, fill, words } from "../parts/dom.js";
import { actOnAll } from "../parts/many.js";
import { attempt, notify, offer } from "../parts/notices.js";

const EXPORTED_AT_ONCE = 500;

const path = (memory) => `/memories/${memory.id}`;
const many = (number) => count(number, "memory", "memories");
const forget = (memory) => ask("DELETE", path(memory));
const restore = (memory) => ask("POST", `${path(memory)}/restore`);

export const forgetAll = (memories, after) =>
  actOnAll(memories, {
    act: forget,
    undo: restore,
    done: (number) => `${many(number)} forgotten.`,
    after,
  });
export const restoreAll = (memories, after) =>
  actOnAll(memories, {
    act: restore,
    undo: forget,
    done: (number) => `${many(number)} restored.`,
    after,
  });

// Changes the memory as it is now, not as it was when it was selected. Concurrent writes by others
// win.
async function change(memory, changes) {
  const current = await ask("GET", path(memory));
  const wanted = changes(current);
  const former = Object.fromEntries(Object.keys(wanted).map((name) => [name, current[name]]));
  if (JSON.stringify(former) === JSON.stringify(wanted)) return null;
  const { version } = await ask("PATCH", path(memory), { ...wanted, based_on: current.version });
  return { ...former, based_on: version };
}
const changeBack = (memory, former) => former && ask("PATCH", path(memory), former);

const changeAll = (memories, what, changes, after) =>
  actOnAll(memories, {
    act: (memory) => change(memory, changes),
    undo: changeBack,
    done: (number) => `${many(number)} ${what}.`,
    after,
  });

// Downloads a file in the format of `recollect export`.
async function exportAll(memories, { sensitive = false } = {}) {
  const lines = [];
  let [exported, leftOut] = [0, 0];
  for (let at = 0; at < memories.length; at += EXPORTED_AT_ONCE) {
    const ids = memories.slice(at, at + EXPORTED_AT_ONCE).map((memory) => memory.id);
    const answer = await ask("POST", "/memories:export", { ids, sensitive });
    lines.push(...(at ? answer.lines.slice(1) : answer.lines)); // one header
    exported += answer.exported;
    leftOut += answer.left_out;
  }
  if (exported) download("memories.jsonl", `${lines.join("\n")}\n`);
  const text = exported ? `${many(exported)} exported as memories.jsonl.` : "Nothing was exported.";
  if (leftOut)
    offer(
      `${text} ${count(leftOut, "sensitive memory", "sensitive memories")} left out.`,
      "Include sensitive ones",
      () => exportAll(memories, { sensitive: true }),
    );
  else notify(text);
}

function download(name, text) {
  const link = el("a", { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// The toolbar of a selection, which `show(memories)` updates. An open form stays, with what was
// typed in it, while the selection changes.
export function bulkBar({ after, clear }) {
  let chosen = [];
  const current = () => chosen.filter((memory) => !memory.deleted_at);
  const forgotten = () => chosen.filter((memory) => memory.deleted_at);
  const title = el("strong");
  const place = el("div.bulk-form");
  const close = () => fill(place, []);
  const act = (name, action) => button(name, () => attempt(action), "plain");
  const open = (name, form) =>
    button(
      name,
      () => {
        fill(place, [form()]);
        place.querySelector("input").focus();
      },
      "plain",
    );

  const small = (label, submit, action, more = []) => {
    const input = el("input", { required: true, size: 14, "aria-label": label });
    return el(
      "form.row",
      {
        submit: (event) => {
          event.preventDefault();
          attempt(() => action(input.value.trim()));
        },
      },
      el("label.row", {}, label, input),
      el("button", { type: "submit" }, submit),
      more,
      button("Cancel", close, "link"),
    );
  };
  const tagForm = () =>
    small("Tags to add", "Add tags", (text) =>
      changeAll(
        current(),
        "tagged",
        (memory) => ({ tags: [...new Set([...memory.tags, ...words(text)])] }),
        after,
      ),
    );
  const moveTo = (project, what) => changeAll(current(), what, () => ({ project }), after);
  const moveForm = () =>
    small("Project", "Move", (text) => text && moveTo(text, "moved"), [
      act("Remove from their projects", () => moveTo(null, "removed from their projects")),
    ]);

  const forCurrent = [
    act("Forget", () => forgetAll(current(), after)),
    open("Tag", tagForm),
    open("Move", moveForm),
    act("Mark sensitive", () =>
      changeAll(current(), "marked sensitive", () => ({ is_sensitive: true }), after),
    ),
  ];
  const forForgotten = act("Restore", () => restoreAll(forgotten(), after));
  return {
    nodes: [
      title,
      forCurrent,
      forForgotten,
      act("Export", () => exportAll(chosen)),
      button("Clear", clear, "link"),
      place,
    ],
    show(memories) {
      chosen = memories;
      title.textContent = `${many(chosen.length)} selected`;
      for (const each of forCurrent) each.hidden = !current().length;
      forForgotten.hidden = !forgotten().length;
    },
  };
}
