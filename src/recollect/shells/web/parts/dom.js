// Elements, texts and times. Texts are only ever inserted as text.

// el("p.quiet#id", { click: …, href: … }, child, …): functions are listeners, the rest attributes.
export function el(name, props = {}, ...children) {
  const [tag] = name.split(/[.#]/);
  const svg = SVG_TAGS.has(tag);
  const node = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [, mark, text] of name.matchAll(/([.#])([\w-]+)/g)) {
    if (mark === "#") node.id = text;
    else node.classList.add(text);
  }
  for (const [key, value] of Object.entries(props)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(key, value);
  }
  return fill(node, children);
}
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "line", "circle", "text", "rect", "path"]);

export function fill(node, children) {
  node.replaceChildren(...[children].flat(9).filter((child) => child || child === 0));
  return node;
}

// Text that a person wrote, with its own writing direction isolated.
export const userText = (text, name = "span") => el(`${name}.said`, { dir: "auto" }, visible(text));

// Removes invisible characters, in which instructions to a model can hide. Of a run of them, one
// joiner or emoji selector stays, since scripts and emoji need one.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]+/gu;
const JOINER = /^(\ufe0f?[\u200c\u200d]|\ufe0f)/u;
const visible = (text) => {
  if (Array.isArray(text)) return text.map(visible);
  return typeof text === "string"
    ? text.replace(INVISIBLE, (run) => run.match(JOINER)?.[0] ?? "")
    : text;
};

// Such text with some of its words marked. Positions count code points, as in the API.
export function highlighted(text, matches, from = 0, most = 600) {
  const letters = Array.from(text);
  const end = Math.min(letters.length, from + most);
  const pieces = [];
  let at = from;
  for (const match of [...matches].sort((one, other) => one.start - other.start)) {
    if (match.start < at || match.end > end) continue;
    pieces.push(
      letters.slice(at, match.start).join(""),
      el(
        "mark",
        { title: `matches “${match.word}”, ${percent(match.similarity)} similar` },
        letters.slice(match.start, match.end).join(""),
      ),
    );
    at = match.end;
  }
  return userText([
    from > 0 && "…",
    pieces,
    letters.slice(at, end).join(""),
    end < letters.length && "…",
  ]);
}

export function button(title, click, kind = "plain", props = {}) {
  return el(`button.${kind}`, { type: "button", click, ...props }, title);
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const number = new Intl.NumberFormat();
export const time = (iso) =>
  el("time", { datetime: iso, title: moment.format(new Date(iso)) }, moment.format(new Date(iso)));
export const date = (iso) =>
  el("time", { datetime: iso, title: moment.format(new Date(iso)) }, day.format(new Date(iso)));
export const count = (many, one, several = `${one}s`) =>
  `${number.format(many)} ${many === 1 ? one : several}`;
export const figure = (value) => number.format(value);
export const percent = (share) => `${Math.round(share * 100)}%`;
export const shortId = (id) => id.slice(-8);
export const shortened = (text, most = 160) =>
  text.length > most ? `${text.slice(0, most)}…` : text;
export const categories = () => document.body.dataset.categories.split(" ");
export const words = (text) =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);

// Rows are lists of cells; a cell made by `rowTitle` is the title of its row.
export const rowTitle = (...children) => el("th", { scope: "row" }, children);
export function table(titles, rows, name = "table") {
  return el(
    name,
    {},
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        titles.map((title) => el("th", { scope: "col" }, title)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map((cells) =>
        el(
          "tr",
          {},
          cells.map((cell) => (cell?.tagName === "TH" ? cell : el("td", {}, cell))),
        ),
      ),
    ),
  );
}

// A value of any field as text.
export const textOf = (value) =>
  Array.isArray(value)
    ? value
        .map((each) => (typeof each === "object" ? `${each.kind} ${each.target}` : each))
        .join(", ")
    : value === null || value === undefined || value === ""
      ? "—"
      : value === true
        ? "yes"
        : value === false
          ? "no"
          : String(value);

export function field(title, control, hint = "") {
  control.setAttribute("aria-label", title);
  if (hint) control.setAttribute("aria-description", hint);
  return el(
    "label.field",
    {},
    el("span.label", {}, title),
    control,
    hint && el("span.quiet", {}, hint),
  );
}

export function select(options, chosen, props = {}) {
  return el(
    "select",
    props,
    options.map(([value, title]) => el("option", { value, selected: value === chosen }, title)),
  );
}

export function goTo(view, params = {}) {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value));
  const text = query.toString();
  location.hash = `#/${view}${text ? `?${text}` : ""}`;
}
