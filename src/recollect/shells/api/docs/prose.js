// Renders the Markdown of descriptions: paragraphs, lists, code, emphasis, and links in the page.
import { element } from "./element.js";

const MARKS = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([#/][^)\s]*)\)/g;

export function inline(text) {
  const made = [];
  let end = 0;
  for (const found of text.matchAll(MARKS)) {
    const [whole, code, strong, emphasis, label, href] = found;
    made.push(text.slice(end, found.index));
    if (code !== undefined) made.push(element("code", { text: code }));
    else if (strong !== undefined) made.push(element("strong", { text: strong }));
    else if (emphasis !== undefined) made.push(element("em", { text: emphasis }));
    else made.push(element("a", { href, text: label }));
    end = found.index + whole.length;
  }
  made.push(text.slice(end));
  return made.filter((part) => part !== "");
}

export function prose(text) {
  return text
    .split(/\n\s*\n/)
    .filter((block) => block.trim())
    .map((block) => {
      const lines = block
        .trim()
        .split("\n")
        .map((line) => line.trim());
      if (!lines.every((line) => /^[-*] /.test(line)))
        return element("p", {}, ...inline(lines.join(" ")));
      return element("ul", {}, ...lines.map((line) => element("li", {}, ...inline(line.slice(2)))));
    });
}
