// A table of any length: only rows in view exist, and they are read when they come into view.
import { el } from "./dom.js";

const HEIGHT = 44; // of a row, as in page.css
const PAGE = 100;
const AROUND = 8; // rows above and below the view

// `read(offset, limit)` answers { memories, total }; `draw(cells, memory)` fills one row.
export class Rows {
  constructor({ read, makeCells, draw, open, isChosen, toggle, onTotal }) {
    Object.assign(this, { read, makeCells, draw, open, isChosen, toggle, onTotal });
    this.pages = new Map();
    this.waiting = new Set();
    this.total = 0;
    this.edition = 0;
    this.active = 0;
    this.pool = [];
    this.space = el("div.space");
    this.body = el("div.grid-body", { role: "rowgroup", tabindex: -1 }, this.space);
    this.body.addEventListener("scroll", () => this.drawSoon(), { passive: true });
    this.body.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.drawSoon()).observe(this.body);
  }

  // Reloads the rows in view; the old ones stay until then.
  async refresh({ fromTop = false } = {}) {
    this.edition += 1;
    this.waiting.clear();
    const kept = fromTop ? 0 : Math.floor(this.body.scrollTop / HEIGHT / PAGE);
    const edition = this.edition;
    const page = await this.read(kept * PAGE, PAGE);
    if (edition !== this.edition) return;
    this.pages = new Map([[kept, page.memories]]);
    this.setTotal(page.total);
    if (fromTop) this.body.scrollTop = 0;
    this.active = Math.min(this.active, Math.max(0, this.total - 1));
    this.drawNow();
  }

  setTotal(total) {
    this.total = total;
    this.space.style.height = `${total * HEIGHT}px`;
    this.onTotal(total);
  }

  drawSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.drawNow();
    });
  }

  drawNow() {
    const top = this.body.scrollTop;
    const first = Math.max(0, Math.floor(top / HEIGHT) - AROUND);
    const last = Math.min(
      this.total - 1,
      Math.ceil((top + this.body.clientHeight) / HEIGHT) + AROUND,
    );
    const many = Math.max(0, last - first + 1);
    while (this.pool.length < many) this.pool.push(this.makeRow());
    const size = this.pool.length;
    const missing = new Set();
    const used = new Set();
    for (let index = first; index <= last; index++) {
      const row = this.pool[index % size];
      used.add(row);
      const memory = this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
      if (!memory) missing.add(Math.floor(index / PAGE));
      this.place(row, index, memory);
    }
    for (const row of this.pool) {
      if (!used.has(row)) row.node.hidden = true;
    }
    clearTimeout(this.reading);
    // During fast scrolling, pages that are only passed are not read.
    if (missing.size)
      this.reading = setTimeout(() => missing.forEach((page) => this.load(page)), 40);
  }

  async load(page) {
    if (this.waiting.has(page) || this.pages.has(page)) return;
    this.waiting.add(page);
    const edition = this.edition;
    try {
      const answer = await this.read(page * PAGE, PAGE);
      if (edition !== this.edition) return;
      this.pages.set(page, answer.memories);
      if (answer.total !== this.total) this.setTotal(answer.total);
      this.drawSoon();
    } finally {
      this.waiting.delete(page);
    }
  }

  makeRow() {
    const cells = this.makeCells();
    const node = el("div.grid-row", { role: "row", tabindex: -1 }, Object.values(cells));
    const row = { node, cells, index: -1, memory: null };
    node.addEventListener("click", (event) => {
      if (!row.memory) return;
      this.active = row.index;
      if (event.target.closest("a, button")) return;
      if (event.target.closest(".check-cell")) this.toggle(row.memory, row.index, event.shiftKey);
      else this.open(row.memory);
      this.drawNow();
    });
    this.body.append(node);
    return row;
  }

  place(row, index, memory) {
    const { node } = row;
    node.hidden = false;
    if (row.index !== index) {
      node.style.transform = `translateY(${index * HEIGHT}px)`;
      node.setAttribute("aria-rowindex", index + 2);
      row.index = index;
    }
    node.tabIndex = index === this.active ? 0 : -1;
    if (row.memory !== memory || row.edition !== this.edition) {
      row.memory = memory;
      row.edition = this.edition;
      this.draw(row.cells, memory);
    }
    const chosen = memory ? this.isChosen(memory) : false;
    if (row.chosen !== chosen) {
      row.chosen = chosen;
      node.setAttribute("aria-selected", chosen);
      row.cells.check.firstChild.checked = chosen;
    }
  }

  press(event) {
    const row = this.pool.find(({ node }) => node === event.target);
    if (!row) return;
    const step = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 12,
      PageUp: -12,
      Home: -Infinity,
      End: Infinity,
    }[event.key];
    if (step) {
      event.preventDefault();
      this.focus(Math.min(this.total - 1, Math.max(0, this.active + step)));
    } else if (event.key === "Enter" && row.memory) this.open(row.memory);
    else if (event.key === " " && row.memory) {
      event.preventDefault();
      this.toggle(row.memory, row.index, event.shiftKey);
      this.drawNow();
    }
  }

  focus(index) {
    this.active = index;
    const top = index * HEIGHT;
    if (top < this.body.scrollTop) this.body.scrollTop = top;
    if (top + HEIGHT > this.body.scrollTop + this.body.clientHeight)
      this.body.scrollTop = top + HEIGHT - this.body.clientHeight;
    this.drawNow();
    this.pool
      .find((row) => row.index === index && !row.node.hidden)
      ?.node.focus({ preventScroll: true });
  }

  // Returns the rows between two, as far as they were read.
  between(one, other) {
    const found = [];
    for (let index = Math.min(one, other); index <= Math.max(one, other); index++) {
      const memory = this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
      if (memory) found.push(memory);
    }
    return found;
  }
}
