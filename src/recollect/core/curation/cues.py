"""Words that say that something has changed, in the languages that capture knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# The statement itself says that it replaces an earlier one.
_CHANGE: Final = re.compile(
    r"\b(?:no longer|not .{0,30}any ?more|any ?more|moved (?:to|from|all|back|over)|has moved"
    r"|was moved|renamed"
    r"|switched (?:to|from|over|off)|switched|replaced|replaces|migrated|upgraded|downgraded"
    r"|changed"
    r"|took over|taken over|is gone|are gone|was cancelled|cancelled|was sold|stopped|quit"
    r"|instead of the|brought forward|postponed|rescheduled|raised to|raised|raises|lowered"
    r"|reduced to"
    r"|increased to|from now on|as of|left for|correct myself|went up|went down"
    r"|(?:was|were|been|got) (?:extended|shortened|rewritten|converted|transferred|delayed"
    r"|pushed back|cut)|slipped to|pushed to|cut to|relocated"
    r"|from version|since (?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december|version|release|20\d\d)|now runs|is now|are now|now (?:runs|uses"
    r"|arrive|draws"
    r"|lives?|is|has|at)|after the (?:comment|review|change|move))\b"
    r"|\b(?:nicht mehr|umgezogen|umbenannt|gewechselt|ersetzt|seit (?:januar|februar|märz|april"
    r"|mai|juni"
    r"|juli|august|september|oktober|november|dezember|20\d\d)|ab (?:januar|februar|märz|april"
    r"|mai|juni"
    r"|juli|august|september|oktober|november|dezember|sofort|jetzt|20\d\d)|von nun an|neuer|neue"
    r"|neues|jetzt|inzwischen|verschoben|in rente)\b"
    r"|\b(?:ne .{0,20} plus|désormais|dorénavant|déménagé|renommé|remplacé|depuis (?:janvier"
    r"|février"
    r"|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|20\d\d)|à partir d[eu]"
    r"|maintenant|est passé|sont passés)\b"
    r"|\b(?:ya no|ahora|desde (?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre"
    r"|octubre"
    r"|noviembre|diciembre|20\d\d)|a partir de|se pasa|se mudó|renombrad[oa]|cambi[óa]|reemplaz\w+"
    r"|sustituy\w+|en adelante)\b"
    r"|(?:больше не|теперь|переехал\w*|переименован\w*|замен[её]н\w*|перенес\w+|с (?:января|февраля"
    r"|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря|20\d\d)|отныне|впредь)"
    r"|(?:改到|改为|改成|搬到|换成|不再|起，|从.{1,12}起|现在|已经?换|更名|改名|升级)"
    r"|(?:変更|移行|値上げ|値下げ|もう.{0,20}ない|改名|引っ越|から.{0,20}(?:に|へ)(?:なっ|変)|今は|現在は"
    r"|年\d{1,2}月(?:\d{1,2}日)?から|切り替え)",
    re.IGNORECASE,
)
# It states the present or a progress: weaker.
_PRESENT: Final = re.compile(
    r"\b(?:now|currently|so far|already|recently|just|these days|lately|most recent|at the moment"
    r"|right now|to date|actually|new|still|for the past|this time)\b"
    r"|\b(?:derzeit|zurzeit|aktuell|bisher|schon|actuellement|déjà|actualmente|ya|hasta ahora"
    r"|сейчас|уже|пока)\b|(?:目前|已经|刚刚|至今|今|既に|すでに|最近)",
    re.IGNORECASE,
)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|none|cannot|without|nobody|nothing|\w+n['’]t|nicht|kein\w*|nie|niemals|ohne"
    r"|ne|pas|jamais|sans|aucun\w*|no|nunca|jamás|sin|ningún\w*|не|нет|никогда|без|нельзя)\b"
    r"|(?:不|没|無|别|勿|ない|ません|なし|禁止)",
    re.IGNORECASE,
)


# The whole statement is a new version of an earlier one; without these words, it is that version.
_NOTICE: Final = re.compile(
    r"\A(?:correction|update|edit|note|korrektur|nachtrag|correction|mise à jour|corrección"
    r"|actualización|исправление|更正|更新|訂正)\s*[:：]\s*"
    r"|\A(?:actually|sorry|no)\s*,\s*"
    r"|,?\s*\b(?:from (?:now|today|this \w+) on|as of (?:now|today)|effective (?:immediately|today)"
    r"|going forward|these days|nowadays|ab (?:sofort|jetzt|heute)|von (?:nun|jetzt) an|in zukunft"
    r"|künftig|heutzutage|désormais|dorénavant|à partir de maintenant|de ahora en adelante"
    r"|en adelante|a partir de ahora|отныне|впредь)\b,?\s*"
    r"|(?:从现在起|从今天起|今後は?)[，、]?",
    re.IGNORECASE,
)
# What a statement says is over follows these words, up to the next part of the sentence...
_OVER_BEHIND: Final = re.compile(
    r"\b(?:instead of|rather than|no longer|stopped|quit|dropped|ditched|abandoned|sold|gave up"
    r"|given up|got rid of|replac(?:ed?|es|ing)|swapp(?:ed|ing)|traded|away from"
    r"|(?:moved|switched|migrated|changed|renamed|went|raised|lowered|upgraded|left)\b"
    r"[^.,;]{0,30}?\bfrom"
    r"|(?:moved|switched|migrated|changed|renamed|went|raised|lowered|upgraded) off"
    r"|an?statt|anstelle von|nicht mehr|verkauft|umbenannt von|gewechselt von"
    r"|von(?=[^.;!?\n]{0,80}\b(?:gewechselt|umgestiegen|umgestellt|umgezogen)\b)"
    r"|au lieu d[eu']|à la place d[eu']|en lugar del?"
    r"|en vez del?|ya no)\s+(?P<what>[^.,;:!?()\n]+)",
    re.IGNORECASE,
)
_NEXT_PART: Final = re.compile(
    r"\b(?:to|and|for|because|since|but|with|by|nach|auf|zu|und|für|weil|sondern|et|pour|mais|y"
    r"|para|por|sino)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_PART_END: Final = re.compile(r"[.,;:!?()\n]")
# ... or precedes these.
_OVER_BEFORE: Final = re.compile(
    r"\s(?:is|are|was|were|has been|have been|got|wurden?|ist|sind)\s+"
    r"(?:now\s+)?(?:gone|renamed|retired|cancelled|discontinued|shut down|removed|replaced|sold"
    r"|called off|abolished|umbenannt|abgeschafft|ersetzt|abgeschaltet|verkauft)\b",
    re.IGNORECASE,
)
# Someone or something has a new one of a kind.
_RENEWED: Final = re.compile(
    r"\b(?:have|has|got|'ve got|habe|hat|haben|ai|as|a|avons|tengo|tiene|tenemos)\s+"
    r"(?:a|an|eine[nm]?|un|une|una)\s+(?:new|neue[nrs]?|nouve(?:au|l|lle)|nuev[oa])\s+"
    r"(?P<what>[^\W\d_][\w-]*)",
    re.IGNORECASE,
)
# Someone changes a thing: "I moved the demo to June". In German, it stands before the words of
# change. Bounded: the time for a sentence would otherwise grow with the cube of its length.
_DONE: Final = re.compile(
    r"\b(?:changed|moved|renamed|switched|bumped|raised|lowered|increased|reduced|cut|pushed|shifted"
    r"|postponed|delayed|extended|upgraded|downgraded|migrated|transferred|handed|took over"
    r"|set(?=[^.;!?\n]{0,80}\bto\s+\d))\s+(?P<what>[^.,;:!?()\n]{1,60}?)\s+(?:over\s+|back\s+)?"
    r"(?:to|from|until|till|into)\b",
    re.IGNORECASE,
)
_DONE_BEFORE: Final = re.compile(
    r"(?:\b(?:habe?|haben|hat)\s+|\A)(?:(?:de[rnms]|die|das|unser\w*|mein\w*)\s+)?"
    r"(?P<what>[^.,;:!?()\n]{1,60}?)\s+(?:w[iu]rden?\s+)?(?:auf|in|nach|zu[mr]?|an|von|bis)\b"
    r"[^.;!?\n]{0,80}\b(?:geändert|verschoben|verlegt|umgestellt|umbenannt|erhöht|gesenkt|verlängert"
    r"|übergeben)\b",
    re.IGNORECASE,
)
# It turns into something else: alone, this is no sign of an earlier statement.
_TURNED: Final = re.compile(r"\b(?:became|has become|have become|turned into)\b", re.IGNORECASE)


def find_change(text: str) -> str | None:
    """Return the words that say that this replaces something."""
    found = _CHANGE.search(text) or _NOTICE.search(text)
    return None if found is None else found[0].strip(" ,:")


def strip_notice(text: str) -> str:
    """Return the statement without words that announce it as a new version."""
    return _NOTICE.sub(" ", text).strip()


def find_ended(text: str) -> Iterator[tuple[str, str]]:
    """Find the parts of a statement that say that something is over, and what that is."""
    for match in _OVER_BEHIND.finditer(text):
        what = _NEXT_PART.sub("", match["what"])
        yield text[match.start() : match.start("what") + len(what)].strip(), what
    for match in _OVER_BEFORE.finditer(text):
        what = _PART_END.split(text[: match.start()])[-1]
        yield what.strip() + match[0], what


def find_changing(text: str) -> tuple[str, str] | None:
    """Return the words of change and what changes: what someone changes, what is after "a new", or
    what is before them.
    """
    if done := _DONE.search(text) or _DONE_BEFORE.search(text):
        return done[0], done["what"]
    if renewed := _RENEWED.search(text):
        return renewed[0], renewed["what"]
    if notice := _NOTICE.search(text):
        return notice[0].strip(" ,:"), ""
    found = _CHANGE.search(text) or _TURNED.search(text)
    return None if found is None else (found[0], text[: found.start()])


def find_present(text: str) -> str | None:
    """Return the words that say that this is the present state."""
    found = _PRESENT.search(text)
    return None if found is None else found[0]


def count_negations(text: str) -> int:
    return len(_NEGATION.findall(text))
