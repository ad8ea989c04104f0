// Decisions that wait for a person, one pair at a time, with the keyboard if they like.
import { ask } from "../parts/api.js";
import { button, count, el, fill, said, shortened, time } from "../parts/dom.js";
import { differences, FIELDS, pairTable } from "../parts/diff.js";
import { attempt, notify } from "../parts/notices.js";

// Where decisions come from. Each item has an id, a title, two sides and what each choice does.
const SOURCES = [loadConflicts, loadProposals];

const HOW = {
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
      title: `Sync conflict: ${HOW[conflict.kind] ?? HOW.edit}`,
      subject: conflict.memory_id,
      text: current.is_sensitive ? "" : current.content ?? "",
      at: conflict.made_at,
      isSensitive: current.is_sensitive,
      left: "Current",
      right: "Other",
      rows: differences(current, other, FIELDS),
      accept: ["Take the other", () => resolve("other")],
      reject: ["Keep the current", () => resolve("current")],
    };
  });
}

const KINDS = {
  duplicate_of: "Duplicate", refines: "Says the same and more", supersedes: "Outdated", contradicts: "Contradiction",
};

async function loadProposals() {
  const { proposals } = await ask("GET", "/proposals");
  return proposals.map((proposal) => {
    const decide = (step, body) => ask("POST", `/proposals/${proposal.id}/${step}`, body);
    return {
      id: proposal.id,
      title: `${KINDS[proposal.kind]}: ${proposal.reason}`,
      subject: proposal.newer,
      text: proposal.newer_quote,
      at: proposal.created_at,
      left: "Older",
      right: "Newer",
      rows: differences({ content: proposal.older_quote }, { content: proposal.newer_quote }, ["content"]),
      accept: ["Keep the newer", () => decide("accept", { keep: "newer" })],
      reject: ["Keep both", () => decide("reject")],
    };
  });
}

class Review extends HTMLElement {
  connectedCallback() {
    this.later = new Set();
    this.at = 0;
    this.onChange = () => attempt(() => this.load());
    this.onKey = (event) => this.press(event);
    document.addEventListener("recollect:changed", this.onChange);
    document.addEventListener("keydown", this.onKey);
    attempt(() => this.load());
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
    document.removeEventListener("keydown", this.onKey);
  }

  async load() {
    const found = (await Promise.all(SOURCES.map((source) => source()))).flat();
    this.items = [...found.filter((item) => !this.later.has(item.id)), ...found.filter((item) => this.later.has(item.id))];
    this.at = Math.min(this.at, Math.max(0, this.items.length - 1));
    this.show();
  }

  show() {
    if (!this.items.length) {
      fill(this, [el("div.card.empty", {}, el("h1", {}, "Nothing to review"),
        el("p.quiet", {}, "When two machines change the same memory offline, or two memories seem to say the same, they wait here for your decision."))]);
      return;
    }
    fill(this, [
      el("div.heading", {}, el("h1", {}, `${count(this.items.length, "decision")} to make`),
        el("p.quiet", {}, el("kbd", {}, "j"), " ", el("kbd", {}, "k"), " move · ", el("kbd", {}, "a"), " accept · ", el("kbd", {}, "r"), " reject · ", el("kbd", {}, "l"), " later")),
      el("ol.pairs", {}, this.items.map((item, at) => this.card(item, at))),
    ]);
    this.querySelectorAll(".pairs > li")[this.at]?.focus({ preventScroll: false });
  }

  card(item, at) {
    const body = el("div.scroll");
    const reveal = () => fill(body, [pairTable(item.left, item.right, item.rows)]);
    if (item.isSensitive) fill(body, [el("span.masked", {}, "Sensitive "), button("Show", reveal, "link")]);
    else reveal();
    return el(`li.card.stack${at === this.at ? ".current" : ""}`, { tabindex: 0, "aria-label": `${at + 1} of ${this.items.length}`, focus: () => this.choose(at) },
      el("div.heading", {}, el("h2", {}, item.title), el("span.quiet", {}, time(item.at))),
      el("p", {}, el("a", { href: `#/memory/${item.subject}` }, item.text ? said(shortened(item.text, 100)) : "Open the memory")),
      body,
      el("div.row", {},
        button([item.accept[0], " ", el("kbd", {}, "a")], () => this.decide(item, "accept"), "primary"),
        button([item.reject[0], " ", el("kbd", {}, "r")], () => this.decide(item, "reject"), "plain"),
        button(["Later ", el("kbd", {}, "l")], () => this.postpone(item), "plain")));
  }

  choose(at) {
    this.at = at;
    this.querySelectorAll(".pairs > li").forEach((each, number) => each.classList.toggle("current", number === at));
  }

  press(event) {
    const isTyping = event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey;
    const item = this.items?.[this.at];
    if (isTyping || !item) return;
    const actions = {
      j: () => this.focusAt(this.at + 1), k: () => this.focusAt(this.at - 1),
      a: () => this.decide(item, "accept"), r: () => this.decide(item, "reject"), l: () => this.postpone(item),
    };
    if (Object.hasOwn(actions, event.key)) {
      event.preventDefault();
      actions[event.key]();
    }
  }

  focusAt(at) {
    this.querySelectorAll(".pairs > li")[Math.min(this.items.length - 1, Math.max(0, at))]?.focus();
  }

  decide(item, choice) {
    return attempt(async () => {
      const [title, act] = item[choice];
      await act();
      await this.load();
      notify(`${title}: done. The history keeps the old version.`);
    });
  }

  postpone(item) {
    this.later.add(item.id);
    this.items = [...this.items.filter((each) => each !== item), item];
    this.show();
  }
}

customElements.define("rc-review", Review);
