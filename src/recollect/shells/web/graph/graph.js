// The concept graph: the neighbourhood of a concept, at any time, and how two concepts connect.
import { ask, Refused, withParams } from "../parts/api.js";
import { button, count, date, el, field, fill, goTo, userText, shortened } from "../parts/dom.js";
import { attempt, notify } from "../parts/notices.js";
import { staleLine } from "../parts/stale.js";
import { Canvas, STEP } from "./canvas.js";

const MAX_NODES = 60;
const NEAR = 40; // how many relationships and memories of a concept are requested
const EXPANDED = 6; // how many neighbours are shown with their own relationships
const WEEKS = 52;
const WEEK = 7 * 24 * 3600 * 1000;
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

// A day in local time, in the format of the address.
const dayOf = (moment) =>
  [moment.getFullYear(), moment.getMonth() + 1, moment.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
const endOf = (text) => new Date(`${text}T23:59:59`);

class GraphView extends HTMLElement {
  connectedCallback() {
    this.canvas = new Canvas({
      openNode: (node) => this.open(node),
      openEdge: (edge) => attempt(() => this.showEdge(edge)),
    });
    this.stale = staleLine("Memories have changed since.", "Draw again", () =>
      attempt(() => this.load({ isAgain: true })),
    );
    this.onChange = () => this.stale.mark();
    document.addEventListener("recollect:changed", this.onChange);
    this.build();
    attempt(() => this.load());
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
  }

  readParams(params) {
    this.params = params;
    for (const name of ["name", "to"]) this.form.elements[name].value = params.get(name) ?? "";
    this.showMoment();
    attempt(() => this.load());
  }

  build() {
    const get = (name) => this.params.get(name) ?? "";
    this.moment = el("span", {}, "now");
    this.form = el(
      "form.card.filters",
      {
        submit: (event) => {
          event.preventDefault();
          this.remember();
        },
      },
      el(
        "div.fields",
        {},
        field(
          "Concept",
          el("input", { name: "name", value: get("name"), placeholder: "as memories write it" }),
        ),
        field(
          "Path to",
          el("input", { name: "to", value: get("to"), placeholder: "another concept" }),
        ),
        el(
          "label.field",
          {},
          el("span.label", {}, "As of ", this.moment),
          el("input", {
            type: "range",
            "aria-label": "As of, in weeks from now",
            min: -WEEKS,
            max: 0,
            value: 0,
            name: "weeks",
            input: (event) => this.describe(dayAgo(event.target.value)),
            change: (event) => this.remember({ as_of: dayAgo(event.target.value) }),
          }),
        ),
        el(
          "div.row",
          {},
          el("button", { type: "submit" }, "Show"),
          button("−", () => this.canvas.zoom(1 / STEP), "plain", { "aria-label": "Zoom out" }),
          button("+", () => this.canvas.zoom(STEP), "plain", { "aria-label": "Zoom in" }),
        ),
      ),
    );
    this.side = el("aside.stack", { "aria-live": "polite" });
    this.drawing = el("div", {}, this.canvas.svg);
    this.showMoment();
    fill(this, [
      el("h1.unseen", {}, "Graph"),
      this.form,
      this.stale.line,
      el("div.wide-and-narrow", {}, this.drawing, this.side),
    ]);
  }

  // Puts the concepts and the time into the address.
  remember(changes = {}) {
    const { name, to } = this.form.elements;
    goTo("graph", {
      name: name.value.trim(),
      to: to.value.trim(),
      as_of: this.asOfDay(),
      ...changes,
    });
  }

  // Returns the day that is shown, or "" for now.
  asOfDay() {
    const text = this.params.get("as_of") ?? "";
    return Number.isNaN(endOf(text).getTime()) ? "" : text;
  }

  asOf() {
    return this.asOfDay() && endOf(this.asOfDay()).toISOString();
  }

  showMoment() {
    const text = this.asOfDay();
    this.form.elements.weeks.value = text ? Math.round((endOf(text) - Date.now()) / WEEK) : 0;
    this.describe(text);
  }

  describe(text) {
    this.moment.textContent = text ? day.format(endOf(text)) : "now";
  }

  concept(name, limit) {
    return ask("GET", withParams("/graph/concept", { name, limit, as_of: this.asOf() }));
  }

  // `isAgain`: keep what was typed.
  async load({ isAgain = false } = {}) {
    this.stale.clear();
    const stats = await ask("GET", "/graph/stats");
    const known = Object.keys(stats.most_mentioned);
    const name = this.params.get("name") || known[0];
    if (!name)
      return this.showNothing(
        "No concepts yet",
        "The graph is read from memories in the background; it grows as they are stored.",
      );
    let found;
    try {
      found = await this.concept(name, NEAR);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      return this.showNothing(
        `There is no concept “${shortened(name, 60)}”`,
        "Try one of these:",
        known,
      );
    }
    this.drawing.hidden = false;
    if (!isAgain) this.form.elements.name.value = found.concept.name;
    const path = this.params.get("to") ? await this.findPath(name, this.params.get("to")) : null;
    await this.draw(found, path);
    this.showConcept(found, path, known);
    return undefined;
  }

  showNothing(title, text, known = []) {
    this.drawing.hidden = true;
    fill(this.side, [
      el(
        "div.card.empty",
        {},
        el("h2", {}, userText(title)),
        el("p.quiet", {}, text),
        chips(known, this.asOfDay()),
      ),
    ]);
  }

  async findPath(source, target) {
    try {
      return await ask("GET", withParams("/graph/path", { source, target, as_of: this.asOf() }));
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      notify(`There is no concept “${shortened(target, 60)}”.`);
      return null;
    }
  }

  async draw(found, path) {
    const nodes = new Map();
    const edges = new Map();
    const add = (name, more = {}) => {
      if (!nodes.has(name) && nodes.size < MAX_NODES)
        nodes.set(name, { name, mentions: 1, ...more });
      return nodes.get(name);
    };
    const join = (one, other, more) => {
      const [source, target] = [add(one), add(other)];
      // One line for each pair; a stated relationship takes precedence over being mentioned together.
      const key = [one, other].sort().join("\n");
      if (
        source &&
        target &&
        source !== target &&
        (!edges.has(key) || (edges.get(key).isWeak && !more.isWeak))
      )
        edges.set(key, { source, target, ...more });
    };
    const relate = (relationship) =>
      join(relationship.source_name, relationship.target_name, {
        title: `${relationship.source_name} ${relationship.relation.replaceAll("_", " ")} ${relationship.target_name}`,
        memories: relationship.evidence,
        relationship,
      });
    add(found.concept.name, { isCenter: true, mentions: found.concept.mentions });
    const steps = path?.steps ?? [];
    for (const name of steps.flatMap((step) => [step.source_label, step.target_label])) {
      const node = add(name);
      if (node) node.onPath = true;
    }
    for (const step of steps)
      join(step.source_label, step.target_label, { title: step.relation, memories: step.evidence });
    found.relationships.forEach(relate);
    for (const each of found.together) {
      const node = add(each.name);
      if (node) node.mentions = each.memories;
      join(found.concept.name, each.name, togetherEdge(found, each));
    }
    const nearest = found.relationships.map((each) =>
      each.source === found.concept.id ? each.target_name : each.source_name,
    );
    const others = [...new Set([...nearest, ...found.together.map((each) => each.name)])].slice(
      0,
      EXPANDED,
    );
    const more = await Promise.all(others.map((name) => this.concept(name, 12).catch(() => null)));
    for (const other of more.filter(Boolean)) {
      other.relationships.forEach(relate);
      for (const each of other.together.slice(0, 6))
        join(other.concept.name, each.name, togetherEdge(other, each));
    }
    this.canvas.show(
      [...nodes.values()],
      [...edges.values()].sort((one, other) => Boolean(other.isWeak) - Boolean(one.isWeak)),
    );
  }

  open(node) {
    goTo("graph", { name: node.name, as_of: this.asOfDay() });
  }

  showConcept(found, path, known) {
    const { concept } = found;
    const names = [concept.name, ...concept.aliases.filter((alias) => alias !== concept.name)];
    const isOpen = this.side.querySelector("details")?.open ?? false;
    const other = el("input", { "aria-label": "Concept to merge", placeholder: "another concept" });
    fill(this.side, [
      el(
        "section.card.stack",
        {},
        el("h2", {}, userText(concept.name)),
        el(
          "p.quiet",
          {},
          `${concept.kind} in ${count(concept.mentions, "memory", "memories")}${names.length > 1 ? `, also ${names.slice(1).join(", ")}` : ""}`,
        ),
        el(
          "ul.edges",
          {},
          found.relationships.map((each) =>
            el(
              "li",
              {},
              button(
                `${each.source_name} ${each.relation.replaceAll("_", " ")} ${each.target_name}`,
                () =>
                  attempt(() =>
                    this.showEdge({ title: "", memories: each.evidence, relationship: each }),
                  ),
                "link",
              ),
            ),
          ),
          found.together.map((each) =>
            el(
              "li",
              {},
              button(
                `${concept.name} and ${each.name}`,
                () => attempt(() => this.showEdge(togetherEdge(found, each))),
                "link",
              ),
              el("span.quiet", {}, ` together in ${count(each.memories, "memory", "memories")}`),
            ),
          ),
        ),
        el(
          "p",
          {},
          el(
            "a",
            { href: `#/memories?${new URLSearchParams({ words: concept.name })}` },
            "Memories with this name",
          ),
        ),
      ),
      path && el("section.card.stack", {}, el("h2", {}, "Path"), pathText(path)),
      el(
        "details.card",
        { open: isOpen },
        el("summary", {}, "Merge and split"),
        el(
          "div.stack",
          {},
          el(
            "p.quiet",
            {},
            "If another concept means the same, its names mean this one from now on.",
          ),
          el(
            "div.row",
            {},
            other,
            button(
              "Merge",
              () => attempt(() => this.merge(concept.name, other.value.trim())),
              "plain",
            ),
          ),
          names.length > 1 &&
            el("p.quiet", {}, "If a name means something else, make it a concept of its own."),
          names.slice(1).map((alias) =>
            el(
              "div.row",
              {},
              userText(alias),
              button("Split off", () => attempt(() => this.split(concept.name, alias)), "plain"),
            ),
          ),
        ),
      ),
      el("section.card.stack", {}, el("h2", {}, "Often mentioned"), chips(known, this.asOfDay())),
    ]);
  }

  async showEdge(edge) {
    for (const each of this.canvas.layout.edges)
      each.line.classList.toggle("chosen", each === edge);
    // Only each concept's latest memories are known: those in both lists mention both.
    const theirs = edge.other && new Set((await this.concept(edge.other, NEAR)).memories);
    const ids = edge.memories.filter((id) => !theirs || theirs.has(id)).slice(0, 12);
    const found = await Promise.all(
      ids.map((id) => ask("GET", `/memories/${id}`).catch(() => null)),
    );
    const { relationship } = edge;
    const card = el(
      "section.card.stack",
      { "aria-label": "Memories behind this" },
      el(
        "h2",
        {},
        userText(
          relationship
            ? `${relationship.source_name} ${relationship.relation.replaceAll("_", " ")} ${relationship.target_name}`
            : edge.title,
        ),
      ),
      relationship &&
        el(
          "p.quiet",
          {},
          "true since ",
          date(relationship.valid_from),
          relationship.valid_to && [" until ", date(relationship.valid_to)],
        ),
      el(
        "ul.stack",
        {},
        found
          .filter(Boolean)
          .map((memory) =>
            el(
              "li",
              {},
              el(
                "a",
                { href: `#/memory/${memory.id}` },
                memory.is_sensitive ? "sensitive text" : userText(shortened(memory.content)),
              ),
            ),
          ),
      ),
      found.every((memory) => !memory) &&
        el(
          "p.quiet",
          {},
          edge.other
            ? "None of the latest memories of these two mentions both."
            : "The memories behind it are gone.",
        ),
    );
    this.side.querySelector("section[aria-label]")?.remove();
    this.side.prepend(card);
  }

  async merge(into, other) {
    if (!other) return;
    await ask("POST", "/graph/merge", { into, other });
    notify(`“${shortened(other, 60)}” now means “${shortened(into, 60)}”.`);
    await this.load();
  }

  async split(concept, alias) {
    await ask("POST", "/graph/split", { concept, alias });
    notify(`“${shortened(alias, 60)}” is a concept of its own now.`);
    await this.load();
  }
}

const dayAgo = (weeks) => (Number(weeks) ? dayOf(new Date(Date.now() + Number(weeks) * WEEK)) : "");

const togetherEdge = (found, { name, memories }) => ({
  title: `${found.concept.name} and ${name}: mentioned together in ${count(memories, "memory", "memories")}`,
  memories: found.memories,
  other: name,
  isWeak: true,
});

const chips = (names, asOf) =>
  el(
    "p.chips",
    {},
    names
      .slice(0, 20)
      .map((name) =>
        el(
          "a.chip",
          { href: `#/graph?${new URLSearchParams(asOf ? { name, as_of: asOf } : { name })}` },
          userText(name),
        ),
      ),
  );

function pathText(path) {
  if (!path.connected) return el("p.quiet", {}, "These two are not connected in six steps.");
  return el(
    "ol",
    {},
    path.steps.map((step) =>
      el(
        "li",
        {},
        userText(
          `${step.source_label} — ${step.relation.replaceAll("_", " ")} → ${step.target_label}`,
        ),
      ),
    ),
  );
}

customElements.define("rc-graph", GraphView);
