// A line that says that the view may be out of date. Its space is reserved, so that nothing moves.
import { button, el, fill } from "./dom.js";

export function staleLine(text, title, refresh) {
  const line = el("p.quiet.one-line", { role: "status" });
  return {
    line,
    mark() {
      if (!line.hasChildNodes()) fill(line, [`${text} `, button(title, refresh, "link")]);
    },
    clear() {
      fill(line, []);
    },
  };
}
