// Admin: how recall ranks, who changed it, keys, embedding models, and what needs attention.
import { ask } from "../parts/api.js";
import {
  button,
  count,
  date,
  el,
  field,
  figure,
  fill,
  percent,
  rowTitle,
  userText,
  select,
  table,
  textOf,
  time,
} from "../parts/dom.js";
import { attempt, notify, offerUndo } from "../parts/notices.js";
import { CHOICES, SETTINGS } from "./settings.js";

const POLL_MS = 3000;
// Each part: its title, what it reads, and how it is drawn.
const PARTS = {
  findings: ["Findings", "/status", (view, status) => view.findings(status)],
  models: ["Embedding models", "/status", (view, status) => view.models(status)],
  storage: ["Storage and backups", "/status", (_, status) => storage(status)],
  benchmark: ["Recall on your own memories", "/status", (_, { machine }) => benchmark(machine)],
  settings: ["Settings", "/settings", (view, settings) => view.settings(settings)],
  log: ["Change log", "/settings/audit?limit=50", (_, { changes }) => log(changes)],
  keys: ["Keys", "/keys", (view, { keys }) => view.keys(keys)],
};

class Admin extends HTMLElement {
  connectedCallback() {
    this.parts = Object.fromEntries(
      Object.keys(PARTS).map((name) => [name, el("section.card.stack", { "aria-busy": "true" })]),
    );
    const { findings, models, storage, benchmark, settings, log, keys } = this.parts;
    fill(this, [
      el("h1.unseen", {}, "Admin"),
      el(
        "div.stack",
        {},
        el("div.columns", {}, findings, el("div.stack", {}, models, storage)),
        benchmark,
        settings,
        keys,
        log,
      ),
    ]);
    this.onChange = () => this.refresh(Object.keys(PARTS));
    this.missed = new Set();
    document.addEventListener("recollect:changed", this.onChange);
    this.addEventListener("focusout", () =>
      setTimeout(() => this.isConnected && this.missed.size && this.refresh([...this.missed])),
    );
    this.load();
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
    clearTimeout(this.polling);
  }

  load(names = Object.keys(PARTS)) {
    const answers = {};
    return Promise.all(
      names.map((name) => {
        const [title, path, draw] = PARTS[name];
        answers[path] ??= ask("GET", path);
        return this.part(name, title, answers[path], draw);
      }),
    );
  }

  // Shows changes by others, except in parts that are being edited: those follow on blur.
  refresh(names) {
    const isBusy = (name) =>
      this.parts[name].contains(document.activeElement) ||
      (name === "keys" &&
        (this.parts.keys.querySelector(".fresh, button.danger") ||
          this.parts.keys.querySelector("input")?.value)) ||
      (name === "findings" && this.hasExamined);
    for (const name of names) {
      if (isBusy(name)) this.missed.add(name);
      else this.missed.delete(name);
    }
    return this.load(names.filter((name) => !this.missed.has(name)));
  }

  // A part that the key may not see must not prevent the others from being shown.
  async part(name, title, answer, draw) {
    const place = this.parts[name];
    try {
      const found = await answer;
      const label = place.contains(document.activeElement) && document.activeElement.ariaLabel;
      fill(place, [el("h2", {}, title), draw(this, found)]);
      if (label) place.querySelector(`[aria-label="${CSS.escape(label)}"]`)?.focus(); // keep the focus on a changed setting
    } catch (error) {
      if (!(error instanceof Error) || error.status === undefined) throw error;
      fill(place, [el("h2", {}, title), el("p.quiet", {}, error.message)]);
    }
    place.removeAttribute("aria-busy");
  }

  findings(status) {
    const place = el("div.stack", { "aria-live": "polite" }, checkList(status.checks));
    const examine = button(
      "Run the doctor",
      () =>
        attempt(async () => {
          examine.disabled = true;
          this.hasExamined = true;
          try {
            fill(place, [checkList((await ask("GET", "/doctor")).checks)]);
          } finally {
            examine.disabled = false;
          }
        }),
      "plain",
    );
    return [
      place,
      el(
        "div.row",
        {},
        examine,
        el("span.quiet", {}, "checks this installation; takes a few seconds"),
      ),
    ];
  }

  // No event reports embedding, so the page polls while something is waiting.
  models(status) {
    clearTimeout(this.polling);
    if (this.isConnected && status.spaces.some((space) => space.waiting))
      this.polling = setTimeout(() => this.refresh(["models"]), POLL_MS);
    return models(status);
  }

  settings(current) {
    return el(
      "div.scroll",
      {},
      table(
        ["Setting", "Value", "What it does"],
        Object.entries(current).map(([name, value]) => {
          const [title, what, measured] = SETTINGS[name] ?? [name, "", ""];
          return [
            rowTitle(title, el("div.quiet", {}, el("code", {}, name))),
            this.control(name, title, value),
            [what, measured && el("div.quiet", {}, measured)],
          ];
        }),
      ),
    );
  }

  control(name, title, value) {
    const save = (next) => attempt(() => this.change(name, title, value, next));
    if (typeof value === "boolean")
      return el("input", {
        type: "checkbox",
        "aria-label": title,
        checked: value,
        change: (event) => save(event.target.checked),
      });
    if (CHOICES[name])
      return select(CHOICES[name], value, {
        "aria-label": title,
        change: (event) => save(event.target.value),
      });
    return el("input", {
      type: "number",
      step: "any",
      size: 8,
      "aria-label": title,
      value,
      change: (event) => {
        if (event.target.value !== "") save(Number(event.target.value));
      },
    });
  }

  async change(name, title, old, next) {
    try {
      await ask("PATCH", "/settings", { [name]: next });
    } finally {
      await this.load();
    }
    offerUndo(`${title}: ${textOf(old)} → ${textOf(next)}, from the next recall on.`, async () => {
      await ask("PATCH", "/settings", { [name]: old });
      await this.load();
    });
  }

  keys(keys) {
    const label = el("input", { name: "label", placeholder: "who or what will use it" });
    const role = select(
      [
        ["member", "member: read and write"],
        ["read-only", "read-only"],
        ["admin", "admin"],
      ],
      "member",
      { name: "role" },
    );
    const create = el(
      "form.stack",
      {
        submit: (event) => {
          event.preventDefault();
          attempt(async () => {
            const made = await ask("POST", "/keys", {
              label: label.value.trim(),
              role: role.value,
            });
            await this.load();
            this.showNewKey(made);
          });
        },
      },
      el("div.fields", {}, field("Label", label), field("Role", role)),
      el("div.row", {}, el("button", { type: "submit" }, "Create a key")),
    );
    return [
      el(
        "div.scroll",
        {},
        table(
          ["Label", "Owner", "Role", "Created", "Last used", ""],
          keys.map((key) => [
            [
              userText(key.label || "—"),
              key.project && [" ", el("span.chip", {}, userText(key.project))],
            ],
            userText(key.owner),
            key.role,
            date(key.created_at),
            key.last_used_at ? time(key.last_used_at) : "never",
            key.revoked_at ? el("span.chip.fail", {}, "revoked") : this.keyActions(key),
          ]),
        ),
      ),
      create,
    ];
  }

  showNewKey(made) {
    this.parts.keys.append(
      el(
        "p.fresh",
        { role: "status" },
        "The new key, shown only this once: ",
        el("code", {}, made.key),
      ),
    );
  }

  keyActions(key) {
    const place = el("span.row");
    const askFirst = (title, action) =>
      fill(place, [
        button(`Really ${title}`, () => attempt(action), "danger"),
        button("Cancel", start, "link"),
      ]);
    const start = () =>
      fill(place, [
        button(
          "Rotate",
          () =>
            askFirst("rotate", async () => {
              const made = await ask("POST", `/keys/${key.id}/rotate`, {});
              await this.load();
              this.showNewKey(made);
            }),
          "link",
        ),
        button(
          "Revoke",
          () =>
            askFirst("revoke", async () => {
              await ask("DELETE", `/keys/${key.id}`);
              await this.load();
              notify("The key was revoked.");
            }),
          "link",
        ),
      ]);
    start();
    return place;
  }
}

function checkList(checks) {
  return el(
    "ul.findings",
    {},
    checks.map((check) =>
      el(
        "li",
        {},
        el(`span.chip.${check.status}`, {}, check.status),
        el(
          "div",
          {},
          el("p", {}, userText(`${check.name}: ${check.detail}`)),
          check.remedy && el("p.quiet", {}, userText(check.remedy)),
        ),
      ),
    ),
  );
}

const ADMIN_ONLY = () => el("p.quiet", {}, "Only a key with the role admin sees this.");

function storage(status) {
  const { machine } = status;
  const megabytes = (bytes) => `${figure(Math.round(bytes / 1e5) / 10)} MB`;
  const facts = [
    ["Store", userText(status.database)],
    ["Version", status.version],
  ];
  if (machine) {
    const { total, vectors } = machine.storage;
    const { backup } = machine;
    facts.push(
      [
        "Size",
        vectors
          ? `${megabytes(total)}, about ${megabytes(vectors)} of it vectors`
          : megabytes(total),
      ],
      [
        "Last backup",
        backup
          ? [time(backup.made_at), backup.is_verified ? ", verified" : ", not verified"]
          : ["none known; make one: ", el("code", {}, "recollect backup DIR --verify")],
      ],
    );
  }
  return el(
    "dl.facts",
    {},
    facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}

const STRATA = {
  exact: "Exact words",
  paraphrase: "Other words",
  "multi-hop": "Several memories",
  overall: "All questions",
};
const METRIC = "R@10";

// Each configuration's share of answers among the first ten hits, with its 95% interval.
function benchmark(machine) {
  if (!machine) return ADMIN_ONLY();
  const run = el(
    "p.quiet",
    {},
    "Measure recall with questions about your own memories: ",
    el("code", {}, "recollect bench own"),
  );
  if (!machine.benchmark) return run;
  const { made_at: at, current, scores } = machine.benchmark;
  const shown = scores.filter((score) => score.metric === METRIC);
  const strata = [...new Set(shown.map((score) => score.stratum))];
  return [
    el(
      "p.quiet",
      {},
      "How often the answer is among the first ten hits, measured ",
      time(at),
      ". The line is the 95% interval; ",
      el("strong", {}, current),
      " are your settings.",
    ),
    el(
      "div.columns",
      {},
      strata.map((stratum) =>
        plot(
          stratum,
          shown.filter((score) => score.stratum === stratum),
          current,
        ),
      ),
    ),
    run,
  ];
}

function plot(stratum, scores, current) {
  const title = STRATA[stratum] ?? stratum;
  return el(
    "section.stack",
    { "aria-label": title },
    el("h3", {}, `${title} (${count(scores[0].queries, "question")})`),
    el(
      "ul.bars",
      {},
      scores.map((score) => {
        const [bar, interval] = [el("span"), el("i")];
        bar.style.width = percent(score.value);
        interval.style.left = percent(score.low);
        interval.style.width = percent(score.high - score.low);
        return el(
          "li",
          {},
          el(
            score.config === current ? "strong" : "span",
            { title: score.config },
            userText(score.config),
          ),
          el(
            "span.track.measured",
            { title: `${percent(score.low)} to ${percent(score.high)}` },
            bar,
            interval,
          ),
          el("span.figure", {}, percent(score.value)),
        );
      }),
    ),
  );
}

function models(status) {
  if (!status.spaces.length)
    return el(
      "p.quiet",
      {},
      "No model is in use: recall goes by words. Findings say how to change that.",
    );
  return [
    el(
      "ul.stack",
      {},
      status.spaces.map((space) => {
        const all = space.embedded + space.waiting + space.parked || 1;
        const bar = el("span");
        bar.style.width = `${(100 * space.embedded) / all}%`;
        return el(
          "li.stack",
          {},
          el(
            "div.row",
            {},
            el("strong", {}, space.embedder),
            el(`span.chip${space.state === "active" ? ".ok" : ""}`, {}, space.state),
          ),
          el(
            "span.track",
            {
              role: "progressbar",
              "aria-valuenow": space.embedded,
              "aria-valuemin": 0,
              "aria-valuemax": all,
              "aria-label": `${space.embedder}: embedded`,
            },
            bar,
          ),
          el(
            "p.quiet",
            {},
            `${figure(space.embedded)} embedded, ${figure(space.waiting)} waiting, ${figure(space.parked)} failed`,
          ),
          space.last_error && el("p.problem", {}, space.last_error),
        );
      }),
    ),
    el(
      "p.quiet",
      {},
      "To change the model: ",
      el("code", {}, "recollect reembed"),
      " fills a second set beside this one and then switches.",
    ),
  ];
}

function log(changes) {
  if (!changes.length) return el("p.quiet", {}, "No setting has been changed yet.");
  return el(
    "div.scroll",
    {},
    table(
      ["When", "Setting", "From", "To", "By"],
      changes.map((change) => [
        time(change.at),
        SETTINGS[change.name]?.[0] ?? change.name,
        change.old === null ? "default" : textOf(change.old),
        textOf(change.new),
        userText(change.by),
      ]),
    ),
  );
}

customElements.define("rc-admin", Admin);
