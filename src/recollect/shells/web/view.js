// Turns memories and hits into elements. Text is only ever set as text, never parsed as HTML:
// a memory may hold anything.

export function element(tag, { text, className, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function memoryItem(memory, onForget, ...details) {
  const forget = element("button", {
    type: "button", className: "link", text: "Forget",
    "aria-label": `Forget: ${shortened(memory.content)}`,
  });
  forget.addEventListener("click", () => onForget(memory));
  return element("li", { className: "card memory", "data-id": memory.id },
    element("p", { className: "content", text: memory.content, dir: "auto" }),
    ...memory.links.map((link) => linkLine(`${link.kind.replace("_", " ")} `, link.target)),
    element("div", { className: "facts" }, ...facts(memory), forget),
    ...details);
}

// What joins a memory to another, which is named by the beginning of its id as on the command line.
function linkLine(before, id, after = "") {
  return element("p", { className: "quiet linked" },
    before, element("code", { text: id.slice(0, 13), title: id }), after);
}

function attachedLine(memory) {
  return element("p", { className: "quiet linked" }, "resolved by: ",
    element("span", { text: memory.content, dir: "auto" }));
}

function facts(memory) {
  const shown = [element("span", { className: "chip category", text: memory.category })];
  if (memory.is_sensitive) shown.push(element("span", { className: "chip warn", text: "sensitive" }));
  if (memory.project) shown.push(element("span", { className: "chip", text: `project ${memory.project}` }));
  if (memory.session) shown.push(element("span", { className: "chip", text: `session ${memory.session}` }));
  for (const tag of memory.tags) shown.push(element("span", { className: "chip", text: `#${tag}` }));
  const when = new Date(memory.created_at);
  shown.push(element("time", {
    className: "quiet", datetime: memory.created_at, title: `${memory.id}, version ${memory.version}`,
    text: when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }),
  }));
  return shown;
}

// Why a hit is where it is: what each leg added, as a share of the best hit's fused score.
export function hitItem(hit, best, onForget) {
  const { explanation: why } = hit;
  const rows = Object.entries(why.legs).map(([leg, place]) => legRow(leg, place, best));
  const table = element("table", { className: "legs" },
    element("caption", { className: "unseen", text: "What each leg added" }),
    element("thead", {}, element("tr", {},
      ...["Leg", "Rank", "Score", "Evidence", "Contribution"].map((text) => element("th", { scope: "col", text })))),
    element("tbody", {}, ...rows));
  const bonus = why.bonus === 1 ? "" : ` × ${number(why.bonus)} bonus`;
  const total = element("p", { className: "quiet sum", text:
    `${number(why.fused)} fused${bonus} × ${number(why.prior)} prior ` +
    `(importance ${hit.memory.importance}) = ${number(why.fused * why.bonus * why.prior)}` });
  return memoryItem(hit.memory, onForget,
    ...hit.stands_for.map((id) => linkLine("stands for ", id, ", which it supersedes")),
    ...moreLikeIt(hit.duplicates),
    ...hit.attached.map(attachedLine),
    element("details", { className: "why" },
      element("summary", {},
        element("span", { className: "score", text: number(hit.score) }), " ",
        element("span", { text: inWords(why) })),
      table, total));
}

function moreLikeIt(duplicates) {
  if (!duplicates.length) return [];
  return [element("p", { className: "quiet linked", text: `and ${duplicates.length} more like it` })];
}

function legRow(leg, place, best) {
  const bar = element("meter", {
    min: "0", max: String(best || 1), value: String(place.contribution),
    "aria-label": `${leg} contributed ${number(place.contribution)}`,
  });
  return element("tr", {},
    element("th", { scope: "row", text: leg }),
    // The walk over the graph does not come to every memory.
    element("td", { text: place.rank === null ? "not reached" : `#${place.rank}` }),
    element("td", { text: number(place.score) }),
    element("td", { text: leg === "graph" ? "" : number(place.evidence) }),
    element("td", { className: "bar" }, bar, ` ${number(place.contribution)}`, ...led(place.path)));
}

// What led the graph to a hit: a path that begins with no memory begins with the query.
function led(path) {
  if (!path.length) return [];
  const isId = (step) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}$/.test(step);
  const steps = path.map((step) => (isId(step) ? step.slice(0, 13) : step));
  const from = isId(path[0]) ? [] : ["the query"];
  return [element("p", { className: "quiet linked", text: `by ${[...from, ...steps].join(" → ")}` })];
}

function inWords(why) {
  const found = Object.entries(why.legs).filter(([, place]) => place.rank !== null);
  const places = found.map(([leg, place]) => `#${place.rank} ${leg}`);
  return [...places, `prior × ${number(why.prior)}`].join(", ");
}

// What became of the recall as a whole: legs that ran, and those that should have and did not.
export function recallFacts(answer) {
  const count = answer.hits.length;
  const legs = Object.entries(answer.legs).map(([name, leg]) =>
    leg.status === "ran" ? `${name} found ${leg.found} in ${leg.took_ms.toFixed(1)} ms`
      : `${name} ${leg.status}${leg.note ? ` (${leg.note})` : ""}`);
  const degraded = answer.degraded.length ? `Degraded: ${answer.degraded.join(", ")}. ` : "";
  return `${degraded}${count} ${count === 1 ? "hit" : "hits"} in ${answer.took_ms.toFixed(1)} ms · ` +
    `${answer.fusion} · ${legs.join(" · ")}`;
}

export function statsText(stats) {
  const parts = [`${stats.memories} ${stats.memories === 1 ? "memory" : "memories"}`];
  if (stats.sensitive) parts.push(`${stats.sensitive} sensitive`);
  if (stats.forgotten) parts.push(`${stats.forgotten} forgotten`);
  return parts.join(" · ");
}

export function shortened(text) {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

function number(value) {
  return Number(value.toPrecision(3)).toString();
}
