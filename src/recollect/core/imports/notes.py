"""Markdown as memories: plain notes, documents, CLAUDE.md files and the memory folders of Claude
Code.

A memory must make sense alone. So each paragraph and each list item becomes one, prefixed with the
headings above it and the sentence that introduces its list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.core.imports.found import Found, Item, pieces

_HEADING: Final = re.compile(r"(#{1,6})\s(.*)$")
_BULLET: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
_RULE: Final = re.compile(r"\s{0,3}([-*_=])(\s*\1){2,}\s*$")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_FRONT: Final = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)
_FIELD: Final = re.compile(r"([A-Za-z_-]+):\s*(.*)$")
# An entry of MEMORY.md that links to a file next to it, which is imported itself.
_POINTER: Final = re.compile(r"\[[^\]]*\]\([^)]*\.md\)")
# `@path` in a CLAUDE.md includes another file.
_INCLUDE: Final = re.compile(r"@\S+$")
# Space for the number of the part of a document.
_PART: Final = 40
# The names of kinds in the memories of Claude Code.
_CLAUDE_KINDS: Final = {"feedback": "preference", "user": "fact", "reference": "reference"}


@dataclass(slots=True)
class _Splitter:
    """Splits lines into statements in one pass. `lead` is a sentence above a list that ends in a
    colon.
    """

    headings: list[tuple[int, str]] = field(default_factory=list)
    block: list[str] = field(default_factory=list)
    first_line: int = 0
    lead: str = ""
    is_bullet: bool = False
    fence: str = ""

    def feed(self, number: int, line: str) -> Iterator[tuple[int, str]]:
        if self.fence or (mark := _FENCE.match(line)):
            if not self.fence:
                self.fence = str(mark and mark[1])
            elif line.strip().startswith(self.fence):
                self.fence = ""
            self._take(number, line)
            return
        if heading := _HEADING.match(line):
            yield from self.flush()
            self.lead = ""
            level = len(heading[1])
            self.headings = [heading for heading in self.headings if heading[0] < level]
            self.headings.append((level, _title(heading[2].strip())))
        elif not line.strip() or _RULE.match(line):
            yield from self._pause()
        elif not line[0].isspace() and (bullet := _BULLET.match(line)):
            yield from self.flush(before_list=True)
            self.is_bullet = True
            self._take(number, bullet[1])
        elif self.is_bullet and not line[0].isspace() and self._is_after_pause:
            yield from self.flush()
            self.lead = ""
            self._take(number, line)
        else:
            self._take(number, line)

    @property
    def _is_after_pause(self) -> bool:
        return bool(self.block) and not self.block[-1]

    def _take(self, number: int, line: str) -> None:
        if not self.block:
            self.first_line = number
        self.block.append(line.rstrip())

    def _pause(self) -> Iterator[tuple[int, str]]:
        """End a paragraph at a blank line; a list item may continue after it."""
        if self.is_bullet:
            self.block.append("")
        elif self.block and not self.block[-1].endswith(":"):
            yield from self.flush()

    def flush(self, *, before_list: bool = False) -> Iterator[tuple[int, str]]:
        text = "\n".join(self.block).strip()
        self.block = []
        was_bullet, self.is_bullet = self.is_bullet, False
        if before_list and not was_bullet and text.endswith(":"):
            self.lead = text
            return
        if not before_list and not was_bullet:
            self.lead = ""
        if text and not _INCLUDE.match(text):
            lead = f"{self.lead} " if was_bullet and self.lead else ""
            above = ", ".join(name for _, name in self.headings if name)
            yield self.first_line, f"{above}: {lead}{text}" if above else f"{lead}{text}"


def _title(text: str) -> str:
    """Return the text of a heading, which may be closed with more `#` after a space: `## Tests ##`,
    but `## C#`.
    """
    bare = text.rstrip("#")
    is_closed = not bare or bare[-1].isspace()
    return (bare if is_closed else text).strip("*_ ")


def facts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the statements of a Markdown text, each with its first line number."""
    # There is no comment after the last end of one, so the rest is not searched.
    end = text.rfind("-->") + 3 if "-->" in text else 0
    visible = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text[:end]) + text[end:]
    splitter = _Splitter()
    for number, line in enumerate(visible.split("\n"), 1):
        yield from splitter.feed(number, line.rstrip("\r").replace("\t", "    "))
    yield from splitter.flush()


def markdown(
    text: str,
    max_chars: int,
    *,
    tags: tuple[str, ...] = (),
    category: str = "note",
    project: str | None = None,
) -> Iterator[Item]:
    for item in _find_statements(text.removeprefix("\ufeff"), max_chars, category, tags):
        # The same statement about two projects is two memories.
        yield item if project is None else replace(item, project=project, key=project)


def document(text: str, max_chars: int, name: str) -> Iterator[Item]:
    """Yield a whole document as one memory, or as several if it is longer than a memory. Each
    begins with the title: the first heading, or else the name of the file.
    """
    whole = text.removeprefix("\ufeff").replace("\r\n", "\n").strip()
    front = _FRONT.match(whole)
    tags = _tags(front[1]) if front else ()
    body = (whole[front.end() :] if front else whole).strip()
    heading = _HEADING.match(body.partition("\n")[0])
    title = _title(heading[2].strip()) if heading else name
    if heading:
        body = body[heading.end() :].strip()
    parts = list(pieces(body, max_chars - len(title) - _PART))
    for number, part in enumerate(parts, 1):
        which = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        place = f"part {number}" if len(parts) > 1 else "file"
        yield Found(f"{title}{which}\n\n{part}", "reference", ("document", *tags), place=place)


def claude_rules(text: str, max_chars: int) -> Iterator[Item]:
    """Read a CLAUDE.md: what its author wants an agent to do."""
    yield from _find_statements(text.removeprefix("\ufeff"), max_chars, "procedure", ("claude",))


def claude_memory(text: str, max_chars: int) -> Iterator[Item]:
    """Read a file of a memory folder. With front matter it is one memory; MEMORY.md lists
    others.
    """
    whole = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front = _FRONT.match(whole)
    if front is None:
        entries = _find_statements(whole, max_chars, "fact", ("claude",))
        yield from (entry for entry in entries if not _POINTER.search(_content(entry)))
        return
    found = (_FIELD.match(line) for line in front[1].split("\n"))
    fields: dict[str, str] = {item[1]: item[2] for item in found if item is not None}
    body = whole[front.end() :].strip()
    about = fields.get("description", "").strip("\"' ")
    content = body if not about or about in body else f"{about}\n\n{body}".strip()
    line = front[0].count("\n") + 1
    category = _CLAUDE_KINDS.get(fields.get("type", "").strip(), "fact")
    for piece in pieces(content, max_chars):
        name = fields.get("name", "").strip("\"' ")
        words = (name,) if name else ()
        tags = ("claude", *_tags(front[1]))
        yield Found(piece, category, tags, expanded_keywords=words, place=f"line {line}")


def plain_lines(text: str, max_chars: int, tags: tuple[str, ...] = ()) -> Iterator[Item]:
    """Read a list of memories copied as text: one per line, with or without a bullet."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        tidy = line.strip()
        bullet = _BULLET.match(tidy)
        for piece in pieces(bullet[1] if bullet else tidy, max_chars):
            yield Found(piece, tags=tags, place=f"line {number}")


def _content(item: Item) -> str:
    return item.content if isinstance(item, Found) else ""


def _find_statements(
    text: str, max_chars: int, category: str, tags: tuple[str, ...]
) -> Iterator[Found]:
    whole = text.replace("\r\n", "\n")
    front = _FRONT.match(whole)
    skipped = front[0].count("\n") if front else 0
    tags += _tags(front[1]) if front else ()
    for number, statement in facts(whole[front.end() :] if front else whole):
        for piece in pieces(statement, max_chars):
            yield Found(piece, category, tags, place=f"line {number + skipped}")


def _tags(front: str) -> tuple[str, ...]:
    """Return the tags in front matter: `tags: a, b`, `tags: [a, b]`, or one per line below."""
    found: list[str] = []
    lines = iter(front.split("\n"))
    for line in lines:
        if (named := _FIELD.match(line)) is None or named[1].lower() != "tags":
            continue
        found += named[2].strip("[] ").split(",")
        for below in lines:
            if (entry := _BULLET.match(below.strip())) is None:
                break
            found.append(entry[1])
        break
    return tuple(tidy for item in found if (tidy := item.strip().strip("\"'").lstrip("#")))
