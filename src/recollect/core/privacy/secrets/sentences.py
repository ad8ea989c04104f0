"""Passwords and keys as people write them: quoted, in a few words, and in other languages than
English.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from recollect.core.privacy.secrets.plain_words import LOCAL_PASSWORD
from recollect.core.privacy.secrets.tokens import Rule, words
from recollect.core.privacy.secrets.values import (
    is_placeholder,
    kinds,
    looks_random,
    password_confidence,
    read_words,
    sentence_key_confidence,
    sentence_password_confidence,
    set_password_confidence,
)

# Seed phrases: the words from which a wallet is restored. BIP 39 uses 12, 15, 18, 21 or 24 words of
# three to eight letters from a list with hardly any inflected words and none of the words that
# every sentence needs. So a run of such words is not a sentence; the words before it add
# confidence.

_WORD: Final = re.compile(r"[^\W\d_]+")
_GAP: Final = re.compile(r"[\s,;]{1,4}|[\s,;]{0,3}\d{1,2}[.):]?\s{0,2}")
_FITTING: Final = re.compile(r"[a-z]{3,8}")
_INFLECTED: Final = re.compile(r"[a-z]+(?:s|ed|ing|ly)")
_MAX_INFLECTED: Final = 0.2
_LENGTHS: Final = (12, 15, 18, 21, 24)
_NAMED: Final = re.compile(r"seed|mnemonic|recovery|wallet|bip-?39|backup phrase", re.IGNORECASE)
_NAMED_WITHIN: Final = 80


def find_phrases(text: str) -> Iterator[tuple[int, int, float]]:
    """Find seed phrases and rate them."""
    for start, end, run in _runs(text):
        inflected = sum(_INFLECTED.fullmatch(word) is not None for word in run)
        if inflected > _MAX_INFLECTED * len(run) or len(set(run)) < len(run) * 2 / 3:
            continue
        if _NAMED.search(text, max(0, start - _NAMED_WITHIN), start) or _NAMED.search(
            " ".join(run[:6])
        ):
            yield start, end, 0.9
        elif len(run) in _LENGTHS and _stands_alone(text, start, end):
            yield start, end, 0.75


def _runs(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Find runs of twelve or more matching words."""
    run: list[str] = []
    start = end = 0
    function_words = read_words("not in seed phrases")
    for match in _WORD.finditer(text):
        word = match[0].lower()
        is_fitting = _FITTING.fullmatch(word) is not None and word not in function_words
        if run and not (is_fitting and _GAP.fullmatch(text, end, match.start())):
            yield from [(start, end, run)] if len(run) >= _LENGTHS[0] else []
            run = []
        if is_fitting:
            start = start if run else match.start()
            run.append(word)
            end = match.end()
    if len(run) >= _LENGTHS[0]:
        yield start, end, run


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a phrase is lower case separated by spaces, with nothing else on the line except a
    label.
    """
    phrase = text[start:end]
    before = text[max(0, start - 20) : start].rpartition("\n")[2].rstrip()
    after = text[end : end + 3].lstrip(" \t\"'`.")
    is_plain = phrase == phrase.lower() and re.search(r"[^\sa-z]", phrase) is None
    return is_plain and before[-1:] in ("", ":", '"', "'", "`") and after[:1] in ("", "\n")


# What follows something related to passwords is no password: "our password manager is …".
NOT_ABOUT: Final = (
    r"(?!s?[ \t-]?(?:manager|safe|vault|polic|hash|field|reset|prompt|rule|length|generator|store|"
    r"app|tool|protected|change|expir|strength|check|box|form|less)\w*)"
)
_OPEN: Final = r"[\"'`\u201c\u201e\u2018\u00ab\u201d]"
_CLOSE: Final = r"[\"'`\u201d\u201c\u2019\u00bb]"
_QUOTED: Final = rf"{_OPEN}([^\n\"'`\u201c-\u201e\u2018\u2019\u00ab\u00bb]{{4,64}}){_CLOSE}"
_BARE: Final = r"[\"'`\u201c\u201e\u2018\u00ab]?([^\s\"'`\u201c\u201d\u2018\u2019\u00bb,;]{4,128})"
_OF: Final = r"(?:[ \t][^\n.:=\"'`\u201c\u201e]{1,48}?)?"
_LOCAL: Final = rf"(?:{LOCAL_PASSWORD}|clave|wlan-?schl\xfcssel|zugangscode)"
_IS: Final = (
    r"(?:ist|war|hei\xdft|auf|es|era|est|c['\u2019]est|\xe9|\xe8|is|is nu|a|это|теперь|на|[-–—])"
    r"(?:[ \t](?:jetzt|nun|ab heute|ab sofort|ahora|agora|maintenant|d\xe9sormais|теперь))?:?"
)
_LOCAL_KEY: Final = (
    r"(?:\b(?:(?:api|zugriffs|zugangs)[ -]?schl\xfcssel|cl\xe9 (?:d['\u2019])?(?:api|acc\xe8s)|"
    r"jeton(?: d['\u2019]acc\xe8s)?|clave (?:de )?api|token de acceso|(?:api|апи)[ -]ключ|"
    r"ключ (?:api|апи|доступа)|токен)|api[ ]?キー|トークン|密钥|密鑰|金鑰|令牌)"
)
# In Japanese and Chinese, where a value ends before the next Japanese or Chinese character.
_EASTERN: Final = (
    r"(?:パスワード|パスフレーズ|密码|密碼|口令)(?!管理|マネ|生成|ポリシー|策略|規則|规则|学|學)"
)
_EASTERN_IS: Final = r"[^\n。！？!-~]{0,16}?(?:[はをが是为為成了到]|[:=])[ \t]{0,2}"
_EASTERN_VALUE: Final = r"[\"'`「『\u201c\u2018]?((?:(?![\"'`,;])[!-~]){4,128})"
WIFI: Final = r"(?:wi-?fi|wlan|w-?lan|ssid|hotspot|guest network)"
_DESCRIPTION: Final = re.compile(
    r"\b(?:too (?:short|long|weak)|not |no |must |(?:expired|invalid|wrong|required|incorrect|"
    r"mandatory|forgot(?:ten)?|reset|changed?|shown?|enter)\b)",
    re.IGNORECASE,
)
_VERSIONED: Final = re.compile(r"[A-Z][A-Za-z]+\d{1,3}(?:\.\d{1,3})*")
# "A pass" is also a way, a ticket, and one of several turns.
_NO_OTHER: Final = (
    r"(?<!boarding )(?<!ski )(?<!bus )(?<!day )(?<!season )(?<!hall )(?<!mountain )(?<!press )"
    r"(?<!first )(?<!second )(?<!third )(?<!last )(?<!final )(?<!next )(?<!one )(?<!single )"
    r"(?<!each )(?<!every )(?<!test )(?<!tests )"
)
_FOR: Final = r"[ \t](?:for|to|of|on|at|in)[ \t][^\n:=\"'`\u201c\u201e]{1,40}?"
_NOW: Final = r"[ \t](?:is|was)(?:[ \t]now)?:?[ \t]{1,2}"
_OF_A_SENTENCE: Final = re.compile(
    r"^\w+(?:ed|ing)\b|\b(?:an?|the|and|or|but|not|no|never|always|only|still|also|too|very|is|are|"
    r"was|were|be|been|has|have|had|can|may|must|should|will|would|of|to|in|on|at|by|for|from|with|"
    r"without|as|than|then|when|if|so|that|this|these|it|its|we|you|they|our|your|my|their|"
    r"stored|kept|known|set|written|long|longer|short|shorter|words?|characters?|letters?|"
    r"passphrase|password|key|required|optional|somewhere|nowhere|everywhere|every|each|all|any)\b",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"\w/\w+[/.]|\.[a-z]{1,5}$", re.IGNORECASE)
_HEX: Final = re.compile(r"[0-9a-fA-F]+")


def quoted_confidence(value: str) -> float:
    """Rate a value in quotes: there a plain word counts as a password; a phrase is more often a
    quotation.
    """
    if " " in value.strip():
        return 0.0
    return 0.0 if _DESCRIPTION.match(value) else set_password_confidence(value)


def wifi_confidence(value: str) -> float:
    """Rate the key of a network, which has eight or more characters and may be a phrase."""
    if len(value) < 8 or _DESCRIPTION.search(value) or re.search(r"[/\\<>{}=]", value):
        return 0.0
    return max(0.75 if " " in value or "-" in value else 0.0, set_password_confidence(value))


def eastern_confidence(value: str) -> float:
    """Rate a value between letters of another script, where joined words that end in a number are a
    password, too.
    """
    is_joined = re.fullmatch(r"[a-z]{3,16}(?:-[a-z]{3,16}){0,4}-\d{2,4}", value, re.IGNORECASE)
    joined = 0.75 if is_joined and not is_placeholder(value) else 0.0
    return max(sentence_password_confidence(value), joined)


def short_confidence(value: str) -> float:
    """Rate a value after a bare "pass", which is also a verb: only what does not look like an
    argument, a name or a path.
    """
    if re.search(r"[/=<>&@:\\]|^[-$%]", value) or kinds(value) < 3:
        return 0.0
    has_mark = any(not character.isalnum() and character not in "-_." for character in value)
    return password_confidence(value) if has_mark or looks_random(value) else 0.0


def pass_confidence(value: str) -> float:
    """Rate a value after "pass is" and "pass:", where a name with its version (`Python3`) is not a
    password.
    """
    return (
        0.0 if _VERSIONED.fullmatch(value.rstrip(".,;:)*")) else sentence_password_confidence(value)
    )


def phrase_confidence(value: str) -> float:
    """Rate four or more words that do not form a sentence."""
    return 0.0 if _OF_A_SENTENCE.search(value) else 0.8


def aws_confidence(value: str) -> float:
    """Rate forty characters of base64; a commit is forty of hex."""
    return 0.9 if looks_random(value) and not _HEX.fullmatch(value) else 0.0


def local_key_confidence(value: str) -> float:
    """Rate a value that follows the word directly, where neither a path nor a name counts."""
    is_name = max(map(len, re.split(r"[-_.]", value))) < 12  # gpt-4o-2024-08-06
    if is_name or _PATH.search(value) or not looks_random(value):
        return 0.0
    return sentence_key_confidence(value)


SENTENCES: Final[tuple[Rule, ...]] = (
    words(
        "AWS secret access key",
        r"(?:aws|amazon|secret (?:access )?key)\b[^\n]{0,80}?(?<![a-z0-9/+=])([a-z0-9/+]{40})"
        r"(?![a-z0-9/+=])",
        aws_confidence,
    ),
    words(
        "password",
        rf"passw(?:or)?d{NOT_ABOUT}{_OF}(?:[ \t](?:is|was|to)|[ \t]?[:=])[ \t]{{0,2}}{_QUOTED}",
        quoted_confidence,
    ),
    words(
        "Wi-Fi password",
        rf"\b{WIFI}\b[^\n\"'`\u201c\u201e\u2018\u00ab]{{0,48}}?"
        rf"(?:passw(?:or)?d|passwort|passphrase|kennwort|pass|key|code|contrase\xf1a|clave|"
        rf"schl\xfcssel|pw)\b[^\n\"'`\u201c\u201e\u2018\u00ab]{{0,24}}?{_QUOTED}",
        wifi_confidence,
    ),
    words(
        "Wi-Fi password",
        rf"passw(?:or)?d[ \t](?:for|of|to)[ \t][^\n\"'`\u201c\u201e]{{0,24}}?\b{WIFI}\b"
        rf"[^\n\"'`\u201c\u201e\u2018\u00ab]{{0,24}}?{_QUOTED}",
        wifi_confidence,
    ),
    words(
        "password",
        rf"\b{_LOCAL}\b{_OF}(?:[ \t]{_IS}[ \t]{{1,2}}|[ \t]?[:=][ \t]{{0,4}}){_BARE}",
        sentence_password_confidence,
    ),
    words(
        "password",
        rf"\b{_LOCAL}\b{_OF}[ \t](?:lautet:?[ \t]{{1,2}}{_BARE}|{_IS}[ \t]{{1,2}}{_QUOTED})",
        quoted_confidence,
    ),
    # Russian says "the password is" without "is".
    words(
        "password",
        rf"\bпароль(?:[ \t][^\W\d_]{{2,20}}){{0,2}}(?<!от)(?<!для)[ \t]{{1,2}}{_BARE}",
        pass_confidence,
    ),
    words("password", rf"{_EASTERN}{_EASTERN_IS}{_EASTERN_VALUE}", eastern_confidence),
    words(
        "key",
        rf"{_LOCAL_KEY}[^\n.]{{0,40}}?(?<![a-z0-9_.+/=~-])([a-z0-9_.+/=~-]{{16,256}})",
        local_key_confidence,
    ),
    words(
        "password",
        r"\b(?:user(?:name)?|login|account|admin|root)\b[^\n]{1,60}?[ \t,/]pass(?![a-z])"
        rf"[ \t]{{0,2}}[:=]?[ \t]{{0,2}}{_BARE}",
        sentence_password_confidence,
    ),
    words("password", rf"(?<![\w-])pass[ \t]{{1,2}}{_BARE}", short_confidence),
    words(
        "password",
        rf"(?<![\w-]){_NO_OTHER}pass(?:{_FOR})?(?:{_NOW}|[ \t]?[:=][ \t]{{0,2}}){_BARE}",
        pass_confidence,
    ),
    words(
        "password",
        rf"pass(?:w(?:or)?d|phrase|code){_FOR}{_NOW}{_BARE}",
        sentence_password_confidence,
    ),
    words("password", rf"passphrase{_NOW}{_BARE}", sentence_password_confidence),
    words(
        "passphrase",
        rf"passphrase(?:{_FOR})?(?:{_NOW}|[ \t]?[:=][ \t]{{0,2}}){_OPEN}?"
        r"([a-z]{3,12}(?:[ -][a-z]{3,12}){3,11})(?![\w-])",
        phrase_confidence,
    ),
    words(
        "password", rf"(?<![\w-])pass(?:word|code|phrase)?[ \t]{{1,2}}{_QUOTED}", quoted_confidence
    ),
)
