"""A message without what was pasted into it: the words of others, and of machines.

Pasted text is recognised only by its form: a fence, tags, the head of a mail, indentation, lines as
programs write them. A mail has no visible end, so everything after it is left out: a person can
repeat what was missed. Every rule reads the text a fixed number of times, since it may be as long
as a book.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

_FENCED: Final = re.compile(
    r"(?:(?P<ticks>`{3,})|^[^\S\n]*(?P<marks>~{3,}|\"{3,}|'{3,}))"
    r".*?(?:(?P=ticks)|(?P=marks)|\Z)"
    r"|<!--.*?(?:-->|\Z)",
    re.DOTALL | re.MULTILINE,
)
_TAG: Final = re.compile(
    r"\n|(?P<starts_line>^[^\S\n]*)?<(?P<slash>/?)(?P<name>[a-z][\w.:-]*+)[^<>\n]*+>"
    r"(?P<ends_line>[^\S\n]*$)?",
    re.IGNORECASE | re.MULTILINE,
)

# Tags in which people paste; others are only mentioned, if they are never closed.
_DOCUMENTS: Final = ("article", "attachment", "context", "doc", "document", "email", "file", "mail")
_MANY_WORDS: Final = re.compile(r"\s{0,9}\S{1,80}(?:\s{1,9}\S{1,80}){3}")


def _header(names: str) -> str:
    return rf"[^\S\n]{{0,12}}[*_]{{0,2}}(?:{names})[*_]{{0,2}}[^\S\n]?[:\uff1a]"


_PARTY: Final = (
    _header(
        "from|to|b?cc|reply-to|von|an|de|à|a|para|da|mittente|destinatario|от(?: кого)?|кому|"
        "差出人|送信者|宛先|发件人|收件人"
    )
    # An address or a name follows, and not the number of a setting.
    + r"(?=.{0,99}@|[^\S\n]*[^\W\d_])"
)
_TOPIC: Final = _header(
    "subject|date|sent|betreff|datum|gesendet|objet|envoyé|asunto|fecha|enviad[oa](?: em)?|"
    "oggetto|data|inviato|assunto|тема|дата|отправлено|件名|日時|送信日時|日付|主题|日期"
)
_ANY: Final = _header(r"[\w-]{1,30}")
# Other headers and empty lines may be in between.
_MORE: Final = rf".*\n(?:[^\S\n]*\n|{_ANY}.*\n){{0,8}}?"
# A sender and a recipient are not enough: people also write "From: Postgres 14", "To: Postgres 16".
_HEAD: Final = rf"{_PARTY}{_MORE}{_TOPIC}|{_TOPIC}{_MORE}(?:{_PARTY}|{_TOPIC})"
_ADDRESS: Final = r"<[^\s<>@]{1,80}@[^\s<>@]{1,80}>"
_FORWARDED: Final = (
    r"-{3,}+[^-\n]{0,40}\b(?:message|nachricht|mensaje)\b[^-\n]{0,40}-{3,}"
    r"|begin forwarded message:"
    # Where ">" marks what is quoted, the rest is the user's.
    r"|(?:(?:on|am|le|el|il|em) .{1,200}(?:(?<=>)\n)?\b(?:wrote|schrieb|a écrit|escribió|escreveu|"
    rf"ha scritto)\b.{{0,100}}|(?=.{{0,99}}\d)[^<\n]{{1,200}}{_ADDRESS}):$(?!\n+>)"
    rf"|[^<\n]{{1,80}}{_ADDRESS}.*\n\s{{0,9}}(?:to|an|à|para|a|кому:?) (?:me|mich|moi|mí|mim|мне)\b"
)
_MAIL: Final = rf"(?i:{_HEAD}|{_FORWARDED}).*(?:\n(?!-{{3,}}+[^\S\n]*$).*)*+"

_DAY: Final = r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|[A-Z][a-z]{2} {1,2}\d{1,2}(?:, \d{4})?)"
_CLOCK: Final = r"\d{1,2}:\d{2}"
_LOGGED: Final = (
    rf"(?:[\[(]?{_DAY}[T, ]{{1,2}}{_CLOCK}|[\[(]{_CLOCK}(?::\d{{2}})?(?: [AP]M)?[\])]"
    r"|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL)(?:\]|:|  )"
    r"|\S{1,200}\.\w{1,9}:\d{1,9}(?::\d{1,9})?:? "
    r"|(?:Caused by: )?(?:[\w.$]{0,200}(?:Error|Exception)|error|fatal|panic)(?:\[\w{1,20}\])?: "
    r"|[*_]{0,2}(?:User|Human|Assistant)[*_]{0,2}:"
    r"|[\[{]?[^\S\n]*\"[^\"\n]{1,80}\" ?:)"
)
# A message in a log may go on for some lines.
_LOG: Final = rf"{_LOGGED}.*(?:(?:\n.++){{0,3}}?\n{_LOGGED}.*)*+"
_TERMINAL: Final = r"(?:\S{1,30}@\S{1,60})?\$ (?!\d).*(?:\n.+)*+"
_HUNK: Final = r"@@ -\d.*(?:\n[-+ \\].*)*+"
_BRACKETS: Final = r"(?=\S).*[\[{][^\S\n]*$(?:\n(?:[^\S\n].*|$))*+\n[\]}].*"
_QUOTED: Final = r"[^\S\n]*>.*"
_NAME: Final = r"[^\W\d_][\w.-]{0,30}"
# A message as chat programs copy it: who and when, with more than a blank between, then the text.
_APART: Final = r"(?:[^\S\n]{2,9}|[^\S\n][—–][^\S\n]|[^\S\n]{0,3}\n[^\S\n]{1,9})"
_MESSAGE: Final = (
    rf"{_NAME}(?: {_NAME}){{0,2}}{_APART}(?:{_DAY},? |\w{{2,12}} (?:at|um) )?{_CLOCK}"
    r"(?: ?[AaPp][Mm])?[^\S\n]*$(?:\n.+)*+"
)
_FORMS: Final = re.compile(
    rf"^(?:{_MAIL}|{_LOG}|{_TERMINAL}|{_HUNK}|{_BRACKETS}|{_QUOTED}|{_MESSAGE})", re.MULTILINE
)

_SPEAKER: Final = re.compile(rf"[*_]{{0,2}}(?P<name>{_NAME}(?: {_NAME})?)[*_]{{0,2}}:[*_]{{0,2}}\s")
_SEPARATOR: Final = re.compile(r"[\t|]|[,;](?=\S)")
_MIN_ROWS: Final = 3

_ITEM: Final = re.compile(r"(?:[-*+•]|\d{1,4}[.)])\s+")
_TAB: Final = 4
_MIN_INDENT: Final = 4


def remove_pasted(text: str) -> str:
    """Return what a person wrote into a message themselves."""
    prose = _FENCED.sub("\n", "\n".join(text.splitlines()))
    lines = _FORMS.sub("", _cut_elements(prose)).split("\n")
    for find in (_find_tables, _find_chats, _find_indented):
        for at in list(find(lines)):
            lines[at] = ""
    return "\n".join(lines)


def _cut_elements(text: str) -> str:
    """Remove the elements of several lines or many words. A tag in the middle of a line is only
    mentioned.
    """
    opened: defaultdict[str, list[tuple[re.Match[str], int]]] = defaultdict(list)
    spans: list[tuple[int, int]] = []
    line = 0
    for tag in _TAG.finditer(text):
        if tag["name"] is None:
            line += 1
            continue
        starts = opened[tag["name"].casefold()]
        if not tag["slash"]:
            starts.append((tag, line))
            continue
        while starts:
            opener, first_line = starts.pop()
            is_mentioned = opener["starts_line"] is None and opener["ends_line"] is None
            if _encloses(opener, tag) if first_line == line else not is_mentioned:
                spans.append((opener.start(), tag.end()))
            if first_line == line or not is_mentioned:
                break
    for name in _DOCUMENTS:
        spans += [(tag.start(), len(text)) for tag, _ in opened[name] if _opens_a_text(tag)]
    kept: list[str] = []
    reached = 0
    for start, end in sorted(spans):
        kept.append(text[reached:start])
        reached = max(reached, end)
    return "\n".join((*kept, text[reached:]))


def _encloses(start: re.Match[str], end: re.Match[str]) -> bool:
    """Whether two tags of one line have more than a few words between them, and are not just words
    of a sentence: "Use <ul> for lists, and close them with </ul>".
    """
    text = start.string
    is_whole_line = start["starts_line"] is not None and end["ends_line"] is not None
    is_tight = not re.search(r"[\s`]", text[start.end()] + text[end.start() - 1])
    is_long = _MANY_WORDS.match(text, start.end(), end.start()) is not None
    return is_long and (is_whole_line or is_tight)


def _opens_a_text(tag: re.Match[str]) -> bool:
    """Whether a tag that is never closed starts a line, and the text begins right after it."""
    starts = tag["starts_line"] is not None and not tag[0].rstrip().endswith("/>")
    return starts and (tag["ends_line"] is not None or not tag.string[tag.end()].isspace())


def _find_tables(lines: Sequence[str]) -> Iterator[int]:
    """Find rows with the same number of separators."""
    for count, run in groupby(range(len(lines)), lambda at: _count_separators(lines[at].strip())):
        rows = list(run)
        if count and len(rows) >= _MIN_ROWS:
            yield from rows


def _count_separators(row: str) -> int:
    return 0 if _ITEM.match(row) else len(_SEPARATOR.findall(row))


def _find_chats(lines: Sequence[str]) -> Iterator[int]:
    """Find lines of "name: text" in which someone speaks again. Lists of rules look alike, but
    their names do not recur.
    """
    turns = [(at, _SPEAKER.match(line)) for at, line in enumerate(lines) if line.strip()]
    for _, run in groupby(turns, lambda turn: turn[1] is None):
        names = {at: found["name"].casefold() for at, found in run if found}
        if 1 < len(set(names.values())) < len(names):
            yield from names


def _find_indented(lines: Sequence[str]) -> Iterator[int]:
    """Find lines that are indented like code and belong to no list."""
    in_list = False
    for at, line in enumerate(lines):
        text = line.lstrip()
        if not text:
            continue
        indent = len(line.expandtabs(_TAB)) - len(text.expandtabs(_TAB))
        if indent < _MIN_INDENT:
            in_list = _ITEM.match(text) is not None or (in_list and indent > 0)
        elif not in_list:
            yield at
