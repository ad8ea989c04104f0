"""Markdown as memories: plain notes, documents, CLAUDE.md files, the memory folders of Claude
Code, and the notes of basic-memory.

A memory must make sense alone. So each paragraph and each list item becomes one, prefixed with the
headings above it and the sentence that introduces its list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from recollect.core.imports.found import Found, Item, moment_of, pieces
from recollect.core.memory.memory import CATEGORIES

_HEADING: Final = re.compile(r"(#{1,6})\s(.*)$")
_BULLET: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
_RULE: Final = re.compile(r"\s{0,3}([-*_=])(\s*\1){2,}\s*$")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_FRONT: Final = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", re.DOTALL)
_FIELD: Final = re.compile(r"([A-Za-z_-]+):\s*(.*)$")
# An entry of MEMORY.md that links to a file next to it, which is imported itself.
_POINTER: Final = re.compile(r"\[[^\]]*\]\([^)]*\.md\)")
# A line in bold or italics is a heading, unless it is a sentence.
_EMPHASIS: Final = re.compile(r"(\*\*|__|\*|_)((?:(?!\1).)*[^\s.!?])\1")
# `@path` in a CLAUDE.md includes another file: a statement that only names it says nothing.
_INCLUDE: Final = re.compile(
    r"@\S+$|(?:[^@`]{0,60}:|(?i:see|siehe|read|refer to)(?:\s[^@`]{0,60})?)\s"
    r"@(?:[A-Z]+|\S*\.[a-zA-Z]{1,5})(?:\s+for\s[^`]*|\.)?$"
)
# Space for the number of the part of a document.
_PART: Final = 40
# The levels of headings in bold and in italics, below those of `######`.
_LEVELS: Final = {2: 7, 1: 8}
# The list items of basic-memory. A time in brackets, as in a transcript, is no category.
_OBSERVATION: Final = re.compile(r"\[(?![\d:., -]+\])([^\[\]()]{2,})\]\s+(.+)", re.DOTALL)
_RELATION: Final = re.compile(r"(\"[^\"]+\"|'[^']+'|[^\s\[]+)\s*\[\[([^\[\]]+)\]\](\s*\(.*\))?")
_LINK: Final = re.compile(r"\[\[([^\[\]]+)\]\]")
_TAG: Final = re.compile(r"(?<!\S)#([\w/-]+)")
# Tags after the text are only tags; elsewhere they are also words of it.
_TAGS_AT_END: Final = re.compile(r"(?:\s+#[^\s#]+)+(\s+\([^()]*\))?\s*$")
_SECTIONS: Final = ("Observations", "Relations")
# The names of kinds in the memories of Claude Code.
_CLAUDE_KINDS: Final = {"feedback": "preference", "user": "fact", "reference": "reference"}


@dataclass(frozen=True, slots=True)
class Note:
    """A Markdown text without its front matter, whose fields and tags are kept. The text begins
    after `lines_above` lines.
    """

    fields: Mapping[str, str]
    tags: tuple[str, ...]
    text: str
    lines_above: int

    @property
    def is_of_basic_memory(self) -> bool:
        return {"title", "type", "permalink"} <= self.fields.keys()


def parse_note(text: str) -> Note:
    whole = text.removeprefix("\ufeff").replace("\r\n", "\n")
    front = _FRONT.match(whole)
    if front is None:
        return Note({}, (), whole, 0)
    found = (_FIELD.match(line) for line in front[1].split("\n"))
    fields = {item[1]: item[2].strip("\"' ") for item in found if item is not None}
    return Note(fields, _tags(front[1]), whole[front.end() :], front[0].count("\n"))


@dataclass(frozen=True, slots=True)
class _Statement:
    line: int
    headings: tuple[str, ...]
    text: str

    def below(self, *headings: str) -> str:
        """Return the text, prefixed with the headings above it."""
        return f"{', '.join(headings)}: {self.text}" if headings else self.text


@dataclass(slots=True)
class _Splitter:
    """Splits lines into statements in one pass. `lead` is a sentence above a list that ends in a
    colon; `last` is a heading in bold or italics with nothing below it yet, which may be a
    statement after all.
    """

    headings: list[tuple[int, str]] = field(default_factory=list)
    block: list[str] = field(default_factory=list)
    first_line: int = 0
    lead: str = ""
    last: _Statement | None = None
    is_bullet: bool = False
    fence: str = ""

    def feed(self, number: int, line: str) -> Iterator[_Statement]:
        if self.fence or (mark := _FENCE.match(line)):
            if not self.fence:
                self.fence = str(mark and mark[1])
            elif line.strip().startswith(self.fence):
                self.fence = ""
            self._take(number, line)
            return
        if heading := _HEADING.match(line):
            yield from self.flush()
            yield from self._begin_section(len(heading[1]), _title(heading[2].strip()))
        elif not line.strip() or _RULE.match(line):
            yield from self._pause()
        elif not line[0].isspace() and (bullet := _BULLET.match(line)):
            yield from self.flush(before_list=True)
            self.is_bullet = True
            self._take(number, bullet[1])
        elif _INCLUDE.match(line) and self._is_at_end:
            yield from self.flush()
        elif self.is_bullet and not line[0].isspace() and self._is_after_pause:
            yield from self.flush()
            self.lead = ""
            self._take(number, line)
        else:
            self._take(number, line)

    @property
    def _is_after_pause(self) -> bool:
        return bool(self.block) and not self.block[-1]

    @property
    def _is_at_end(self) -> bool:
        """Whether what was said so far is complete without the next line."""
        return self.is_bullet or not self.block or self.block[-1].endswith((".", "!", "?"))

    def _take(self, number: int, line: str) -> None:
        if not self.block:
            self.first_line = number
        self.block.append(line.rstrip())

    def _begin_section(self, level: int, title: str) -> Iterator[_Statement]:
        self.lead = ""
        if any(above >= level for above, _ in self.headings):
            yield from self.take_last()
        self.last = None
        self.headings = [heading for heading in self.headings if heading[0] < level]
        self.headings.append((level, title))

    def take_last(self) -> Iterator[_Statement]:
        if self.last is not None:
            yield self.last
            self.last = None

    def _pause(self) -> Iterator[_Statement]:
        """End a paragraph at a blank line; a list item may continue after it."""
        if self.is_bullet:
            self.block.append("")
        elif self.block and not self.block[-1].endswith(":"):
            yield from self.flush()

    def flush(self, *, before_list: bool = False) -> Iterator[_Statement]:
        text = "\n".join(self.block).strip()
        self.block = []
        was_bullet, self.is_bullet = self.is_bullet, False
        if not was_bullet and (title := _EMPHASIS.fullmatch(text)):
            yield from self._begin_section(_LEVELS[len(title[1])], title[2].rstrip(":"))
            above = tuple(name for _, name in self.headings[:-1] if name)
            self.last = _Statement(self.first_line, above, text)
            return
        if before_list and not was_bullet and text.endswith(":"):
            self.lead = text
            return
        if not before_list and not was_bullet:
            self.lead = ""
        if text:
            self.last = None
        if text and not _INCLUDE.match(text):
            lead = f"{self.lead} " if was_bullet and self.lead else ""
            above = tuple(name for _, name in self.headings if name)
            yield _Statement(self.first_line, above, f"{lead}{text}")


def _title(text: str) -> str:
    """Return the text of a heading, which may be closed with more `#` after a space: `## Tests ##`,
    but `## C#`.
    """
    bare = text.rstrip("#")
    is_closed = not bare or bare[-1].isspace()
    return (bare if is_closed else text).strip("*_ ")


def _statements(note: Note) -> Iterator[_Statement]:
    text = note.text
    # There is no comment after the last end of one, so the rest is not searched.
    end = text.rfind("-->") + 3 if "-->" in text else 0
    visible = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text[:end]) + text[end:]
    splitter = _Splitter()
    for number, line in enumerate(visible.split("\n"), note.lines_above + 1):
        yield from splitter.feed(number, line.rstrip("\r").replace("\t", "    "))
    yield from splitter.flush()
    yield from splitter.take_last()


def markdown(
    text: str,
    max_chars: int,
    *,
    tags: tuple[str, ...] = (),
    category: str = "note",
    project: str | None = None,
) -> Iterator[Item]:
    for item in _find(parse_note(text), max_chars, category, tags):
        # The same statement about two projects is two memories.
        yield item if project is None else replace(item, project=project, key=project)


def document(text: str, max_chars: int, name: str) -> Iterator[Item]:
    """Yield a whole document as one memory, or as several if it is longer than a memory. Each
    begins with the title: the first heading, or else the name of the file.
    """
    note = parse_note(text.strip())
    body = note.text.strip()
    heading = _HEADING.match(body.partition("\n")[0])
    title = _title(heading[2].strip()) if heading else name
    if heading:
        body = body[heading.end() :].strip()
    parts = list(pieces(body, max_chars - len(title) - _PART))
    for number, part in enumerate(parts, 1):
        which = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        place = f"part {number}" if len(parts) > 1 else "file"
        yield Found(f"{title}{which}\n\n{part}", "reference", ("document", *note.tags), place=place)


def claude_rules(text: str, max_chars: int) -> Iterator[Item]:
    """Read a CLAUDE.md: what its author wants an agent to do."""
    yield from _find(parse_note(text), max_chars, "procedure", ("claude",))


def claude_memory(text: str, max_chars: int) -> Iterator[Item]:
    """Read a file of a memory folder. With front matter it is one memory; MEMORY.md lists
    others.
    """
    note = parse_note(text)
    if not note.fields:
        entries = _find(note, max_chars, "fact", ("claude",))
        yield from (entry for entry in entries if not _POINTER.search(entry.content))
        return
    body = note.text.strip()
    about = note.fields.get("description", "")
    content = body if not about or about in body else f"{about}\n\n{body}".strip()
    category = _CLAUDE_KINDS.get(note.fields.get("type", ""), "fact")
    name = note.fields.get("name")
    for piece in pieces(content, max_chars):
        yield Found(
            piece,
            category,
            ("claude", *note.tags),
            expanded_keywords=(name,) if name else (),
            place=f"line {note.lines_above + 1}",
        )


def basic_memory(text: str, max_chars: int, name: str) -> Iterator[Item]:
    """Read a note of basic-memory: what it says is about its title, or else its file's `name`.
    List items may be observations, `- [category] text #tag (context)`, or relations to other
    notes, `- relation_type [[Title]] (context)`.
    """
    note = parse_note(text)
    title = note.fields.get("title") or name
    for statement in _statements(note):
        content, category = statement.text, "note"
        labels: list[str] = []
        words = [title]
        if relation := _RELATION.fullmatch(content):
            kind, target, context = relation.groups(default="")
            verb = kind.strip("\"'").replace("_", " ")
            content, category = f"{title} {verb} {target}{context}.", "fact"
            words.append(target)
        else:
            if observation := _OBSERVATION.fullmatch(content):
                kind, content = observation.groups()
                is_ours = kind in CATEGORIES
                category = kind if is_ours else "fact"
                labels += [] if is_ours else [kind]
            labels += _TAG.findall(content)
            content = _LINK.sub(r"\1", _TAGS_AT_END.sub(r"\1", content))
            above = (part for part in statement.headings if part not in (title, *_SECTIONS))
            content = replace(statement, text=content).below(title, *above)
        for piece in pieces(content, max_chars):
            yield Found(
                piece,
                category,
                ("basic-memory", *note.tags, *labels),
                expanded_keywords=tuple(words),
                place=f"line {statement.line}",
                created_at=moment_of(note.fields.get("created")),
            )


def plain_lines(text: str, max_chars: int, tags: tuple[str, ...] = ()) -> Iterator[Item]:
    """Read a list of memories copied as text: one per line, with or without a bullet."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        tidy = line.strip()
        bullet = _BULLET.match(tidy)
        for piece in pieces(bullet[1] if bullet else tidy, max_chars):
            yield Found(piece, tags=tags, place=f"line {number}")


def _find(note: Note, max_chars: int, category: str, tags: tuple[str, ...]) -> Iterator[Found]:
    for statement in _statements(note):
        for piece in pieces(statement.below(*statement.headings), max_chars):
            yield Found(piece, category, (*tags, *note.tags), place=f"line {statement.line}")


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
