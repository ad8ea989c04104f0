// Home: how much is stored, how it grows, what is waiting, and what needs attention.
import { ask } from "../parts/api.js";
import { count, el, figure, fill, userText, time } from "../parts/dom.js";
import { attempt } from "../parts/notices.js";

const SHOWN = 8;
const RECENT = 5;
const WEEK = 7 * 24 * 3600 * 1000;

class Home extends HTMLElement {
  connectedCallback() {
    this.onChange = () => attempt(() => this.load());
    document.addEventListener("recollect:changed", this.onChange);
    fill(this, [el("h1.unseen", {}, "Home"), el("p.quiet", { role: "status" }, "Reading…")]);
    attempt(() => this.load());
  }

  disconnectedCallback() {
    document.removeEventListener("recollect:changed", this.onChange);
  }

  async load() {
    // A key that is limited to a project may not read the server's status.
    const [stats, growth, conflicts, status] = await Promise.all([
      ask("GET", "/stats"),
      ask("GET", "/stats/growth"),
      ask("GET", "/conflicts"),
      ask("GET", "/status").catch(() => null),
    ]);
    if (stats.memories + stats.forgotten === 0) return this.showEmpty();
    fill(this, [
      el("h1.unseen", {}, "Home"),
      el(
        "div.stack",
        {},
        el(
          "section.card.totals",
          { "aria-label": "Totals" },
          total(stats.memories, "memories", "#/memories"),
          total(Object.keys(stats.by_project).length, "projects"),
          total(stats.sensitive, "sensitive", "#/memories?sensitive=true"),
          total(stats.forgotten, "forgotten", "#/memories?state=forgotten"),
          total(waiting(stats.embedding) + waiting(stats.graph), "steps pending"),
        ),
        el(
          "div.wide-and-narrow",
          {},
          growthCard(growth.weeks),
          attentionCard(stats, conflicts.conflicts, status),
        ),
        el(
          "div.pairs-of-cards",
          {},
          barsCard("By category", stats.by_category, "category"),
          barsCard("By project", stats.by_project, "project"),
          pendingCard(stats, status?.machine?.sync),
          status?.machine && hooksCard(status.machine.hook_recalls),
        ),
      ),
    ]);
    return undefined;
  }

  showEmpty() {
    fill(this, [
      el(
        "div.card.empty",
        {},
        el("h1", {}, "Nothing is stored yet"),
        el(
          "p",
          {},
          "Connect an agent with ",
          el("code", {}, "recollect install"),
          ", or add the first memory yourself.",
        ),
        el("a", { href: "#/memories" }, "Add a memory"),
      ),
    ]);
  }
}

const waiting = (part) => part?.waiting ?? 0;

function total(value, title, href) {
  return el(
    "div.total",
    {},
    el("b", {}, figure(value)),
    href ? el("a", { href }, title) : el("span.quiet", {}, title),
  );
}

function growthCard(weeks) {
  const most = Math.max(1, ...weeks.map((week) => week.memories));
  const all = weeks.reduce((sum, week) => sum + week.memories, 0);
  const bars = weeks.map((week) => {
    const bar = el("span", {
      title: `Week of ${week.week}: ${count(week.memories, "memory", "memories")}`,
    });
    bar.style.height = `${(100 * week.memories) / most}%`;
    return bar;
  });
  const day = (text) =>
    new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).format(new Date(`${text}T12:00`));
  return el(
    "section.card",
    { "aria-labelledby": "growth" },
    el(
      "div.heading",
      {},
      el("h2#growth", {}, "Stored by week"),
      el("p.quiet", {}, `${figure(all)} in ${weeks.length} weeks, at most ${figure(most)} in one`),
    ),
    el(
      "div.weeks",
      {
        role: "img",
        "aria-label": `Memories stored in each of the last ${weeks.length} weeks; ${weeks.at(-1).memories} this week`,
      },
      bars,
    ),
    el(
      "div.axis.quiet",
      {},
      el("span", {}, day(weeks[0].week)),
      el("span", {}, day(weeks.at(-1).week)),
    ),
  );
}

function attentionCard(stats, conflicts, status) {
  const items = (status?.checks ?? []).filter((check) => check.status !== "ok");
  const found = items.map((check) =>
    el(
      "li",
      {},
      el(`span.chip.${check.status}`, {}, check.status),
      el("div", {}, el("p", {}, `${check.name}: ${check.detail}`), el("p.quiet", {}, check.remedy)),
    ),
  );
  const review = (text, href = "#/review") =>
    found.unshift(el("li", {}, el("span.chip.warn", {}, "review"), el("a", { href }, text)));
  if (stats.expiring)
    review(
      `${count(stats.expiring, "memory", "memories")} will expire within 7 days`,
      "#/memories?expires=7",
    );
  const proposals = stats.curation?.undecided ?? 0;
  if (proposals) review(count(proposals, "proposal to review", "proposals to review"));
  if (conflicts.length)
    review(count(conflicts.length, "sync conflict to resolve", "sync conflicts to resolve"));
  return el(
    "section.card.stack",
    { "aria-labelledby": "attention" },
    el("h2#attention", {}, "Needs attention"),
    found.length
      ? el("ul.findings", {}, found)
      : el("p.quiet", {}, "Nothing needs your attention."),
  );
}

function barsCard(title, counts, filter) {
  const entries = Object.entries(counts).sort(([, one], [, other]) => other - one);
  const most = entries[0]?.[1] ?? 1;
  return el(
    "section.card.stack",
    {},
    el("h2", {}, title),
    entries.length === 0
      ? el("p.quiet", {}, "None yet.")
      : el(
          "ul.bars",
          {},
          entries.slice(0, SHOWN).map(([name, many]) => {
            const bar = el("span");
            bar.style.width = `${(100 * many) / most}%`;
            return el(
              "li",
              {},
              el(
                "a.said",
                { href: `#/memories?${new URLSearchParams({ [filter]: name })}`, title: name },
                userText(name),
              ),
              el("span.track", {}, bar),
              el("span.figure", {}, figure(many)),
            );
          }),
        ),
    entries.length > SHOWN && el("p.quiet", {}, `and ${entries.length - SHOWN} more`),
  );
}

function pendingCard(stats, sync) {
  const row = (title, part, done) => [
    el("dt", {}, title),
    el(
      "dd",
      {},
      part === null
        ? "off"
        : `${figure(part[done])} done, ${figure(part.waiting)} waiting${part.parked ? `, ${figure(part.parked)} failed` : ""}`,
    ),
  ];
  return el(
    "section.card.stack",
    {},
    el("h2", {}, "Work in the background"),
    el(
      "dl.facts",
      {},
      row("Embedding", stats.embedding, "embedded"),
      row("Concept graph", stats.graph, "extracted"),
      stats.graph && [
        el("dt", {}, "Names"),
        el("dd", {}, `${figure(stats.graph.to_compare)} to compare`),
      ],
      sync && [
        el("dt", {}, "Sync"),
        el(
          "dd",
          {},
          `${count(sync.waiting, "change")} to send${sync.parked ? `, ${figure(sync.parked)} failed` : ""}`,
          sync.held > 0 && `, ${figure(sync.held)} sensitive kept here`,
        ),
        el("dt", {}, "Last sync"),
        el("dd", {}, sync.last_sync_at ? time(sync.last_sync_at) : "never"),
      ],
    ),
  );
}

function hooksCard(recalls) {
  const since = Date.now() - WEEK;
  const recent = recalls.filter((recall) => new Date(recall.at) >= since);
  const added = recent.reduce((sum, recall) => sum + recall.memories, 0);
  return el(
    "section.card.stack",
    { "aria-labelledby": "hooks" },
    el("h2#hooks", {}, "Recalled by hooks"),
    recalls.length === 0
      ? el(
          "p.quiet",
          {},
          "No hook on this machine has recalled yet. Connect an agent with ",
          el("code", {}, "recollect install"),
          ".",
        )
      : [
          el(
            "p.quiet",
            {},
            `${count(recent.length, "prompt")} in the last 7 days, ${count(added, "memory", "memories")} added`,
          ),
          el(
            "dl.facts",
            {},
            recalls
              .slice(0, RECENT)
              .map((recall) => [
                el("dt", {}, time(recall.at)),
                el(
                  "dd",
                  {},
                  recall.memories ? count(recall.memories, "memory", "memories") : "none",
                ),
              ]),
          ),
        ],
  );
}

customElements.define("rc-home", Home);
