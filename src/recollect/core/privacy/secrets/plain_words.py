"""Passwords made of several plain words: `tulips-and-rain`, "blue cat 7".

Most of what follows "the password is" is a statement about the password, so the words have to be
ones of which no statement consists.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.core.privacy.secrets.tokens import Rule, one_of, words
from recollect.core.privacy.secrets.values import is_placeholder, set_password_confidence

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
# These words have other meanings, too: "la clave" is also what success depends on.
_NETWORK_KEY: Final = rf"(?:clave|code|cl\xe9|key|schl\xfcssel)(?=[ \t][^\n.:=]{{0,16}}?{_WIFI})"
_WORD: Final = r"[^\W_]{1,16}"
_JOINED: Final = rf"{_WORD}(?:-{_WORD}){{1,6}}"
_SPACED: Final = rf"{_WORD}(?:[ ]{_WORD}){{1,5}}"
_CLAUSE_END: Final = r"(?![\w-])(?=[ \t]{0,2}(?:[.!,;)\n]|\Z))"

# Words of statements, in English, German, French, Spanish and Italian. Passwords may have an "and".
_STATING: Final = re.compile(
    r"\b"
    + one_of(
        "a an the not no never always only still also too very rather quite is are was were be "
        "been has have had can may must should will would of to in on at by for from with without "
        "as than then when if so that this it its we you they our your my their same different "
        "other stored kept known set written shown sent long longer short shorter weak strong one "
        "valid invalid wrong secret word words character characters letter letters digits bits "
        "required optional somewhere nowhere everywhere every each all any per ask see check use "
        "contact look get default empty blank unknown unchanged minimum maximum least sensitive "
        "im muss werden wird der die das dem den des ein eine einen einem mein meine unser unsere "
        "nicht kein keine nur noch schon immer sehr zu bei beim auf am unter vom von zum zur "
        "f\xfcr mit ohne aus seit leider wieder wie derselbe dasselbe gleich siehe frag steht "
        "falsch ung\xfcltig "
        "le la les un une du de dans sur sous par pour avec sans pas plus toujours trop tr\xe8s "
        "m\xeame voir demander chez obligatoire "
        "el los las en por para con sin muy siempre misma mismo ver pedir preguntar obligatoria "
        "il lo gli della nel nella sul senza non molto sempre stessa vedi chiedere "
        "do da no na em com sem muito sempre mesma mesmo "
        "в на у не нет из от для по с как тот та же там здесь уже очень слишком все спроси смотри"
    )
    + r"\b",
    re.IGNORECASE,
)
# What a statement about a password ends with.
_SAID_LAST: Final = re.compile(
    r"\b"
    + one_of(
        "secure insecure safe unsafe simple complex easy hard bad good fine new old public private "
        "hidden forgotten stolen broken gone lost random unique identical similar temporary "
        "mandatory necessary obsolete here there below above missing pending ready correct "
        "bitwarden keepass keepassxc lastpass vault wiki todo none "
        "geheim unbekannt sicher unsicher schwach stark kurz lang leer neu alt weg pflicht hier "
        "fuerte d\xe9bil segura corta larga nueva vieja f\xe1cil dif\xedcil igual otra secreta "
        "forte fraca curta longa nova velha segredo debole sicura nuova vecchia segreta uguale "
        "faible secret nouveau ancien"
    )
    + r"$",
    re.IGNORECASE,
)
# The endings of what was done to a password, or of what it is like.
_INFLECTED: Final = re.compile(
    r"^\w*(?:[^\W\d]ed|ing|ly|\xe9e?|[ai]d[oa]|[aiu]t[oa])\b|"
    r"^(?:ab|be|ge|hinter|ver)\w+(?:t|en)\b|"
    r"^\w+(?:[ao]ri[ao]|ect[oa]|iv[oa]|os[oa]|est[oa]|[aei]nte|[aei]ble|bile|vel|tiel|tric|"
    r"[ыои]й|[ая]я|ое|ен|лен[ао]|тся|лся|[еиа]л[ао]?|ет|ит)$",
    re.IGNORECASE,
)
_STATEMENTS: Final = (_STATING, _SAID_LAST, _INFLECTED)
# What joined words say of a thing: `case-sensitive`, `read-only`, `base64-encoded`.
_DESCRIBING: Final = re.compile(
    r"(?:non|self|pre|re|un|per|opt|read|write|one|single|multi|up|out|built|plain|clear|well|case|"
    r"not|too|top|min|max|left|end|must|prompt|ask)-.*|"
    r".*(?:[^\W\d]ed|(?<!morn)(?<!even)(?<!spr)ing|able|ible|ive|ous|ent|ant|ful|less|ly|"
    r"-(?:only|free|long|old|date|in|off|time|use|wide|side|based|specific|text|case|safe|proof|"
    r"friendly|ready|level|key|vault|"
    r"manager|service|server|file|store|hash|bit|bits|chars?|characters))",
    re.IGNORECASE,
)


def plain_words_confidence(value: str) -> float:
    """Several words that state nothing, joined by hyphens or spaces."""
    if is_placeholder(value) or not any(map(str.isalpha, value)) or len(value) < 8:
        return 0.0
    if " " in value:
        forms = (_STATING,) if value[-1].isdigit() else _STATEMENTS
        return 0.0 if any(form.search(value) for form in forms) else 0.75
    is_joined = re.fullmatch(_JOINED, value) is not None
    return 0.75 if is_joined and not _DESCRIBING.fullmatch(value) else 0.0


def told_confidence(value: str) -> float:
    """The password of a device, which may be one word."""
    if not value.isalpha():
        return plain_words_confidence(value)
    states = any(form.search(value) for form in _STATEMENTS)
    return 0.0 if states or _DESCRIBING.fullmatch(value) else set_password_confidence(value)


def kept_password_confidence(value: str) -> float:
    """Where nothing but a password can be, in the environment or the file of a client."""
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
        told_confidence,
    ),
    words(
        "password",
        rf"\b{_HAS_PASSWORD}(?:['\u2019]s)?[ \t-](?:{PASSWORD}|(?<=(?:fi|an|ot)[ \t-])(?:code|key))"
        rf"(?:[ \t]?:[ \t]{{0,2}}({_JOINED}|{_SPACED}|{_WORD})|"
        rf"{_IS}[ \t]{{1,2}}({_JOINED}|{_WORD})){_CLAUSE_END}",
        told_confidence,
    ),
)
