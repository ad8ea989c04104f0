// The difference between two texts, word by word.
import { el, rowTitle, table, textOf } from "./dom.js";

const MAX_WORDS = 600; // per side; comparing more is not worth the cost

// [["same" | "gone" | "new", text], …]
export function compare(before, after) {
  const old = split(before);
  const now = split(after);
  if (old.length > MAX_WORDS || now.length > MAX_WORDS)
    return [
      ["gone", before],
      ["new", after],
    ];
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      lengths[i][j] =
        old[i] === now[j]
          ? lengths[i + 1][j + 1] + 1
          : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const parts = [];
  const add = (kind, text) => {
    if (parts.at(-1)?.[0] === kind) parts.at(-1)[1] += text;
    else parts.push([kind, text]);
  };
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      add("same", old[i++]);
      j++;
    } else if (j >= now.length || (i < old.length && lengths[i + 1][j] >= lengths[i][j + 1]))
      add("gone", old[i++]);
    else add("new", now[j++]);
  }
  return parts;
}

const split = (text) => text.match(/\s+|[^\s]+/g) ?? [];

// One side of a comparison, with what the other side lacks marked.
export function side(parts, kind) {
  return el(
    "span.said",
    { dir: "auto" },
    parts
      .filter(([each]) => each === "same" || each === kind)
      .map(([each, text]) =>
        each === "same" ? text : el(kind === "gone" ? "del" : "ins", {}, text),
      ),
  );
}

// Returns rows for the fields in which two states differ: [title, left, right].
export function differences(left, right, fields) {
  return fields
    .filter((name) => textOf(left[name]) !== textOf(right[name]))
    .map((name) => {
      const parts = compare(textOf(left[name]), textOf(right[name]));
      return [name, side(parts, "gone"), side(parts, "new")];
    });
}

export const NAMES = {
  content: "Text",
  category: "Category",
  tags: "Tags",
  expanded_keywords: "Extra keywords",
  importance: "Importance",
  is_sensitive: "Sensitive",
  project: "Project",
  session: "Session",
  links: "Links",
  valid_from: "Valid from",
  valid_until: "Valid until",
  deleted_at: "Forgotten",
};
export const FIELDS = Object.keys(NAMES);

export const pairTable = (left, right, rows) =>
  table(
    ["Field", left, right],
    rows.map(([name, one, other]) => [rowTitle(NAMES[name] ?? name), one, other]),
    "table.pair",
  );
