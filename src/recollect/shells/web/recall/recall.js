// Recall as an agent would see it: scope, time and weights, why each hit is there, why another
// memory is not, two settings side by side, and what a hook would inject.
import { ask } from "../parts/api.js";
import {
  button,
  categories,
  count,
  el,
  field,
  figure,
  fill,
  goTo,
  highlighted,
  percent,
  rowTitle,
  userText,
  select,
  shortened,
  shortId,
  table,
  time,
  words,
} from "../parts/dom.js";
import { attempt } from "../parts/notices.js";
import { staleLine } from "../parts/stale.js";

// The user-facing name of each leg; page.css has its color under the same name.
const LEGS = { lexical: "words", dense: "meaning", graph: "connections" };
const PARAMETERS = [
  "query",
  "project",
  "session",
  "category",
  "tag",
  "since",
  "until",
  "as_of",
  "why",
];

class Recall extends HTMLElement {
  async connectedCallback() {
    this.asked = 0;
    // A change must not replace what the user is typing or reading; they recall again at will.
    this.stale = staleLine("Memories have changed since.", "Recall again", () =>
      attempt(() => this.run()),
    );
    this.onChange = () => {
      if (this.hasAnswer) this.stale.mark();
    };
    document.addEventListener("recollect:changed", this.onChange);
    this.settings = await attempt(() => ask("GET", "/settings"));
    if (this.settings) this.build();
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
  }

  readParams(params) {
    this.params = params;
    if (this.settings) this.build();
  }

  build() {
    const get = (name) => this.params.get(name) ?? "";
    this.sides = [this.weightsOf("w"), ...(this.params.has("v") ? [this.weightsOf("v")] : [])];
    this.form = el(
      "form.card.recall-form",
      {
        role: "search",
        submit: (event) => {
          event.preventDefault();
          this.remember();
        },
      },
      el(
        "div.row",
        {},
        el("input", {
          type: "search",
          name: "query",
          value: get("query"),
          required: true,
          placeholder: "What an agent would ask",
          "aria-label": "Query",
        }),
        el("button", { type: "submit" }, "Recall"),
      ),
      el(
        "details",
        { open: PARAMETERS.slice(1).some(get) || this.params.has("w") || this.params.has("v") },
        el("summary", {}, "Scope, time and weights"),
        el(
          "div.stack",
          {},
          el(
            "div.fields",
            {},
            field("Project", el("input", { name: "project", value: get("project") })),
            field("Session", el("input", { name: "session", value: get("session") })),
            field(
              "Category",
              select([["", "any"], ...categories().map((name) => [name, name])], get("category"), {
                name: "category",
              }),
            ),
            field("Tags", el("input", { name: "tag", value: get("tag") })),
            field("Stored from", el("input", { type: "date", name: "since", value: get("since") })),
            field(
              "Stored before",
              el("input", { type: "date", name: "until", value: get("until") }),
            ),
            field(
              "As of",
              el("input", { type: "datetime-local", name: "as_of", value: get("as_of") }),
              "what was known then",
            ),
            field(
              "Why (not) this memory?",
              el("input", { name: "why", value: get("why"), placeholder: "its id" }),
            ),
          ),
          this.sides.map((weights, number) => this.sliders(weights, number)),
          el(
            "div.row",
            {},
            this.sides.length === 1
              ? button(
                  "Compare with other weights",
                  () => {
                    this.sides.push({ ...this.defaults() });
                    this.remember();
                  },
                  "plain",
                )
              : button(
                  "Stop comparing",
                  () => {
                    this.sides.pop();
                    this.remember();
                  },
                  "plain",
                ),
          ),
        ),
      ),
    );
    this.results = el("div.stack", { "aria-live": "polite" });
    fill(this, [
      el(
        "div.stack",
        {},
        el("h1.unseen", {}, "Recall"),
        this.form,
        el("div", {}, this.stale.line, this.results),
      ),
    ]);
    this.hasAnswer = false;
    this.stale.clear();
    if (get("query")) attempt(() => this.run());
    else {
      fill(this.results, [
        el(
          "div.card.empty",
          {},
          el(
            "h2",
            {},
            get("why")
              ? "Enter a query to see why this memory is recalled, or not"
              : "What would an agent find?",
          ),
          el(
            "p.quiet",
            {},
            "Each hit shows what its words, its meaning and its connections contributed.",
          ),
        ),
      ]);
      this.form.query.focus({ preventScroll: true });
    }
  }

  defaults() {
    return {
      lexical: this.settings.lexical_weight,
      dense: this.settings.dense_weight,
      graph: this.settings.graph_weight,
    };
  }

  weightsOf(param) {
    const given = (this.params.get(param) ?? "").split(",").map(Number);
    return given.length === 3 && given.every(Number.isFinite)
      ? { lexical: given[0], dense: given[1], graph: given[2] }
      : this.defaults();
  }

  sliders(weights, number) {
    return el(
      "fieldset.weights",
      {},
      el("legend.label", {}, this.sides.length > 1 ? `Weights ${"AB"[number]}` : "Weights"),
      Object.entries(LEGS).map(([leg, title]) => {
        const shown = el("span", {}, figure(weights[leg]));
        return el(
          "label.field",
          {},
          el("span.label", {}, `${title} `, shown),
          el("input", {
            type: "range",
            "aria-label": `Weight of ${title}${this.sides.length > 1 ? ` ${"AB"[number]}` : ""}`,
            min: 0,
            max: 3,
            step: 0.05,
            value: weights[leg],
            input: (event) => {
              weights[leg] = Number(event.target.value);
              shown.textContent = figure(weights[leg]);
            },
            change: () => {
              if (this.form.query.value.trim()) this.remember();
            },
          }),
        );
      }),
    );
  }

  // Puts the query into the address, so that it can be shared and reloaded.
  remember() {
    const data = new FormData(this.form);
    const params = Object.fromEntries(PARAMETERS.map((name) => [name, data.get(name)?.trim()]));
    const text = (weights) => [weights.lexical, weights.dense, weights.graph].join(",");
    const usual = text(this.defaults());
    if (text(this.sides[0]) !== usual) params.w = text(this.sides[0]);
    if (this.sides[1]) params.v = text(this.sides[1]);
    const before = location.hash;
    goTo("recall", params);
    if (location.hash === before) attempt(() => this.run());
  }

  request(weights) {
    const get = (name) => (this.params.get(name) ?? "").trim();
    const scope = { tags: words(get("tag")) };
    if (get("project")) scope.project = get("project");
    if (get("session")) scope.sessions = [get("session")];
    if (get("category")) scope.categories = [get("category")];
    for (const name of ["since", "until"])
      if (get(name)) scope[name] = new Date(`${get(name)}T00:00`).toISOString();
    const request = { query: get("query"), scope, weights };
    if (get("as_of")) request.as_of = new Date(get("as_of")).toISOString();
    return request;
  }

  async run() {
    const number = ++this.asked;
    const why = this.params.get("why");
    const project = (this.params.get("project") ?? "").trim() || undefined;
    const [preview, reason, ...answers] = await Promise.all([
      ask("POST", "/recall/injection", { prompt: this.params.get("query"), project }),
      why ? ask("POST", "/why", { id: why, ...this.request(this.sides[0]) }) : null,
      ...this.sides.map((weights) =>
        ask("POST", "/recall", { ...this.request(weights), explain: true }),
      ),
    ]);
    if (number !== this.asked) return;
    this.hasAnswer = true;
    this.stale.clear();
    const first = answers[0].hits.map((hit) => hit.memory.id);
    fill(this.results, [
      reason && whyCard(reason),
      el(
        "div.sides",
        {},
        answers.map((answer, at) =>
          this.side(answer, at, answers.length > 1 && at > 0 ? first : null),
        ),
      ),
      previewCard(preview, project),
    ]);
  }

  side(answer, at, before) {
    const best = Math.max(0, ...answer.hits.map((hit) => hit.score));
    const title = this.sides.length > 1 ? `Weights ${"AB"[at]}` : "Recalled";
    const late = Object.entries(answer.legs)
      .filter(([, leg]) => ["absent", "failed", "late"].includes(leg.status))
      .map(([leg]) => LEGS[leg]);
    return el(
      "section.stack",
      { "aria-label": title },
      el(
        "div.heading",
        {},
        el("h2", {}, title),
        el(
          "p.quiet",
          {},
          `${count(answer.hits.length, "hit")} in ${answer.took_ms.toFixed(0)} ms${late.length ? ` · without ${late.join(" and ")}` : ""}`,
        ),
      ),
      answer.hint && el("p.quiet", {}, answer.hint),
      answer.is_weak &&
        el("p.quiet", {}, "No memory is clearly about this. These are the nearest."),
      answer.hits.length === 0
        ? el(
            "div.card.empty",
            {},
            el("h3", {}, "Nothing found"),
            el(
              "p.quiet",
              {},
              "Try other words, a wider scope, or enter the id of a memory above to see why it is missing.",
            ),
          )
        : el(
            "ol.hits",
            {},
            answer.hits.map((hit, place) =>
              hitCard(hit, place + 1, best, before, (id) => {
                this.form.why.value = id;
                this.remember();
              }),
            ),
          ),
    );
  }
}

function hitCard(hit, place, best, before, askWhy) {
  const { memory, explanation } = hit;
  const moved = before ? before.indexOf(memory.id) : -2;
  const change =
    moved === -2
      ? ""
      : moved === -1
        ? "new"
        : moved + 1 === place
          ? "same place"
          : `was ${moved + 1}`;
  // A weak match of a word would not help the reader.
  const matches = (explanation?.rerank?.words ?? []).filter((match) => match.similarity >= 0.5);
  let isShown = !memory.is_sensitive;
  const text = el("p.content");
  const draw = () =>
    fill(
      text,
      isShown
        ? [highlighted(memory.content, matches, hit.passage?.start)]
        : [
            el("span.masked", {}, "Sensitive text "),
            button(
              "Show",
              () => {
                isShown = true;
                draw();
              },
              "link",
            ),
          ],
    );
  draw();
  return el(
    "li.card.hit",
    {},
    el(
      "div.row",
      {},
      el("span.rank", {}, `#${place}`),
      change && el("span.chip", {}, change),
      el("span.chip", {}, memory.category),
      memory.project && el("span.chip", {}, userText(memory.project)),
      el("span.quiet", {}, time(memory.created_at)),
    ),
    text,
    explanation && contributions(hit, best),
    hit.newer_than &&
      el("p.quiet", {}, `Shown before an older memory that it updates: ${hit.newer_than.reason}.`),
    hit.stands_for.length > 0 &&
      el(
        "p.quiet",
        {},
        `Replaces ${count(hit.stands_for.length, "older memory", "older memories")}.`,
      ),
    hit.attached.map(
      (other) =>
        !other.is_sensitive &&
        el("p.quiet", {}, "Resolved by: ", userText(shortened(other.content))),
    ),
    el(
      "div.row",
      {},
      el("a", { href: `#/memory/${memory.id}` }, "Open"),
      button("Why here?", () => askWhy(memory.id), "link"),
    ),
  );
}

// The length of the bar is the score, divided by what each leg contributed.
function contributions(hit, best) {
  const { legs, fused, prior } = hit.explanation;
  const bar = el("div.stacked", { role: "img", "aria-label": `Score ${hit.score.toPrecision(3)}` });
  const parts = [];
  const entries = Object.entries(legs).filter(([, leg]) => leg.rank !== null);
  const sum = entries.reduce((all, [, leg]) => all + Math.max(0, leg.contribution), 0) || 1;
  for (const [name, leg] of entries) {
    const title = LEGS[name];
    const piece = el(`span.${title}`);
    piece.style.width = `${(100 * (hit.score / best) * Math.max(0, leg.contribution)) / sum}%`;
    bar.append(piece);
    parts.push(el("span", {}, el(`i.${title}`), plain(name, title, leg, hit.matched_words)));
  }
  const path = legs.graph?.path ?? [];
  return el(
    "div.stack",
    {},
    bar,
    el(
      "p.legend",
      {},
      parts,
      el(
        "span",
        {},
        `importance ${hit.memory.importance}: score × ${prior.toPrecision(2)} (${fused.toPrecision(3)} → ${hit.score.toPrecision(3)})`,
      ),
    ),
    path.length > 0 &&
      el(
        "p.quiet",
        {},
        "Path: ",
        path.map((step, at) => [
          at > 0 && " → ",
          userText(/^[0-9a-f-]{36}$/.test(step) ? shortId(step) : step),
        ]),
      ),
  );
}

function plain(name, title, leg, words) {
  if (name === "lexical")
    return `${title}: matched ${words.matched} of ${count(words.asked, "word")} (#${leg.rank})`;
  if (name === "dense")
    return `${title}: ${percent(Math.max(0, leg.score))} similar (#${leg.rank})`;
  return `${title}: reached through the graph (#${leg.rank})`;
}

// Replaces the API's names of legs with the user-facing ones.
const plainText = (text) =>
  text.replace(/\b(lexical|dense|graph) leg\b/g, (_, leg) => `search by ${LEGS[leg]}`);

function whyCard(why) {
  const { memory } = why;
  return el(
    "section.card.stack",
    { "aria-labelledby": "why" },
    el("h2#why", {}, why.recalled ? `Recalled as #${why.place}` : "Not recalled"),
    el(
      "p",
      {},
      memory.is_sensitive
        ? el("span.masked", {}, "Sensitive text")
        : userText(shortened(memory.content)),
    ),
    why.moved && el("p.quiet", {}, userText(why.moved)),
    why.kept_out.length > 0 &&
      el(
        "ul.findings",
        {},
        why.kept_out.map((obstacle) =>
          el(
            "li",
            {},
            el("span.chip.warn", {}, LEGS[obstacle.leg] ?? "all"),
            el(
              "div",
              {},
              el("p", {}, userText(plainText(obstacle.what))),
              el("p.quiet", {}, userText(plainText(obstacle.remedy))),
            ),
          ),
        ),
      ),
    el(
      "div.scroll",
      {},
      table(
        ["Found by", "Rank", "Added to the score", "Note"],
        Object.entries(why.legs).map(([name, leg]) => [
          rowTitle(LEGS[name]),
          leg.rank === null ? "not found" : `${leg.rank} of the first ${leg.depth}`,
          leg.contribution === null ? "—" : leg.contribution.toPrecision(3),
          userText(plainText(leg.obstacle?.what ?? leg.note ?? "")),
        ]),
      ),
    ),
  );
}

function previewCard(preview, project) {
  const left = [
    preview.below && `${preview.below} not relevant enough`,
    preview.sensitive && `${preview.sensitive} sensitive`,
    preview.unfit && `${preview.unfit} too long`,
  ].filter(Boolean);
  return el(
    "section.card.stack",
    { "aria-labelledby": "preview" },
    el(
      "div.heading",
      {},
      el("h2#preview", {}, "What a hook would inject for this prompt"),
      el(
        "p.quiet",
        {},
        `${count(preview.memories.length, "memory", "memories")}, about ${count(preview.tokens, "token")}`,
      ),
    ),
    el(
      "p.quiet",
      {},
      project
        ? [
            "A hook looks at the project ",
            userText(project),
            " and at memories without a project; the other filters do not apply to it.",
          ]
        : "A hook looks at the project it runs in and at memories without a project. No project is chosen above, so this preview has only memories without one.",
    ),
    preview.text
      ? el("pre", { tabindex: 0, dir: "auto" }, preview.text)
      : el("p.quiet", {}, "Nothing: no memory is clearly relevant."),
    left.length > 0 &&
      el("p.quiet", {}, `Of ${preview.found} found, left out: ${left.join(", ")}.`),
  );
}

customElements.define("rc-recall", Recall);
