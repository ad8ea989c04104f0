// The concept graph: what is around a concept, at any moment, and how two concepts connect.
import { ask, Refused, withParams } from "../parts/api.js";
import { button, count, date, el, field, fill, goTo, said, shortened } from "../parts/dom.js";
import { attempt, notify } from "../parts/notices.js";
import { Canvas } from "./canvas.js";

const MOST = 60;
const EXPANDED = 6; // neighbours whose own relationships are shown, too
const WEEKS = 52;
const WEEK = 7 * 24 * 3600 * 1000;

class GraphView extends HTMLElement {
  connectedCallback() {
    this.canvas = new Canvas({ openNode: (node) => this.open(node), openEdge: (edge) => attempt(() => this.showEdge(edge)) });
    this.weeksAgo = 0;
    this.build();
    attempt(() => this.load());
  }

  readParams(params) {
    this.params = params;
    for (const name of ["name", "to"]) this.form[name].value = params.get(name) ?? "";
    attempt(() => this.load());
  }

  build() {
    const get = (name) => this.params.get(name) ?? "";
    this.moment = el("span", {}, "now");
    this.form = el("form.card.filters", { submit: (event) => { event.preventDefault(); goTo("graph", { name: this.form.name.value.trim(), to: this.form.to.value.trim() }); } },
      el("div.fields", {},
        field("Concept", el("input", { name: "name", value: get("name"), placeholder: "as memories write it" })),
        field("Path to", el("input", { name: "to", value: get("to"), placeholder: "another concept" })),
        el("label.field", {}, el("span.label", {}, "As of ", this.moment), el("input", {
          type: "range", "aria-label": "As of, in weeks from now", min: -WEEKS, max: 0, value: 0, name: "weeks",
          input: (event) => { this.weeksAgo = -Number(event.target.value); this.moment.textContent = this.weeksAgo ? new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).format(this.asOf()) : "now"; },
          change: () => attempt(() => this.load()),
        })),
        el("div.row", {}, el("button", { type: "submit" }, "Show"),
          button("−", () => this.canvas.zoom(1 / 1.3), "plain", { "aria-label": "Zoom out" }), button("+", () => this.canvas.zoom(1.3), "plain", { "aria-label": "Zoom in" }))));
    this.side = el("aside.stack", { "aria-live": "polite" });
    this.drawing = el("div", {}, this.canvas.svg);
    fill(this, [el("h1.unseen", {}, "Graph"), this.form, el("div.wide-and-narrow", {}, this.drawing, this.side)]);
  }

  asOf() {
    return new Date(Date.now() - this.weeksAgo * WEEK);
  }

  concept(name, limit) {
    return ask("GET", withParams("/graph/concept", { name, limit, as_of: this.weeksAgo ? this.asOf().toISOString() : "" }));
  }

  async load() {
    const stats = await ask("GET", "/graph/stats");
    const known = Object.keys(stats.most_mentioned);
    const name = this.params.get("name") || known[0];
    if (!name) return this.showNothing("No concepts yet", "The graph is read from memories in the background; it grows as they are stored.");
    let found;
    try {
      found = await this.concept(name, 40);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      return this.showNothing(`There is no concept “${shortened(name, 60)}”`, "Try one of these:", known);
    }
    this.drawing.hidden = false;
    this.form.name.value = found.concept.name;
    const path = this.params.get("to") ? await this.findPath(name, this.params.get("to")) : null;
    await this.draw(found, path);
    this.showConcept(found, path, known);
    return undefined;
  }

  showNothing(title, text, known = []) {
    this.drawing.hidden = true;
    fill(this.side, [el("div.card.empty", {}, el("h2", {}, said(title)), el("p.quiet", {}, text), chips(known))]);
  }

  async findPath(source, target) {
    try {
      return await ask("GET", withParams("/graph/path", { source, target, as_of: this.weeksAgo ? this.asOf().toISOString() : "" }));
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
      if (!nodes.has(name) && nodes.size < MOST) nodes.set(name, { name, mentions: 1, ...more });
      return nodes.get(name);
    };
    const join = (one, other, more) => {
      const [source, target] = [add(one), add(other)];
      // One line for each pair; what a text says comes before being mentioned together.
      const key = [one, other].sort().join("\n");
      if (source && target && source !== target && (!edges.has(key) || (edges.get(key).isWeak && !more.isWeak))) edges.set(key, { source, target, ...more });
    };
    const relate = (relationship) => join(relationship.source_name, relationship.target_name, {
      title: `${relationship.source_name} ${relationship.relation.replaceAll("_", " ")} ${relationship.target_name}`, memories: relationship.evidence, relationship });
    add(found.concept.name, { isCenter: true, mentions: found.concept.mentions });
    const steps = path?.steps ?? [];
    for (const name of steps.flatMap((step) => [step.source_label, step.target_label])) { const node = add(name); if (node) node.onPath = true; }
    for (const step of steps) join(step.source_label, step.target_label, { title: step.relation, memories: step.evidence });
    found.relationships.forEach(relate);
    for (const { name, memories } of found.together) {
      const node = add(name);
      if (node) node.mentions = memories;
      join(found.concept.name, name, { title: `mentioned together in ${count(memories, "memory", "memories")}`, memories: found.memories, isWeak: true });
    }
    const nearest = found.relationships.map((each) => (each.source === found.concept.id ? each.target_name : each.source_name));
    const others = [...new Set([...nearest, ...found.together.map((each) => each.name)])].slice(0, EXPANDED);
    const more = await Promise.all(others.map((name) => this.concept(name, 12).catch(() => null)));
    for (const other of more.filter(Boolean)) {
      other.relationships.forEach(relate);
      for (const { name, memories } of other.together.slice(0, 6)) join(other.concept.name, name, { title: `mentioned together in ${count(memories, "memory", "memories")}`, memories: other.memories, isWeak: true });
    }
    this.canvas.show([...nodes.values()], [...edges.values()].sort((one, other) => Boolean(other.isWeak) - Boolean(one.isWeak)));
  }

  open(node) {
    goTo("graph", { name: node.name });
  }

  showConcept(found, path, known) {
    const { concept } = found;
    const names = [concept.name, ...concept.aliases.filter((alias) => alias !== concept.name)];
    const isOpen = this.side.querySelector("details")?.open ?? false;
    const other = el("input", { "aria-label": "Concept to merge", placeholder: "another concept" });
    fill(this.side, [
      el("section.card.stack", {}, el("h2", {}, said(concept.name)),
        el("p.quiet", {}, `${concept.kind} in ${count(concept.mentions, "memory", "memories")}${names.length > 1 ? `, also ${names.slice(1).join(", ")}` : ""}`),
        el("ul.stack", {}, found.relationships.slice(0, 8).map((each) => el("li", {},
          button(`${each.source_name} ${each.relation.replaceAll("_", " ")} ${each.target_name}`, () => attempt(() => this.showEdge({ title: "", memories: each.evidence, relationship: each })), "link")))),
        el("p", {}, el("a", { href: `#/memories?${new URLSearchParams({ words: concept.name })}` }, "Memories with this name"))),
      path && el("section.card.stack", {}, el("h2", {}, "Path"), pathText(path)),
      el("details.card", { open: isOpen }, el("summary", {}, "Merge and split"), el("div.stack", {},
        el("p.quiet", {}, "If another concept means the same, its names mean this one from now on."),
        el("div.row", {}, other, button("Merge", () => attempt(() => this.merge(concept.name, other.value.trim())), "plain")),
        names.length > 1 && el("p.quiet", {}, "If a name means something else, make it a concept of its own."),
        names.slice(1).map((alias) => el("div.row", {}, said(alias), button("Split off", () => attempt(() => this.split(concept.name, alias)), "plain"))))),
      el("section.card.stack", {}, el("h2", {}, "Often mentioned"), chips(known)),
      el("div.edge"),
    ]);
  }

  async showEdge(edge) {
    for (const each of this.canvas.layout.edges) each.line.classList.toggle("chosen", each === edge);
    const ids = edge.memories.slice(0, 12);
    const found = await Promise.all(ids.map((id) => ask("GET", `/memories/${id}`).catch(() => null)));
    const { relationship } = edge;
    const card = el("section.card.stack", { "aria-label": "Memories behind this" },
      el("h2", {}, said(relationship ? `${relationship.source_name} ${relationship.relation.replaceAll("_", " ")} ${relationship.target_name}` : edge.title)),
      relationship && el("p.quiet", {}, "true since ", date(relationship.valid_from), relationship.valid_to && [" until ", date(relationship.valid_to)]),
      el("ul.stack", {}, found.filter(Boolean).map((memory) => el("li", {}, el("a", { href: `#/memory/${memory.id}` }, memory.is_sensitive ? "sensitive text" : said(shortened(memory.content)))))),
      found.every((memory) => !memory) && el("p.quiet", {}, "The memories behind it are gone."));
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

const chips = (names) => el("p.chips", {}, names.slice(0, 20).map((name) => el("a.chip", { href: `#/graph?${new URLSearchParams({ name })}` }, said(name))));

function pathText(path) {
  if (!path.connected) return el("p.quiet", {}, "These two are not connected in six steps.");
  return el("ol", {}, path.steps.map((step) => el("li", {}, said(`${step.source_label} — ${step.relation.replaceAll("_", " ")} → ${step.target_label}`))));
}

customElements.define("rc-graph", GraphView);
