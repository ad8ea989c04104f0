// One action on several items: does what is possible, reports failures, and offers one undo for all.
import { Refused } from "./api.js";
import { offerUndo, showProblem, undoProblem } from "./notices.js";

const AT_ONCE = 4;
const REASONS = 2;

// Runs `work` for each item, a few at a time. `done` holds pairs of an item and its answer.
async function tryEach(items, work, reasonOf = (error) => error.message) {
  const waiting = [...items];
  const done = [];
  const reasons = [];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (waiting.length) {
        const item = waiting.shift();
        try {
          done.push([item, await work(item)]);
        } catch (error) {
          if (!(error instanceof Refused) || error.status === 401) throw error;
          reasons.push(reasonOf(error));
        }
      }
    }),
  );
  return { done, reasons };
}

const failed = (many, all, reasons) =>
  `${many} of ${all} failed: ${[...new Set(reasons)].slice(0, REASONS).join(" ")}`;

// `undo(item, answer)` reverts `act(item)`; `done(count)` describes what was done to that many items.
// `after()` shows the new state, even if some of them failed.
export async function actOnAll(items, { act, undo, done: describe, after }) {
  const { done, reasons } = await tryEach(items, act);
  await after();
  const problem = reasons.length ? failed(reasons.length, items.length, reasons) : "";
  if (!done.length) return showProblem(problem);
  return offerUndo(
    `${describe(done.length)} ${problem}`.trim(),
    async () => {
      const back = await tryEach(done, ([item, answer]) => undo(item, answer), undoProblem);
      await after();
      if (back.reasons.length)
        throw new Refused(failed(back.reasons.length, done.length, back.reasons));
    },
    { isPartial: reasons.length > 0 },
  );
}
