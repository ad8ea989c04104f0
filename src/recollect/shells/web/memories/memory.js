// One memory: all its fields, history, links, concepts and vector; editing in place.
import { ask, Refused } from "../parts/api.js";
import { button, el, fill, userText, shortId, shortened, textOf, time } from "../parts/dom.js";
import { differences, FIELDS, NAMES, pairTable } from "../parts/diff.js";
import { attempt, notify, offerUndo } from "../parts/notices.js";
import { forgetAll, restoreAll } from "./bulk.js";
import { memoryForm } from "./form.js";

const VECTOR = {
  embedded: "embedded; found by meaning and by words",
  waiting: "not embedded yet; found by words until then",
  parked: "could not be embedded; found by words",
  never: "never embedded: it is sensitive or forgotten",
  off: "this store recalls by words only",
};
const CHANGEABLE = FIELDS.filter((name) => name !== "deleted_at");
// Fields that are shown separately, not as rows of facts.
const ELSEWHERE = ["content", "expanded_keywords", "links", "deleted_at"];

class MemoryView extends HTMLElement {
  connectedCallback() {
    this.isRevealed = false;
    this.onChange = () => {
      if (!this.isEditing) attempt(() => this.load({ isLive: true }));
    };
    document.addEventListener("recollect:changed", this.onChange);
    attempt(() => this.load());
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
  }

  // A live update that arrives after the user has started editing must not close the form.
  async load({ isLive = false } = {}) {
    let details;
    try {
      details = await ask("GET", `/memories/${encodeURIComponent(this.subject)}/details`);
      const { superseded_by: id } = details.memory;
      details.successor = id && (await ask("GET", `/memories/${id}`));
    } catch (error) {
      if (!(error instanceof Refused) || ![404, 422].includes(error.status)) throw error;
      if (isLive && this.isEditing) return;
      fill(this, [
        el(
          "div.card.empty",
          {},
          el("h1", {}, "This memory does not exist"),
          el("p.quiet", {}, "It may have been erased, or the link is incomplete."),
          el("a", { href: "#/memories" }, "All memories"),
        ),
      ]);
      return;
    }
    if (isLive && this.isEditing) return;
    this.details = details;
    this.show();
  }

  show() {
    this.isEditing = false;
    const { memory, history, successor } = this.details;
    const isMasked = memory.is_sensitive && !this.isRevealed;
    const text = isMasked
      ? el(
          "p",
          {},
          el("span.masked", {}, "The text of this memory is sensitive. "),
          button(
            "Show",
            () => {
              this.isRevealed = true;
              this.show();
            },
            "link",
          ),
        )
      : el("p.content", {}, userText(memory.content));
    const actions = memory.deleted_at
      ? [button("Restore", () => attempt(() => restoreAll([memory], () => this.load())), "primary")]
      : [
          button("Edit", () => this.edit(), "primary"),
          button("Forget", () => attempt(() => forgetAll([memory], () => this.load())), "plain"),
          el("a", { href: `#/recall?why=${memory.id}` }, "Why is it recalled, or why not?"),
        ];
    this.place = el(
      "div.stack",
      {},
      el(
        "article.card.stack",
        { "aria-label": "Text" },
        memory.deleted_at &&
          el("p", {}, el("span.chip.warn", {}, "forgotten"), " ", time(memory.deleted_at)),
        successor &&
          el(
            "p",
            {},
            el("span.chip.warn", {}, "Replaced by"),
            " ",
            el(
              "a",
              { href: `#/memory/${successor.id}` },
              successor.is_sensitive
                ? "a sensitive memory"
                : userText(shortened(successor.content)),
            ),
            el("span.quiet", {}, " Recall shows that one instead."),
          ),
        text,
        el("div.row", {}, actions),
      ),
    );
    fill(this, [
      el(
        "div.heading",
        {},
        el("h1", {}, "Memory"),
        el("a", { href: "#/memories" }, "All memories"),
      ),
      el(
        "div.wide-and-narrow",
        {},
        el("div.stack", {}, this.place, this.historyCard(memory, history, isMasked)),
        this.factsCard(memory),
      ),
    ]);
  }

  factsCard(memory) {
    const { concepts, vector, parked } = this.details;
    const rows = [
      ["Category", memory.category],
      ["Importance", memory.importance.toFixed(2)],
      [
        "Project",
        memory.project &&
          el(
            "a",
            { href: `#/memories?${new URLSearchParams({ project: memory.project })}` },
            userText(memory.project),
          ),
      ],
      ["Session", memory.session && userText(memory.session)],
      [
        "Tags",
        memory.tags.length &&
          el(
            "span.chips",
            {},
            memory.tags.map((tag) =>
              el("a.chip", { href: `#/memories?${new URLSearchParams({ tag })}` }, userText(tag)),
            ),
          ),
      ],
      [
        "Keywords",
        memory.expanded_keywords.length && userText(memory.expanded_keywords.join(", ")),
      ],
      [
        "Concepts",
        concepts.length &&
          el(
            "span.chips",
            {},
            concepts.map((name) =>
              el("a.chip", { href: `#/graph?${new URLSearchParams({ name })}` }, userText(name)),
            ),
          ),
      ],
      ["Sensitive", memory.is_sensitive ? "yes: it never leaves this server" : "no"],
      ["Vector", parked ? `${VECTOR[vector]}: ${parked}` : VECTOR[vector]],
      ["Valid from", memory.valid_from && time(memory.valid_from)],
      ["Valid until", memory.valid_until && time(memory.valid_until)],
      ["Stored", time(memory.created_at)],
      ["Changed", time(memory.updated_at)],
      ["Version", String(memory.version)],
      ["Changed by", memory.changed_by && userText(memory.changed_by)],
      ["Owner", userText(memory.owner)],
      ["Id", el("code", {}, memory.id)],
    ];
    const titles = [...rows.map(([title]) => title), ...ELSEWHERE.map((name) => NAMES[name])];
    for (const name of FIELDS) {
      const text = memory[name] === null ? "" : textOf(memory[name]);
      if (!titles.includes(NAMES[name])) rows.push([NAMES[name], text && userText(text)]);
    }
    return el(
      "aside.card.stack",
      { "aria-label": "Facts" },
      el(
        "dl.facts",
        {},
        rows
          .filter(([, value]) => value)
          .flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
      ),
      memory.links.length > 0 &&
        el(
          "div.stack",
          {},
          el("h2", {}, "Links"),
          el(
            "ul",
            {},
            memory.links.map((link) =>
              el(
                "li",
                {},
                `${link.kind.replaceAll("_", " ")} `,
                el("a", { href: `#/memory/${link.target}` }, shortId(link.target)),
              ),
            ),
          ),
        ),
    );
  }

  historyCard(memory, history, isMasked) {
    const states = [memory, ...history];
    return el(
      "section.card.stack",
      { "aria-labelledby": "history" },
      el("h2#history", {}, "History"),
      history.length === 0
        ? el("p.quiet", {}, "No changes since it was stored.")
        : isMasked
          ? el("p.masked", {}, `${history.length} former versions, shown with the text.`)
          : el(
              "ol.versions",
              {},
              history.map((former, at) =>
                el(
                  "li",
                  {},
                  el(
                    "div.row",
                    {},
                    el("strong", {}, `Version ${former.version}`),
                    el(
                      "span.quiet",
                      {},
                      former.changed_by ? ["by ", userText(former.changed_by), ", "] : "",
                      "until ",
                      time(states[at].updated_at),
                    ),
                    !memory.deleted_at &&
                      button("Bring back", () => attempt(() => this.bringBack(former)), "link"),
                  ),
                  el(
                    "div.scroll",
                    {},
                    pairTable("Before", "After", differences(former, states[at], FIELDS)),
                  ),
                ),
              ),
            ),
    );
  }

  edit(values = this.details.memory) {
    this.isEditing = true;
    const based = this.details.memory;
    const form = memoryForm(values, {
      title: "Save",
      cancel: () => this.show(),
      save: (changes) => this.save(changes, based),
    });
    fill(this.place, [form]);
    form.querySelector("textarea").focus();
  }

  async save(changes, based) {
    const changed = Object.fromEntries(
      Object.entries(changes).filter(
        ([name, value]) => JSON.stringify(value) !== JSON.stringify(based[name]),
      ),
    );
    if (!Object.keys(changed).length) return this.show();
    let saved;
    try {
      saved = await ask("PATCH", `/memories/${based.id}`, { ...changed, based_on: based.version });
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 409) throw error;
      return this.showConflict(changes, based);
    }
    await this.load();
    this.offerBack("Saved.", based, saved);
    return undefined;
  }

  // Offers to restore a former state, unless someone changes the memory meanwhile.
  offerBack(text, former, now) {
    const values = Object.fromEntries(
      CHANGEABLE.filter((name) => JSON.stringify(former[name]) !== JSON.stringify(now[name])).map(
        (name) => [name, former[name]],
      ),
    );
    if (!Object.keys(values).length) return notify(text);
    return offerUndo(text, async () => {
      await ask("PATCH", `/memories/${former.id}`, { ...values, based_on: now.version });
      await this.load();
    });
  }

  // Someone else has changed the memory meanwhile: shows both sides to choose from.
  async showConflict(mine, based) {
    this.details = await ask("GET", `/memories/${based.id}/details`);
    const theirs = this.details.memory;
    fill(this.place, [
      el(
        "section.card.stack",
        { role: "alertdialog", "aria-label": "Conflict" },
        el("h2", {}, "This memory was changed while you edited it"),
        el("p", {}, `You edited version ${based.version}; version ${theirs.version} is current.`),
        el(
          "div.scroll",
          {},
          pairTable(
            "Yours",
            "Current",
            differences(
              mine,
              theirs,
              CHANGEABLE.filter((name) => name in mine),
            ),
          ),
        ),
        el(
          "div.row",
          {},
          button("Keep mine", () => attempt(() => this.save(mine, theirs)), "primary"),
          button(
            "Keep current",
            () => {
              this.show();
              notify("Your changes were discarded.");
            },
            "plain",
          ),
          button("Edit mine", () => this.edit({ ...theirs, ...mine }), "plain"),
        ),
      ),
    ]);
    this.place.querySelector("button").focus();
  }

  async bringBack(former) {
    const before = this.details.memory;
    const restored = await ask("POST", `/memories/${before.id}/versions/${former.version}/restore`);
    await this.load();
    this.offerBack(`Version ${former.version} is back.`, before, restored);
  }
}

customElements.define("rc-memory", MemoryView);
