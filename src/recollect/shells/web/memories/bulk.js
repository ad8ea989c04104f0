// What can be done to several memories at once, each with a way back.
import { ask } from "../parts/api.js";
import { button, count, el, words } from "../parts/dom.js";
import { attempt, notify, offerUndo } from "../parts/notices.js";

const AT_ONCE = 4;

// Runs `work` for each, a few at a time.
async function forEach(memories, work) {
  const waiting = [...memories];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let memory = waiting.shift(); memory; memory = waiting.shift()) await work(memory);
  }));
}

const path = (memory) => `/memories/${memory.id}`;
const many = (memories) => count(memories.length, "memory", "memories");

export async function forgetAll(memories, after) {
  await forEach(memories, (memory) => ask("DELETE", path(memory)));
  await after();
  offerUndo(`${many(memories)} forgotten.`, async () => {
    await forEach(memories, (memory) => ask("POST", `${path(memory)}/restore`));
    await after();
  });
}

async function changeAll(memories, what, changes, after) {
  await forEach(memories, (memory) => ask("PATCH", path(memory), changes(memory)));
  await after();
  offerUndo(`${many(memories)} ${what}.`, async () => {
    const former = (memory) => Object.fromEntries(Object.keys(changes(memory)).map((name) => [name, memory[name]]));
    await forEach(memories, (memory) => ask("PATCH", path(memory), former(memory)));
    await after();
  });
}

function exportAll(memories) {
  const lines = memories.map((memory) => JSON.stringify(memory)).join("\n");
  const link = el("a", { download: "memories.jsonl" });
  link.href = URL.createObjectURL(new Blob([`${lines}\n`], { type: "application/x-ndjson" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  notify(`${many(memories)} exported as memories.jsonl.`);
}

export function bulkActions(memories, after) {
  const input = el("input", { "aria-label": "Tags or project", placeholder: "tags or project", size: 14 });
  const act = (title, action) => button(title, () => attempt(action), "plain");
  const isForgotten = memories.every((memory) => memory.deleted_at);
  if (isForgotten) {
    return [act("Restore", async () => {
      await forEach(memories, (memory) => ask("POST", `${path(memory)}/restore`));
      await after();
      offerUndo(`${many(memories)} restored.`, async () => {
        await forEach(memories, (memory) => ask("DELETE", path(memory)));
        await after();
      });
    }), act("Export", () => exportAll(memories))];
  }
  return [
    act("Forget", () => forgetAll(memories, after)),
    el("span.row", {}, input,
      act("Tag", () => (input.value.trim() ? changeAll(memories, "tagged", (memory) => ({ tags: [...new Set([...memory.tags, ...words(input.value)])] }), after) : input.focus())),
      act("Move", () => changeAll(memories, "moved", () => ({ project: input.value.trim() || null }), after))),
    act("Mark sensitive", () => changeAll(memories, "marked sensitive", () => ({ is_sensitive: true }), after)),
    act("Export", () => exportAll(memories)),
  ];
}
