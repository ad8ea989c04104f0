// The table of memories: filters, sorting, selection and bulk actions.
import { ask, withParams } from "../parts/api.js";
import {
  button,
  categories,
  count,
  date,
  el,
  field,
  fill,
  goTo,
  userText,
  select,
  shortened,
} from "../parts/dom.js";
import { attempt } from "../parts/notices.js";
import { Rows } from "../parts/rows.js";
import { bulkBar } from "./bulk.js";
import { newMemoryForm } from "./form.js";

const FILTERS = [
  "words",
  "match",
  "project",
  "session",
  "category",
  "tag",
  "since",
  "until",
  "sensitive",
  "captured",
  "state",
  "expires",
];
const READ_AT_ONCE = 500;
const MAX_HITS = 100; // of one recall
const MATCHES = [
  ["", "by words"],
  ["meaning", "by meaning"],
];
const DAY = 24 * 3600 * 1000;
const SOON = 7;
const SORTS = [
  ["", "newest first"],
  ["created asc", "oldest first"],
  ["importance", "most important first"],
  ["importance asc", "least important first"],
  ["updated", "last changed first"],
  ["updated asc", "longest unchanged first"],
];
const EXPIRES = [
  ["", "any"],
  [`${SOON}`, `within ${SOON} days`],
  ["30", "within 30 days"],
  ["past", "already expired"],
];

class Memories extends HTMLElement {
  connectedCallback() {
    this.takeParams();
    this.chosen = new Map();
    this.revealed = new Set();
    this.rows = new Rows({
      read: (offset, limit) => this.read(offset, limit),
      makeCells,
      draw: (cells, memory) => drawRow(cells, memory, this),
      open: (memory) => goTo(`memory/${memory.id}`),
      isChosen: (memory) => this.chosen.has(memory.id),
      toggle: (memory, index, isRange) => this.toggle(memory, index, isRange),
      onTotal: (total) => this.showTotal(total),
    });
    this.build();
    this.onChange = () => attempt(() => this.rows.refresh());
    document.addEventListener("recollect:changed", this.onChange);
    attempt(() => this.rows.refresh({ fromTop: true }));
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
  }

  takeParams() {
    this.filters = Object.fromEntries(
      [...FILTERS, "sort_by", "order"].map((name) => [name, this.params.get(name) ?? ""]),
    );
  }

  // Applies a new address of this view; keeps what is typed in the form of a new memory.
  readParams(params) {
    this.params = params;
    this.takeParams();
    for (const name of FILTERS) this.form.elements[name].value = this.filters[name];
    this.showOrder();
    this.clearChoice();
    this.showScope();
    attempt(() => this.rows.refresh({ fromTop: true }));
  }

  // What a search looks for, and what a recall cannot be limited by.
  showScope() {
    const search = this.form.elements.words;
    search.placeholder = this.filters.match ? "What it is about" : "Words in the text";
    search.setAttribute("aria-label", search.placeholder);
    for (const name of ["sensitive", "state", "expires"])
      this.form.elements[name].disabled = this.isByMeaning();
  }

  async read(offset, limit) {
    if (this.isByMeaning()) return this.recall();
    return ask("GET", withParams("/table", { ...this.query(), offset, limit }));
  }

  isByMeaning() {
    return Boolean(this.filters.match && this.filters.words);
  }

  // The best hits of a recall, as rows; only current memories are recalled.
  async recall() {
    const { project, sessions, categories, tags, since, until } = this.query();
    const scope = { tags, sessions: [sessions].filter(Boolean) };
    Object.assign(scope, categories && { categories: [categories] });
    Object.assign(scope, project && { project }, since && { since }, until && { until });
    const { hits } = await ask("POST", "/recall", {
      query: this.filters.words,
      scope,
      limit: MAX_HITS,
    });
    const memories = hits.map((hit) => hit.memory);
    return { memories, total: memories.length };
  }

  build() {
    const it = this.filters;
    const on = { change: () => this.apply() };
    const search = el("input", {
      type: "search",
      name: "words",
      value: it.words,
      input: () => this.applySoon(),
    });
    this.form = el(
      "form.card.filters",
      {
        submit: (event) => {
          event.preventDefault();
          this.apply();
        },
      },
      el(
        "div.row",
        {},
        search,
        select(MATCHES, it.match, { name: "match", "aria-label": "Search", ...on }),
        button("New memory", () => this.toggleNew(), "primary", { "aria-expanded": "false" }),
      ),
      el(
        "details",
        { open: FILTERS.slice(2).some((name) => it[name]) },
        el("summary", {}, "More filters"),
        el(
          "div.fields",
          {},
          field("Project", el("input", { name: "project", value: it.project, ...on })),
          field("Session", el("input", { name: "session", value: it.session, ...on })),
          field(
            "Category",
            select([["", "any"], ...categories().map((name) => [name, name])], it.category, {
              name: "category",
              ...on,
            }),
          ),
          field("Tag", el("input", { name: "tag", value: it.tag, ...on })),
          field(
            "Stored from",
            el("input", { type: "date", name: "since", value: it.since, ...on }),
          ),
          field(
            "Stored before",
            el("input", { type: "date", name: "until", value: it.until, ...on }),
          ),
          field(
            "Sensitive",
            select(
              [
                ["", "any"],
                ["true", "only sensitive"],
                ["false", "not sensitive"],
              ],
              it.sensitive,
              { name: "sensitive", ...on },
            ),
          ),
          field(
            "Source",
            select(
              [
                ["", "any"],
                ["yes", "captured from a session"],
              ],
              it.captured,
              { name: "captured", ...on },
            ),
          ),
          field(
            "State",
            select(
              [
                ["", "current"],
                ["forgotten", "forgotten"],
                ["all", "current and forgotten"],
              ],
              it.state,
              { name: "state", ...on },
            ),
          ),
          field("Expires", select(EXPIRES, it.expires, { name: "expires", ...on })),
        ),
      ),
    );
    this.newPlace = el("div.new-place");
    this.totalText = el("p.quiet", { role: "status" });
    this.bulk = el("div.bulk", { role: "toolbar", "aria-label": "Selected memories" });
    this.emptyPlace = el("div");
    this.headPlace = el("div", { role: "rowgroup" });
    this.grid = el(
      "div.grid",
      { role: "grid", "aria-label": "Memories", "aria-multiselectable": "true" },
      this.headPlace,
      this.rows.body,
    );
    // For narrow screens, which have no headings to sort by.
    this.sorting = select(SORTS, "", {
      "aria-label": "Sorted by",
      change: (event) => this.sortBy(...event.target.value.split(" ")),
    });
    fill(this, [
      el("h1.unseen", {}, "Memories"),
      this.form,
      this.newPlace,
      el("div.under", {}, this.totalText, el("label.narrow-only", {}, this.sorting), this.bulk),
      this.grid,
      this.emptyPlace,
    ]);
    this.showOrder();
    this.showScope();
    this.showBulk();
  }

  sortBy(name, order = "") {
    this.filters.match = ""; // a recall has its own order
    this.filters.order = order;
    this.filters.sort_by = name === "created" ? "" : name;
    goTo("memories", this.filters);
  }

  // Keeps the focus on a heading that was clicked.
  showOrder() {
    const focused =
      this.headPlace.contains(document.activeElement) && document.activeElement.dataset.sort;
    fill(this.headPlace, [this.head()]);
    if (focused) this.headPlace.querySelector(`[data-sort=${focused}]`).focus();
    const { sort_by: name, order } = this.filters;
    this.sorting.value = name || order ? [name || "created", order].filter(Boolean).join(" ") : "";
  }

  head() {
    const sorted = (name, title, before = "") => {
      const isCurrent = !this.isByMeaning() && (this.filters.sort_by || "created") === name;
      const up = this.filters.order === "asc";
      return el(
        "span",
        {
          role: "columnheader",
          "aria-sort": isCurrent ? (up ? "ascending" : "descending") : "none",
        },
        before,
        button(
          `${title}${isCurrent ? (up ? " ↑" : " ↓") : ""}`,
          () => this.sortBy(name, isCurrent && !up ? "asc" : ""),
          "plain",
          { "data-sort": name },
        ),
      );
    };
    const plain = (title) => el("span", { role: "columnheader" }, title);
    return el(
      "div.grid-head",
      { role: "row", "aria-rowindex": 1 },
      el("span", { role: "columnheader" }, el("span.unseen", {}, "Selected")),
      sorted("created", "by date stored", "Memory, "),
      plain("Category"),
      plain("Project"),
      plain("Tags"),
      sorted("importance", "Importance"),
      sorted("updated", "Changed"),
    );
  }

  query() {
    const it = this.filters;
    const day = (text) => text && new Date(`${text}T00:00`).toISOString();
    return {
      words: it.words.split(/\s+/).filter(Boolean).slice(0, 20),
      project: it.project,
      sessions: it.session,
      categories: it.category,
      tags: [it.tag, it.captured && "captured"].filter(Boolean),
      since: day(it.since),
      until: day(it.until),
      is_sensitive: it.sensitive,
      state: it.state,
      ...this.lifetime(),
      sort_by: it.sort_by,
      order: it.order,
    };
  }

  lifetime() {
    const { expires } = this.filters;
    const inDays = (days) => new Date(Date.now() + days * DAY).toISOString();
    if (!expires || !EXPIRES.some(([value]) => value === expires)) return {};
    return expires === "past"
      ? { expires_by: inDays(0) }
      : { expires_after: inDays(0), expires_by: inDays(Number(expires)) };
  }

  applySoon() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.apply(), 250);
  }

  // Puts the filters into the address, without losing the focus while the user types.
  apply() {
    clearTimeout(this.typing);
    for (const [name, value] of new FormData(this.form)) {
      if (name in this.filters) this.filters[name] = value.trim();
    }
    const query = new URLSearchParams(
      Object.entries(this.filters).filter(([, value]) => value),
    ).toString();
    history.replaceState(null, "", `#/memories${query ? `?${query}` : ""}`);
    this.chosen.clear();
    this.showBulk();
    this.showOrder();
    this.showScope();
    attempt(() => this.rows.refresh({ fromTop: true }));
  }

  toggle(memory, index, isRange) {
    const several =
      isRange && this.last !== undefined ? this.rows.between(this.last, index) : [memory];
    const adds = !this.chosen.has(memory.id);
    for (const each of several) {
      if (adds) this.chosen.set(each.id, each);
      else this.chosen.delete(each.id);
    }
    this.last = index;
    this.showBulk();
  }

  async chooseAll() {
    for (let offset = 0; offset < this.rows.total; offset += READ_AT_ONCE) {
      const page = await this.read(offset, READ_AT_ONCE);
      for (const memory of page.memories) this.chosen.set(memory.id, memory);
    }
    this.showBulk();
    this.rows.drawNow();
  }

  clearChoice() {
    this.chosen.clear();
    this.showBulk();
    this.rows.drawNow();
  }

  showBulk() {
    if (!this.chosen.size) {
      this.bar = null;
      fill(this.bulk, [button("Select all", () => attempt(() => this.chooseAll()), "link")]);
      return;
    }
    if (!this.bar) {
      this.bar = bulkBar({
        after: async () => {
          this.clearChoice();
          await this.rows.refresh();
        },
        clear: () => this.clearChoice(),
      });
      fill(this.bulk, this.bar.nodes);
    }
    this.bar.show([...this.chosen.values()]);
  }

  showTotal(total) {
    const order = this.isByMeaning() && total ? ", best match first" : "";
    this.totalText.textContent = count(total, "memory", "memories") + order;
    this.grid.setAttribute("aria-rowcount", total + 1);
    const isFiltered = FILTERS.some((name) => this.filters[name]);
    this.grid.hidden = total === 0;
    fill(
      this.emptyPlace,
      total
        ? []
        : [
            el(
              "div.card.empty",
              {},
              el(
                "h2",
                {},
                isFiltered ? "No memory matches these filters" : "Nothing is stored yet",
              ),
              isFiltered
                ? button("Remove the filters", () => goTo("memories"), "plain")
                : el(
                    "p.quiet",
                    {},
                    "Add one with “New memory”, or connect an agent: recollect install",
                  ),
            ),
          ],
    );
  }

  toggleNew() {
    const opener = this.form.querySelector("button.primary");
    const isOpen = this.newPlace.childElementCount > 0;
    opener.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) return fill(this.newPlace, []);
    fill(this.newPlace, [
      newMemoryForm(
        async () => {
          this.toggleNew();
          await this.rows.refresh({ fromTop: true });
        },
        () => this.toggleNew(),
      ),
    ]);
    this.newPlace.querySelector("textarea").focus();
    return undefined;
  }
}

function makeCells() {
  const cell = (kind = "") => el(`span${kind}`, { role: "gridcell" });
  const check = el(
    "span.check-cell",
    { role: "gridcell" },
    el("input", { type: "checkbox", tabindex: -1, "aria-label": "Select" }),
  );
  return {
    check,
    text: cell(),
    category: cell(".small"),
    project: cell(".small"),
    tags: cell(".small"),
    importance: cell(".small"),
    changed: cell(".small"),
  };
}

function drawRow(cells, memory, view) {
  if (!memory) {
    for (const [name, cell] of Object.entries(cells))
      if (name !== "check") cell.textContent = name === "text" ? "…" : "";
    return;
  }
  cells.check.firstChild.setAttribute(
    "aria-label",
    `Select ${shortened(memory.is_sensitive ? "sensitive memory" : memory.content, 60)}`,
  );
  const isMasked = memory.is_sensitive && !view.revealed.has(memory.id);
  fill(
    cells.text,
    isMasked
      ? [
          el("span.masked", {}, "Sensitive text "),
          button(
            "Show",
            () => {
              view.revealed.add(memory.id);
              drawRow(cells, memory, view);
            },
            "link",
          ),
        ]
      : [
          memory.deleted_at && el("span.chip.warn", {}, "forgotten"),
          replacedChip(memory.superseded_by),
          lifetimeChip(memory),
          userText(shortened(memory.content, 220)),
        ],
  );
  cells.category.textContent = memory.category;
  fill(cells.project, [userText(memory.project ?? "")]);
  fill(cells.tags, [userText(memory.tags.join(", "))]);
  cells.importance.textContent = memory.importance.toFixed(2);
  fill(cells.changed, [date(memory.updated_at)]);
}

const replacedChip = (id) =>
  id && el("a.chip.warn", { href: `#/memory/${id}`, tabindex: -1 }, "Replaced by another");

function lifetimeChip(memory) {
  const now = Date.now();
  const end = memory.valid_until && Date.parse(memory.valid_until);
  if (end && end <= now) return el("span.chip.warn", {}, "expired");
  if (end && end <= now + SOON * DAY)
    return el("span.chip.warn", {}, "expires ", date(memory.valid_until));
  return (
    memory.valid_from && Date.parse(memory.valid_from) > now && el("span.chip", {}, "not valid yet")
  );
}

customElements.define("rc-memories", Memories);
