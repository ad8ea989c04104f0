"""Passwords made of several plain words: `tulips-and-rain`, "blue cat 7".

Most of what follows "the password is" is a statement about the password, so the words have to be
ones of which no statement consists.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.core.privacy.secrets.tokens import Rule, one_of, words
from recollect.core.privacy.secrets.values import is_placeholder, set_password_confidence

PASSWORD: Final = (
    r"(?:pass(?:w(?:or)?d|wort|phrase|code)|kennwort|mot de passe|mdp|"  # noqa: S105  # a form
    r"contrase(?:\xf1|n)a|senha|wachtwoord)"
)
_OF: Final = (
    r"(?:[ \t](?:for|of|to|on|at|f\xfcrs?|vom|von|zum|zur|des|de|du|del|della|do|da|pour|para|"
    r"per)[ \t][^\n.:=\"`]{1,40}?)"
)
_IS: Final = r"(?:[ \t](?:is|was|ist|war|lautet|est|c['\u2019]est|es|era|\xe8|\xe9)(?:[ \t]now)?)"
_IS_SAID: Final = r"(?:[ \t](?:is|was|lautet)(?:[ \t]now)?)"
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
        "il lo gli della nel nella sul senza non molto sempre stessa vedi chiedere"
    )
    + r"\b|^\w*(?:[^\W\d]ed|ing|ly|\xe9e?|[ai]d[oa]|[aiu]t[oa])\b|"
    r"^(?:ab|be|ge|hinter|ver)\w+(?:t|en)\b",
    re.IGNORECASE,
)
# What joined words say of a thing: `case-sensitive`, `read-only`, `base64-encoded`.
_DESCRIBING: Final = re.compile(
    r"(?:non|self|pre|re|un|per|opt|read|write|one|single|multi|up|out|built|plain|clear|well|case|"
    r"not|too|top|min|max|left|end)-.*|"
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
        return 0.0 if _STATING.search(value) else 0.75
    is_joined = re.fullmatch(_JOINED, value) is not None
    return 0.75 if is_joined and not _DESCRIBING.fullmatch(value) else 0.0


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
        rf"[ \t]?[:=][ \t]{{0,2}}({_WORD}(?:-{_WORD}){{2,6}})){_CLAUSE_END}",
        plain_words_confidence,
    ),
    words(
        "password",
        rf"\b{_WIFI}[ \t-](?:{PASSWORD}|code|key)[ \t]?:[ \t]{{0,2}}"
        rf"({_JOINED}|{_SPACED}){_CLAUSE_END}",
        plain_words_confidence,
    ),
)
