"""Words that say that something has changed, in the languages that capture knows."""

from __future__ import annotations

import re
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


def find_change(text: str) -> str | None:
    """Return the words that say that this replaces something."""
    found = _CHANGE.search(text)
    return None if found is None else found[0]


def find_present(text: str) -> str | None:
    """Return the words that say that this is the present state."""
    found = _PRESENT.search(text)
    return None if found is None else found[0]


def count_negations(text: str) -> int:
    return len(_NEGATION.findall(text))
