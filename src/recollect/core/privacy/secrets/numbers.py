"""Numbers that are secrets by themselves: payment cards, bank accounts and social security numbers.

A checksum, or the word before them, distinguishes them from other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from recollect.core.privacy.secrets.tokens import Rule, one_of, sure, words
from recollect.core.privacy.secrets.values import read_words

# Visa, Mastercard, American Express, Discover, JCB, Diners.
_CARD: Final = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}|"
    r"35\d{14}|3(?:0[0-5]|[68]\d)\d{11}"
)
_WELL_KNOWN_SSN: Final = frozenset({"078051120", "219099999", "123456789"})

_MONTH: Final = r"(?:0?[1-9]|1[0-2])[ ]?/[ ]?(?:20)?\d\d(?![\d/])"
# A card's date may follow its number, but no further digits.
_END: Final = rf"(?![./]?\d|[ -]\d)|(?=[ -](?:{_MONTH}|(?:0[1-9]|1[0-2])[.-]\d\d|20\d\d-\d\d))"
_DIGITS: Final = rf"(?<!\d)(?<!\d[ .-])(\d(?:[ -]?\d){{12,18}})(?:{_END})"
_GROUPS: Final = (
    rf"(\d{{4}}([ -])\d{{4}}\2\d{{4}}\2\d{{4}}|\d{{4}}([ -])\d{{6}}\3\d{{5}})(?:{_END})"
)
_CARD_WORD: Final = (
    r"(?:card|visa|master ?card|amex|american express|karte|kreditkarte|tarjeta|carte)"
)
_SECURITY_CODE: Final = r"(?:cvv2?|cvc2?|cvn|cid|security code|pr\xfcfnummer)"
# Other numbers in three groups.
_NUMBERED: Final = one_of(
    "ticket case order invoice part item issue ref reference model serial sku tracking batch lot "
    "article catalog catalogue receipt booking"
)
_SSN: Final = r"(?!000|666|9\d\d)\d{3}([ -]?)(?!00)\d{2}\2(?!0000)\d{4}"


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def card_confidence(text: str) -> float:
    """Rate a number of a card network by its check digit."""
    digits = _digits(text)
    if not _CARD.fullmatch(digits) or digits in read_words("test cards") or len(set(digits)) < 4:
        return 0.0
    doubled = [int(digit) for digit in digits[-2::-2]]
    total = sum(int(digit) for digit in digits[-1::-2])
    total += sum(2 * digit - 9 * (digit > 4) for digit in doubled)
    return 0.9 if total % 10 == 0 else 0.0


@cache
def _account_lengths() -> Mapping[str, int]:
    pairs = (line.split() for line in read_words("account lengths"))
    return {country: int(length) for country, length in pairs}


def iban_confidence(text: str) -> float:
    """Rate an account number by its country's length and the checksum; words may follow."""
    length = _account_lengths().get(text[:2], 0)
    account = text.replace(" ", "")[:length]
    if not length or len(account) < length:
        return 0.0
    number = "".join(str(int(character, 36)) for character in account[4:] + account[:4])
    return 0.85 if int(number) % 97 == 1 else 0.0


def ssn_confidence(text: str) -> float:
    if text[0].isalpha():
        return 0.0  # the word before it says that it is something else
    digits = _digits(text)
    return 0.0 if digits in _WELL_KNOWN_SSN or len(set(digits)) < 3 else 0.8


NUMBERS: Final[tuple[Rule, ...]] = (
    words("card number", rf"{_CARD_WORD}\b[^\n]{{0,40}}?{_DIGITS}", card_confidence),
    words(
        "card number",
        rf"{_DIGITS}(?=[^\n]{{1,40}}?\b(?:{_SECURITY_CODE}|exp|{_MONTH})\b)",
        card_confidence,
    ),
    words("card number", rf"(?<!\d)(?<!\d[ .-]){_GROUPS}", card_confidence),
    words(
        "card security code",
        r"\b(?:cvv2?|cvc2?)\b[ \t]{0,2}(?:is[ \t]|[:=#][ \t]{0,2})?(\d{3,4})(?![\w.,-]\w)",
        sure(0.75),
    ),
    Rule(
        "bank account",
        re.compile(r"(?<![A-Za-z0-9])([A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]){11,30})(?![a-z])"),
        iban_confidence,
    ),
    words(
        "social security number",
        rf"\b(?:ssn|social security)\b[^\n\d]{{0,24}}({_SSN})(?![-\d])",
        ssn_confidence,
    ),
    words(
        "social security number",
        rf"\b{_NUMBERED}s?\b[ \t]{{0,2}}(?:no\.?|number|id)?[ \t:#]{{0,3}}\d{{3}}-\d\d-\d{{4}}|"
        r"(?<![\w.-])(?!000|666|9\d\d)(\d{3}-(?!00)\d{2}-(?!0000)\d{4})(?![\w-]|\.\d)",
        ssn_confidence,
    ),
)
