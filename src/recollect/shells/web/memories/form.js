// The form for the fields of a memory: to add one, and to edit one in place.
import { ask } from "../parts/api.js";
import { button, categories, el, field, select, shortened, words } from "../parts/dom.js";
import { attempt, notify } from "../parts/notices.js";

export function memoryForm(memory, { title, save, cancel }) {
  const shown = el("span", {}, memory.importance.toFixed(2));
  const form = el(
    "form.card.stack",
    {
      submit: (event) => {
        event.preventDefault();
        attempt(() => save(read(form, memory)));
      },
    },
    field(
      "Text",
      el(
        "textarea",
        {
          name: "content",
          rows: 4,
          required: true,
          dir: "auto",
          placeholder: "One self-contained statement",
        },
        memory.content,
      ),
    ),
    el(
      "div.fields",
      {},
      field(
        "Category",
        select(
          categories().map((name) => [name, name]),
          memory.category,
          { name: "category" },
        ),
      ),
      field(
        "Tags",
        el("input", { name: "tags", value: memory.tags.join(", ") }),
        "separated by commas",
      ),
      field(
        "Extra keywords",
        el("input", { name: "expanded_keywords", value: memory.expanded_keywords.join(", ") }),
        "also found by these",
      ),
      field("Project", el("input", { name: "project", value: memory.project ?? "" })),
      field("Session", el("input", { name: "session", value: memory.session ?? "" })),
      field(
        "Valid from",
        el("input", {
          type: "datetime-local",
          step: 1,
          name: "valid_from",
          value: localMoment(memory.valid_from),
        }),
        "recalled from then on; empty: always",
      ),
      field(
        "Valid until",
        el("input", {
          type: "datetime-local",
          step: 1,
          name: "valid_until",
          value: localMoment(memory.valid_until),
        }),
        "no longer recalled then; empty: always",
      ),
      el(
        "label.field",
        {},
        el("span.label", {}, "Importance ", shown),
        el("input", {
          type: "range",
          name: "importance",
          "aria-label": "Importance",
          min: 0,
          max: 1,
          step: 0.05,
          value: memory.importance,
          input: (event) => {
            shown.textContent = Number(event.target.value).toFixed(2);
          },
        }),
      ),
    ),
    el(
      "label.check",
      {},
      el("input", { type: "checkbox", name: "is_sensitive", checked: memory.is_sensitive }),
      "Sensitive: never embedded, and never sent to another machine",
    ),
    el("div.row", {}, el("button", { type: "submit" }, title), button("Cancel", cancel, "plain")),
  );
  return form;
}

// Formats a time for the form: local, to the second.
function localMoment(moment) {
  if (!moment) return "";
  const at = new Date(moment);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

// Returns the time of a field: the former one, unless it was edited. Browsers omit seconds that are 0.
function moment(text, former) {
  if (!text) return null;
  const at = new Date(text);
  return former && at.getTime() === Date.parse(localMoment(former)) ? former : at.toISOString();
}

function read(form, memory) {
  const data = new FormData(form);
  return {
    content: data.get("content"),
    category: data.get("category"),
    tags: words(data.get("tags")),
    expanded_keywords: words(data.get("expanded_keywords")),
    project: data.get("project").trim() || null,
    session: data.get("session").trim() || null,
    importance: Number(data.get("importance")),
    is_sensitive: data.has("is_sensitive"),
    valid_from: moment(data.get("valid_from"), memory.valid_from),
    valid_until: moment(data.get("valid_until"), memory.valid_until),
  };
}

const BLANK = {
  content: "",
  category: "fact",
  tags: [],
  expanded_keywords: [],
  importance: 0.5,
  is_sensitive: false,
  project: null,
  session: null,
  valid_from: null,
  valid_until: null,
};

export function newMemoryForm(after, cancel) {
  return memoryForm(BLANK, {
    title: "Remember",
    cancel,
    save: async (draft) => {
      // If unset, a text that looks like a credential makes the memory sensitive.
      const { is_sensitive: isSensitive, ...rest } = draft;
      const stored = await ask("POST", "/memories", isSensitive ? draft : rest);
      await after();
      notify(
        stored.already_remembered
          ? "This text was already stored."
          : `Remembered: ${shortened(stored.is_sensitive ? "a sensitive memory" : stored.content, 80)}`,
      );
    },
  });
}
