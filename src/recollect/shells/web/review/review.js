// Decisions that wait for the user, one pair at a time, with mouse or keyboard.
import { ask } from "../parts/api.js";
import { button, count, el, fill, percent, userText, shortened, time } from "../parts/dom.js";
import { differences, FIELDS, pairTable } from "../parts/diff.js";
import { actOnAll } from "../parts/many.js";
import { attempt, notify, offerUndo } from "../parts/notices.js";

// Where decisions come from. Each item has an id, a title, two sides, and choices by key: a title,
// an action, the message afterwards, and the undo if there is one.
const SOURCES = [loadConflicts, loadProposals];

const CONFLICTS = {
  edit: "two machines changed the same memory",
  forget: "one machine changed a memory that another forgot",
  erase: "one machine changed a memory that another erased",
  orphan: "one machine changed a memory that is gone",
};

async function loadConflicts() {
  const { conflicts } = await ask("GET", "/conflicts");
  return conflicts.map((conflict) => {
    const current = conflict.current ?? {};
    const other = { ...current, ...conflict.fields };
    const resolve = (keep) => ask("POST", `/conflicts/${conflict.id}/resolve`, { keep });
    return {
      id: conflict.id,
      title: `Sync conflict: ${CONFLICTS[conflict.kind] ?? CONFLICTS.edit}`,
      about: el(
        "a",
        { href: `#/memory/${conflict.memory_id}` },
        current.content && !current.is_sensitive
          ? userText(shortened(current.content, 100))
          : "Open the memory",
      ),
      at: conflict.made_at,
      isSensitive: current.is_sensitive,
      sides: ["Current", "Other"],
      rows: differences(current, other, FIELDS),
      choices: {
        a: {
          title: "Take the other",
          act: () => resolve("other"),
          said: "Took the other version. The memory's history has the former one.",
        },
        r: {
          title: "Keep the current",
          act: () => resolve("current"),
          said: "Kept the current version.",
        },
      },
    };
  });
}

const KINDS = {
  duplicate_of: "Duplicate",
  refines: "Says the same and more",
  supersedes: "Outdated",
  contradicts: "Contradiction",
};
const PLURALS = {
  duplicate_of: "duplicates",
  refines: "that say the same and more",
  supersedes: "outdated",
  contradicts: "contradictions",
};
const BY_RULES = "rules";

const proposalPath = (id, step) => `/proposals/${id}/${step}`;
const accept = (id, keep = "newer") => ask("POST", proposalPath(id, "accept"), { keep });
// Both undos postpone the proposal, so that it waits for a decision again.
const reopen = (id) => ask("POST", proposalPath(id, "later"));
async function takeBack(id, entry) {
  await ask("POST", "/undo", { id: entry.id });
  await reopen(id);
}

async function loadProposals() {
  const { proposals } = await ask("GET", "/proposals");
  return proposals.map((proposal) => {
    const { id } = proposal;
    const keep = (which) => ({
      title: `Keep the ${which}`,
      act: () => accept(id, which),
      said: `Kept the ${which} memory.`,
      undo: (entry) => takeBack(id, entry),
    });
    const open = (which, title) => el("a", { href: `#/memory/${proposal[which]}` }, title);
    return {
      id,
      kind: proposal.kind,
      isLater: proposal.state === "later",
      title: `${KINDS[proposal.kind]}: ${proposal.reason}`,
      about: el(
        "span.quiet",
        {},
        `${percent(proposal.confidence)} sure, found by `,
        proposal.decided_by === BY_RULES ? "rules" : ["the model ", userText(proposal.decided_by)],
      ),
      at: proposal.created_at,
      sides: [open("older", "Older"), open("newer", "Newer")],
      rows: differences({ content: proposal.older_quote }, { content: proposal.newer_quote }, [
        "content",
      ]),
      choices: {
        a: keep("newer"),
        o: keep("older"),
        r: {
          title: "Keep both",
          act: () => ask("POST", proposalPath(id, "reject")),
          said: "Kept both memories.",
          undo: () => reopen(id),
        },
      },
      postpone: () => reopen(id),
    };
  });
}

class Review extends HTMLElement {
  connectedCallback() {
    this.later = new Set(); // postponed conflicts; the server records postponed proposals
    this.cards = new Map();
    this.items = [];
    this.selected = null;
    this.lastAt = 0;
    this.list = el("ol.pairs");
    this.head = el("div");
    this.status = el("p.quiet.one-line", { role: "status" });
    this.onChange = () => attempt(() => this.load());
    this.onKey = (event) => this.press(event);
    document.addEventListener("recollect:changed", this.onChange);
    document.addEventListener("keydown", this.onKey);
    attempt(async () => {
      await this.load();
      const isElsewhere = document.activeElement?.closest("a, button, input");
      if (this.items.length && !isElsewhere) this.focusOn(this.items[0].id);
    });
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
    document.removeEventListener("keydown", this.onKey);
  }

  async load() {
    const found = (await Promise.all(SOURCES.map((source) => source()))).flat();
    const isLater = (item) => item.isLater || this.later.has(item.id);
    this.items = [...found.filter((item) => !isLater(item)), ...found.filter(isLater)];
    if (
      this.selected &&
      !this.cards.get(this.selected)?.isBusy &&
      !found.some((item) => item.id === this.selected)
    ) {
      this.selected = null;
      this.status.textContent =
        "The selected pair is gone: it was decided elsewhere, or its memories changed.";
    }
    this.show();
  }

  show() {
    if (!this.items.length) {
      this.cards.clear();
      fill(this.list, []);
      fill(this, [
        el(
          "div.card.empty",
          {},
          el("h1", {}, "Nothing to review"),
          el("p.quiet", {}, "Sync conflicts and proposals of the curator appear here."),
        ),
      ]);
      return;
    }
    this.showHead();
    if (!this.list.isConnected) fill(this, [this.head, this.status, this.list]);
    this.arrange();
  }

  showHead() {
    const kinds = Object.keys(KINDS)
      .map((kind) => [kind, this.items.filter((item) => item.kind === kind)])
      .filter(([, items]) => items.length > 1);
    const shown = JSON.stringify([
      this.items.length,
      kinds.map(([kind, items]) => [kind, items.map((item) => item.id)]),
    ]);
    if (shown === this.shownHead && this.head.isConnected) return; // keep the focus of its buttons
    this.shownHead = shown;
    fill(this.head, [
      el(
        "div.heading",
        {},
        el("h1", {}, `${count(this.items.length, "decision")} to make`),
        el(
          "p.quiet",
          {},
          [
            ["j", ""],
            ["k", "move"],
            ["a", "accept"],
            ["o", "keep the older"],
            ["r", "reject"],
            ["l", "later"],
          ].map(([key, does], at) => [at > 1 && " · ", el("kbd", {}, key), " ", does]),
        ),
      ),
      kinds.length > 0 &&
        el(
          "div.row",
          {},
          kinds.map(([kind, items]) =>
            button(
              `Keep the newer of all ${items.length} ${PLURALS[kind]}`,
              () => attempt(() => this.acceptAll(items)),
              "plain",
            ),
          ),
        ),
    ]);
  }

  // Cards that are already shown stay unchanged, with the focus and what was revealed in them.
  arrange() {
    const focused = this.list.contains(document.activeElement) && document.activeElement;
    const ids = new Set(this.items.map((item) => item.id));
    for (const [id, card] of this.cards) {
      if (ids.has(id)) continue;
      card.remove();
      this.cards.delete(id);
    }
    let next = this.list.firstElementChild;
    for (const item of this.items) {
      const card = this.cards.get(item.id) ?? this.makeCard(item);
      card.querySelector(".later").hidden = !(item.isLater || this.later.has(item.id));
      if (card === next) next = next.nextElementSibling;
      else this.list.insertBefore(card, next);
    }
    if (focused?.isConnected) focused.focus({ preventScroll: true }); // moving an element takes its focus
    this.markSelected();
  }

  acceptAll(items) {
    this.selected = null;
    return actOnAll(items, {
      act: (item) => accept(item.id),
      undo: (item, entry) => takeBack(item.id, entry),
      done: (many) => `Kept the newer memory of ${count(many, "pair")}.`,
      after: () => this.load(),
    });
  }

  makeCard(item) {
    const body = el("div.scroll");
    const reveal = () => fill(body, [pairTable(...item.sides, item.rows)]);
    if (item.isSensitive)
      fill(body, [el("span.masked", {}, "Sensitive "), button("Show", reveal, "link")]);
    else reveal();
    const card = el(
      "li.card.stack",
      { tabindex: 0, "aria-label": item.title, focusin: () => this.select(item.id) },
      el(
        "div.heading",
        {},
        el("h2", {}, userText(item.title)),
        el("span.quiet", {}, el("span.later.chip", { hidden: true }, "later"), " ", time(item.at)),
      ),
      el("p", {}, item.about),
      body,
      el(
        "div.row",
        {},
        Object.entries(item.choices).map(([key, choice]) =>
          button(
            [choice.title, " ", el("kbd", {}, key)],
            () => this.decide(item, key),
            key === "a" ? "primary" : "plain",
          ),
        ),
        button(["Later ", el("kbd", {}, "l")], () => this.postpone(item), "plain"),
      ),
    );
    this.cards.set(item.id, card);
    return card;
  }

  select(id) {
    this.selected = id;
    this.lastAt = this.items.findIndex((item) => item.id === id);
    this.status.textContent = "";
    this.markSelected();
  }

  markSelected() {
    for (const [id, card] of this.cards) card.classList.toggle("current", id === this.selected);
  }

  focusOn(id) {
    this.cards.get(id)?.focus();
  }

  press(event) {
    const isTyping =
      event.target.closest("input, textarea, select") ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey;
    if (isTyping || !this.items.length) return;
    const item = this.items.find((each) => each.id === this.selected);
    const actions = { j: () => this.move(1), k: () => this.move(-1) };
    if (item) {
      for (const key of Object.keys(item.choices)) actions[key] = () => this.decide(item, key);
      actions.l = () => this.postpone(item);
    }
    if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  move(step) {
    const from = this.items.findIndex((item) => item.id === this.selected);
    const to = from < 0 ? this.lastAt : from + step;
    this.focusOn(this.items[Math.min(this.items.length - 1, Math.max(0, to))].id);
  }

  // Selects the next item at once: another key press is meant for it, not for the decided one.
  leave(item) {
    const at = this.items.findIndex((each) => each.id === item.id);
    const next = this.items[at + 1] ?? this.items[at - 1];
    if (next) this.focusOn(next.id);
    else this.selected = null;
  }

  async settle(item, act) {
    const card = this.cards.get(item.id);
    if (card.isBusy) return;
    card.isBusy = true;
    card.classList.add("busy");
    this.leave(item);
    await attempt(act);
    card.isBusy = false;
    card.classList.remove("busy");
  }

  decide(item, key) {
    const { act, said: text, undo } = item.choices[key];
    return this.settle(item, async () => {
      let answer;
      try {
        answer = await act();
      } finally {
        await this.load();
      }
      if (undo)
        offerUndo(text, async () => {
          await undo(answer);
          await this.load();
        });
      else notify(text);
    });
  }

  postpone(item) {
    return this.settle(item, async () => {
      if (item.postpone) await item.postpone();
      else this.later.add(item.id);
      await this.load();
    });
  }
}

customElements.define("rc-review", Review);
