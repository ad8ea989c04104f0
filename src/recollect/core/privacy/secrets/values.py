"""How likely a value assigned to `password`, `token` and the like is a real one.

Most such values are not: notes and code are full of placeholders, variable names and words about
passwords. So the value itself decides.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from functools import cache
from typing import Final

from recollect.resources import read_lists

# Whole words for a secret, and what people add to them in a placeholder.
_NAMING: Final = (
    r"(?:pass(?:w(?:or)?d|wort|phrase|code)?|pwd?|secret|token|credential|(?:api)?key|auth|hash)s?"
)
_AROUND: Final = (
    r"(?:my|your|our|the|this|some|any|new|old|current|default|test|dev|prod|local|db|database|"
    r"api|app|user|admin|root|client|server|service|account|access|refresh|o?auth|jwt|bearer|"
    r"session|login|master|private|public|super|top|very|real|plain|strong|secure|random|"
    r"here|goes|value|string|text|name|field|with|for|example|sample|dummy|fake)"
)
_WRITTEN_INSTEAD: Final = (
    r"(?:replace|example|dummy|sample|insert|fake|masked|hidden|removed|omitted|not[_-]?set|unset|"
    r"todo)"
)
# Placeholders. A password may contain any of these words, so they count only as whole words:
# `fireplace77` and `Sunset99!` are passwords.
_STAND_INS: Final = re.compile(
    r"(?<![a-z])change[_-]?(?:me|it)(?![a-z])|(?<![a-z])your(?:[_-]|(?-i:[A-Z]))|goes[_-]?here|"
    rf"(?<![a-z0-9]){_WRITTEN_INSTEAD}(?:{_AROUND}|{_NAMING}){{0,8}}\d{{0,4}}(?![a-z0-9])|"
    r"(?-i:EXAMPLE)|placeholder|redacted|"
    r"\*{3}|\.{3}|\u2026|\u2022{3}|xxx|1234567890|0000000|deadbeef",
    re.IGNORECASE,
)
# `mypassword`, `supersecret`, `API_KEY_HERE`.
_PLACEHOLDER: Final = re.compile(rf"(?:(?:{_AROUND}|{_NAMING})[_-]?){{1,12}}", re.IGNORECASE)
# Prefixes of values that refer to a secret stored elsewhere, or of code that reads one.
_REFERENCES: Final = re.compile(
    r"[<\[({]|\$[A-Z_{(]|\$[a-z_]+$|%[A-Z_]+%|%\(|%[sd]\b|!(?:vault|ref|sub|env|secret)\b|"
    r"(?:os|env|process|config|settings|self|this|vault|ssm|kms|arn|gcp|file|ref|secrets?|vars?|"
    r"params?|args|options|request|req|data|local)[.:(\[]|"
    r"[a-z]{2,12}://|~?\.{0,2}/|projects/|(?:required|nullable|string|optional)\b",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"[()\[\]{}]|->|=>|::|\|\|")
_DOTTED_NAME: Final = re.compile(r"[A-Za-z_]+(?:\.[A-Za-z_]+)+")
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_NAMING_WORD: Final = re.compile(_NAMING + r"\d?", re.IGNORECASE)
# A short name with its number in a name of several words: `s3_secret_key`, `k8s_token`.
_SHORT_NAME: Final = re.compile(r"[a-z]{1,3}\d{1,2}[a-z]?", re.IGNORECASE)
_CAMEL_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
# The address of an account or a contract on a blockchain: public, and called a token or a key.
_CHAIN_ADDRESS: Final = re.compile(r"0x[0-9a-f]{40}", re.IGNORECASE)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_QUANTITY: Final = re.compile(r"[\d.,:%/+-]+[a-z]{0,3}", re.IGNORECASE)
# Names of methods and formats that contain a digit and often appear with passwords and tokens.
_METHODS: Final = re.compile(
    r"(?:hmac|sha|md5|base(?:32|58|64)|utf|aes|rsa|hs|rs|es|argon2|bcrypt|scrypt|pbkdf2|oauth2?|"
    r"ed25519|x509|http|tls|wpa|v)[-_]?\d{0,5}(?:id|i|d|url)?(?:[-_/][a-z0-9]{1,12}){0,3}",
    re.IGNORECASE,
)
_WORD_AND_DIGITS: Final = re.compile(r"[^\W\d_]{4,}\d{1,6}")
# A year is more often part of a name.
_WORDS_AND_NUMBER: Final = re.compile(
    r"[a-z]{3,16}(?:[-_.][a-z]{4,16}){1,4}[-_.]?(?!20\d\d)\d{1,4}", re.IGNORECASE
)
_NO_METHOD: Final = r"(?!(?:sha|md|base|utf|aes|hs|rs|es|pbkdf|oauth|ed|v)\d)"
# Digits among the letters more than once, as in no word; joined names of methods (`pbkdf2sha256`)
# and versions (`v2alpha1`) have them too.
_SCATTERED_DIGITS: Final = re.compile(
    _NO_METHOD + r"(?=.{8})"
    r"\d*(?:[A-Za-z]+\d+){2,}[A-Za-z]*",
    re.IGNORECASE,
)
# The same once, between two words: `hunter2correct`.
_DIGITS_INSIDE: Final = re.compile(
    _NO_METHOD + r"(?=.{10})"
    r"[A-Za-z]{3,}\d{1,4}[A-Za-z]{3,}",
    re.IGNORECASE,
)
# Digits in the place of letters, in one of several words: `s3cr3t-horse`.
_SCATTERED_PART: Final = re.compile(_NO_METHOD + r"[a-z]+(?:\d[a-z]+){2,}", re.IGNORECASE)
# A part of a name, perhaps with a number: `user`, `v2`, `2026`; not `x19` and `08t`.
_NUMBERED_PART: Final = re.compile(r"[a-z]+|[a-z]{1,3}\d|\d+", re.IGNORECASE)
# Capitals at random places in a word.
_MIXED_CASE: Final = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_MIN_CHOSEN_KEY: Final = 10
# Random text of 16 characters has more; English words, and names made of them, mostly less.
_RANDOM_BITS: Final = 3.0
# A token of eight characters that repeats two of them has more.
_TOKEN_BITS: Final = 2.4


@cache
def read_words(heading: str) -> frozenset[str]:
    """Read one of the word lists for detecting secrets."""
    return frozenset(read_lists("recollect.core.privacy.secrets", "words.txt")[heading])


def is_placeholder(value: str) -> bool:
    """Whether the value is a placeholder, a reference or a piece of code, and not a secret."""
    return bool(
        _STAND_INS.search(value)
        or _REFERENCES.match(value)
        or _CODE.search(value)
        or _DOTTED_NAME.fullmatch(value)
        or _METHODS.fullmatch(value)
        or _CHAIN_ADDRESS.fullmatch(value)
        or _PLACEHOLDER.fullmatch(value)
        or _names_a_secret(value)
        or len(set(value)) <= 2
    )


def looks_random(value: str) -> bool:
    """Whether the value is probably machine-generated: long, mixed and without order."""
    return (
        len(value) >= 16
        and kinds(value) >= 2
        and _has_digit(value)
        and entropy(value) >= _RANDOM_BITS
        and not _is_made_of_words(value)
        and not is_placeholder(value)
    )


def key_confidence(value: str) -> float:
    """Rate a value as a key or token, which a machine generated."""
    value = value.rstrip(".,;:)")
    if _UUID.fullmatch(value):
        return 0.75
    return 0.9 if looks_random(value) else 0.0


def set_key_confidence(value: str) -> float:
    """Rate it where a key is set (`JWT_SECRET=...`): a person may have chosen it, but names
    (`db-credentials-v2`) and the examples of manuals (`abc123`) are as common there.
    """
    confidence = key_confidence(value)
    value = value.rstrip(".,;:)")
    if confidence or len(value) < _MIN_CHOSEN_KEY or not _has_digit(value):
        return confidence
    parts = re.split(r"[-_.]", value)
    is_name = len(parts) > 1 and all(map(_NUMBERED_PART.fullmatch, parts))
    is_example = value.isalnum() and not _WORD_AND_DIGITS.fullmatch(value)
    is_number = _QUANTITY.fullmatch(value) is not None
    stands_in = is_placeholder(value) or is_placeholder(value.rstrip("0123456789"))
    return 0.0 if is_name or is_example or is_number or stands_in else 0.75


def chosen_key_confidence(value: str) -> float:
    """Rate it where no one puts a name (`ENCRYPTION_KEY`, `TOKEN_SALT`): two words and a number, or
    a word among digits.
    """
    value = value.rstrip(".,;:)")
    is_chosen = _WORDS_AND_NUMBER.fullmatch(value) or (
        len(value) >= _MIN_CHOSEN_KEY
        and _SCATTERED_DIGITS.fullmatch(value)
        and re.search(r"[A-Za-z]{4}", value)
    )
    return 0.75 if is_chosen and not is_placeholder(value) else 0.0


def password_confidence(value: str) -> float:
    """Rate a value as a password, which a person may have chosen."""
    value = value.rstrip(".,;:)")
    if len(value) < 5 or is_placeholder(value):
        return 0.0
    if looks_random(value):
        return 0.9
    if value.isdigit():
        return 0.7 if len(value) >= 8 else 0.4
    if value.isalpha() or _QUANTITY.fullmatch(value) or _is_made_of_words(value):
        return 0.4
    return 0.8 if kinds(value) >= 2 and (_has_digit(value) or kinds(value) >= 3) else 0.4


def sentence_password_confidence(value: str) -> float:
    """Rate it in a sentence ("the password is ..."), where most of what follows is a word. Only a
    value counts that mixes three kinds of characters, is a word followed by digits (`hunter2`), or
    has digits among its letters (`k9mpq2zz7`, `s3cr3t-horse`, `hunter2correct`).
    """
    value = value.rstrip(".,;:)*")  # a bold heading may end in these: `**Keep it up to date:**`
    is_likely = (
        kinds(value) >= 3
        or _WORD_AND_DIGITS.fullmatch(value)
        or _SCATTERED_DIGITS.fullmatch(value)
        or _DIGITS_INSIDE.fullmatch(value)
        or any(map(_SCATTERED_PART.fullmatch, re.split(r"[_-]", value)))
    )
    return password_confidence(value) if is_likely else 0.0


def sentence_key_confidence(value: str) -> float:
    """Rate a key in a sentence ("our API key is ..."), where a UUID is more often its name."""
    return 0.0 if _UUID.fullmatch(value.rstrip(".,;:)")) else key_confidence(value)


def set_password_confidence(value: str) -> float:
    """Rate it where only a password is set, in the environment (`DB_PASSWORD=...`) or in a
    connection string: there a plain word counts, too.
    """
    value = value.rstrip(".,;:)")
    if len(value) < 5 or _is_well_known(value) or value.lower() in read_words("statuses"):
        return 0.0
    is_word = value.isalpha() and not is_placeholder(value)
    return max(password_confidence(value), 0.75 if is_word else 0.0)


def url_password_confidence(value: str) -> float:
    return 0.0 if _is_well_known(value) else 0.9


def header_confidence(value: str) -> float:
    """Rate what follows `Authorization: Bearer`: a token, unless it is a placeholder or a word
    about it.
    """
    value = value.rstrip(".")
    if (
        is_placeholder(value)
        or len(value) < 8
        or _is_made_of_words(value)
        or entropy(value) < _TOKEN_BITS
    ):
        return 0.0
    if _has_digit(value):
        return 0.0 if _QUANTITY.fullmatch(value) else 0.8
    # Without a digit, it must be longer than words are, or mix upper and lower case as no name
    # does.
    is_long = value.isalpha() and len(value) >= 20
    return 0.75 if is_long or (len(value) >= 12 and _MIXED_CASE.search(value)) else 0.0


def basic_confidence(value: str) -> float:
    """Rate basic credentials, which are base64 of `user:password`."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return 0.0
    _, colon, password = decoded.partition(":")
    return 0.9 if decoded.isprintable() and colon and not _is_well_known(password) else 0.0


def entropy(value: str) -> float:
    """Return the Shannon entropy, in bits per character."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def kinds(value: str) -> int:
    """Count how many of lower case, upper case, digits and symbols occur; `-`, `_` and `.` also
    join words, so they do not count.
    """
    return (
        any(character.islower() for character in value)
        + any(character.isupper() for character in value)
        + _has_digit(value)
        + any(not character.isalnum() and character not in "-_." for character in value)
    )


def _is_well_known(password: str) -> bool:
    is_common = password.lower() in read_words("throw-away passwords")
    return len(password) < 3 or is_common or is_placeholder(password)


def _has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


def _names_a_secret(value: str) -> bool:
    """Whether the value is the name of a variable or a field for a secret: words, one of which says
    so (`db_password_2`, `accessTokenFromLogin`). `hunter2_secret` is no such name.
    """
    if _NAME.fullmatch(value):
        parts = re.split(r"[_-]", value)
    elif value.isalpha():
        parts = _CAMEL_WORD.findall(value)
    else:
        return False
    return any(map(_NAMING_WORD.fullmatch, parts)) and all(map(_is_part_of_a_name, parts))


def _is_part_of_a_name(part: str) -> bool:
    return (
        part.isalpha()
        or part.isdigit()
        or any(form.fullmatch(part) for form in (_NAMING_WORD, _SHORT_NAME, _METHODS))
    )


def _is_made_of_words(value: str) -> bool:
    """Whether a name is joined words and numbers, `reset-step-2` and not `a8f3-9d0c`."""
    parts = re.split(r"[_-]", value)
    return (
        _NAME.fullmatch(value) is not None
        and len(parts) > 1
        and all(part.isalpha() or part.isdigit() for part in parts)
    )
