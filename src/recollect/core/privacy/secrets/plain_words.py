"""Passwords made of several plain words: `tulips-and-rain`, "blue cat 7".

Most of what follows "the password is" is a statement about the password, so only words that occur
in no such statement count.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from recollect.core.privacy.secrets.tokens import Rule, one_of, words
from recollect.core.privacy.secrets.values import is_placeholder, set_password_confidence
from recollect.resources import read_lists

# In German, French, Spanish, Portuguese, Italian, Dutch and Russian.
_LOCAL: Final = (
    r"kennwort|m(?:ot de passe|dp)|contrase(?:\xf1|n)a|senha|wachtwoord|парол(?:ь|я|ю|ем)"
)
LOCAL_PASSWORD: Final = rf"(?:passwort|parola d'ordine|{_LOCAL})"
PASSWORD: Final = rf"(?:pass(?:w(?:or)?d|wort|phrase|code)|{_LOCAL})"
_ABOUT: Final = (
    r"[ \t](?:for|of|to|on|at|f\xfcrs?|vom|von|zum|zur|des|de|du|del|della|do|da|pour|para|per|"
    r"от|для|к)[ \t]"
)
_OF: Final = rf"(?:{_ABOUT}[^\n.:=\"`]{{1,40}}?)"
_IS: Final = (
    r"(?:[ \t](?:is|was|ist|war|lautet|est|c['\u2019]est|es|era|\xe8|\xe9|это)"
    r"(?:[ \t](?:now|jetzt|ahora|agora|ora|maintenant))?|[ \t][–—-])"
)
_IS_SAID: Final = r"(?:[ \t](?:is|was|lautet)(?:[ \t]now)?)"
# What people own and lock, for passwords and for codes.
DEVICES: Final = (
    "phone iphone ipad tablet laptop notebook computer screen device watch handy bildschirm "
    "t\xe9l\xe9phone portable ordinateur m\xf3vil tel\xe9fono ordenador port\xe1til celular "
    "telem\xf3vel telefone computador telefono cellulare portatile"
)
_HAS_PASSWORD: Final = (
    r"(?:w(?:i-?fi|-?lan)(?!\w)|"
    r"(?:вайфа|ноутбук|компьютер|роутер|сервер|телефон|сет|почт)[а-яё]{0,3}(?!\w)|"
    + one_of(
        f"{DEVICES} pc mac macbook desktop tv router modem nas printer server box hotspot network "
        "rechner drucker netz red impresora servidor correo roteador rede impressora stampante "
        "rete imprimante serveur r\xe9seau"
    )
    + r"(?!\w))"
)
_OF_DEVICE: Final = rf"{_ABOUT}(?:[^\W\d_]{{1,12}}(?:[ \t]|['\u2019])){{0,3}}?{_HAS_PASSWORD}"
_WIFI: Final = r"(?:wi-?fi|w-?lan|hotspot|guest network)"
# These words have other meanings, too: "la clave" is also the key to success.
_NETWORK_KEY: Final = rf"(?:clave|code|cl\xe9|key|schl\xfcssel)(?=[ \t][^\n.:=]{{0,16}}?{_WIFI})"
_WORD: Final = r"[^\W_]{1,16}"
_JOINED: Final = rf"{_WORD}(?:-{_WORD}){{1,6}}"
_SPACED: Final = rf"{_WORD}(?:[ ]{_WORD}){{1,5}}"
_CLAUSE_END: Final = r"(?![\w-])(?=[ \t]{0,2}(?:[.!,;)\n]|\Z))"

# The endings of words for what was done to a password, or for what it is like.
_INFLECTED: Final = re.compile(
    r"^\w*(?:[^\W\d]ed|ing|ly|\xe9e?|[ai]d[oa]|[aiu]t[oa])\b|"
    r"^(?:ab|be|ge|hinter|ver)\w+(?:t|en)\b|"
    r"^\w+(?:[ao]ri[ao]|ect[oa]|iv[oa]|os[oa]|est[oa]|[aei]nte|[aei]ble|bile|vel|tiel|tric|"
    r"[ыои]й|[ая]я|ое|ен|лен[ао]|тся|лся|[еиа]л[ао]?|ет|ит)$",
    re.IGNORECASE,
)
# What joined words say about a thing: `case-sensitive`, `read-only`, `base64-encoded`.
_DESCRIBING: Final = re.compile(
    r"(?:non|self|pre|re|un|per|opt|read|write|one|single|multi|up|out|built|plain|clear|well|case|"
    r"not|too|top|min|max|left|end|must|prompt|ask)-.*|"
    r".*(?:[^\W\d]ed|(?<!morn)(?<!even)(?<!spr)ing|able|ible|ive|ous|ent|ant|ful|less|ly|"
    r"-(?:only|free|long|old|date|in|off|time|use|wide|side|based|specific|text|case|safe|proof|"
    r"friendly|ready|level|key|vault|"
    r"manager|service|server|file|store|hash|bit|bits|chars?|characters))",
    re.IGNORECASE,
)


@cache
def _compile_statement_words() -> re.Pattern[str]:
    """Compile the words of statements."""
    return re.compile(rf"\b{_compile_list('statements')}\b", re.IGNORECASE)


@cache
def _compile_statements() -> tuple[re.Pattern[str], ...]:
    last = re.compile(rf"\b{_compile_list('ends of statements')}$", re.IGNORECASE)
    return (_compile_statement_words(), last, _INFLECTED)


def _compile_list(heading: str) -> str:
    return one_of(" ".join(read_lists("recollect.core.privacy.secrets", "words.txt")[heading]))


def plain_words_confidence(value: str) -> float:
    """Rate several words that state nothing, joined by hyphens or spaces."""
    if is_placeholder(value) or not any(map(str.isalpha, value)) or len(value) < 8:
        return 0.0
    if " " in value:
        forms = (_compile_statement_words(),) if value[-1].isdigit() else _compile_statements()
        return 0.0 if any(form.search(value) for form in forms) else 0.75
    is_joined = re.fullmatch(_JOINED, value) is not None
    return 0.75 if is_joined and not _DESCRIBING.fullmatch(value) else 0.0


def device_password_confidence(value: str) -> float:
    """Rate the password of a device, which may be one word."""
    if not value.isalpha():
        return plain_words_confidence(value)
    states = any(form.search(value) for form in _compile_statements())
    return 0.0 if states or _DESCRIBING.fullmatch(value) else set_password_confidence(value)


def file_password_confidence(value: str) -> float:
    """Rate a value where only a password can be, in the environment or the file of a client."""
    return max(set_password_confidence(value), plain_words_confidence(value))


PLAIN_WORDS: Final[tuple[Rule, ...]] = (
    words(
        "password",
        rf"\b(?:{PASSWORD}|{_NETWORK_KEY})(?:"
        rf"{_OF}?{_IS}[ \t]{{1,2}}({_JOINED})|"
        rf"{_OF}?{_IS_SAID}[ \t]{{1,2}}({_WORD}(?:[ ]{_WORD}){{2,5}})|"
        rf"(?:{_OF}?{_IS}|{_OF}|[ \t]{_WIFI})[ \t]?:[ \t]{{0,2}}({_JOINED}|{_SPACED})|"
        rf"[ \t]?[:=][ \t]{{0,2}}({_WORD}(?:-{_WORD}){{2,6}})|"
        rf"{_OF_DEVICE}(?:{_IS}:?|[ \t]?:)[ \t]{{1,2}}({_SPACED}|{_WORD})){_CLAUSE_END}",
        device_password_confidence,
    ),
    words(
        "password",
        rf"\b{_HAS_PASSWORD}(?:['\u2019]s)?[ \t-](?:{PASSWORD}|(?<=(?:fi|an|ot)[ \t-])(?:code|key))"
        rf"(?:[ \t]?:[ \t]{{0,2}}({_JOINED}|{_SPACED}|{_WORD})|"
        rf"{_IS}[ \t]{{1,2}}({_JOINED}|{_WORD})){_CLAUSE_END}",
        device_password_confidence,
    ),
)
