"""PINs, and codes that open doors, disarm alarms and unlock devices.

Codes of errors, countries and campaigns are common, so the text has to name what the code opens.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.core.privacy.secrets.plain_words import DEVICES
from recollect.core.privacy.secrets.tokens import Rule, one_of, words

# How a number is introduced: `PIN: 1`, `PIN is 1`, `the PIN of my card is now 1`.
_IS: Final = (
    r"(?:[ \t]{0,2}[:=#]|['\u2019]s|"
    r"[ \t](?:is|was|to|ist|lautet|war|es|era|est|c['\u2019]est|\xe8|\xe9)\b[ \t]?:?)"
    r"(?:[ \t](?:now|jetzt|ahora|maintenant|ora|le|il))?[ \t]{0,2}[\"'`*]{0,2}"
)
_INTRODUCED: Final = rf"(?:[ \t,][^\n.:=#\d]{{1,40}}?)?{_IS}"
_NOT_COUNTED: Final = (
    r"(?![A-Za-z0-9_%]|[.,:/-]\d|[ ]?(?:bytes|times|px|ms|kB|MB|N|lines|files|words|characters|"
    r"digits|points|coins|items|steps|tests|users|people|requests|seconds|minutes|hours|days|"
    r"euros?|dollars|k?g|grams|[cm]m|series|строк\w?)\b)"
)
_DIGITS: Final = r"\d{4,8}|\d{2}(?:[ -]\d{2}){1,3}"
_CODE: Final = rf"({_DIGITS}){_NOT_COUNTED}"
_SPACED: Final = r"(\d(?:[ -]\d){3,7})(?![\w%]|[ .,:/-]\d)"
# The keypad of a house may have a few letters.
_KEYED: Final = (
    rf"({_DIGITS}|\d{{1,2}}(?:-\d{{1,2}}){{2,5}}|(?-i:(?=[A-ZА-Я\d]{{4,7}}\b)"
    rf"(?:\d{{1,4}}[A-ZА-Я]\d{{1,5}}|[A-Z]\d{{3,6}}|\d{{3,6}}[A-F]))){_NOT_COUNTED}"
)
_MY: Final = one_of("my our his her your the new card sim phone bank debit meine die mi el le")
# In English, German, French, Spanish, Portuguese and Italian.
_LOCKED_WORD: Final = one_of(
    "door gate alarm garage safe locker lock padlock lockbox keybox box mailbox entry entrance "
    "building keypad voicemail unlock vault shed storage room barrier lobby lift elevator flat "
    "apartment house cabin office cellar basement suitcase "
    "t\xfcr haust\xfcr tor garagentor tresor alarmanlage schlie\xdffach spind schloss "
    "zahlenschloss keller wohnung haus eingang schranke koffer "
    "porte portail alarme immeuble entr\xe9e coffre casier cadenas b\xe2timent r\xe9sidence agence "
    "puerta portal port\xf3n alarma garaje fuerte taquilla candado edificio entrada trastero "
    "port\xe3o cofre garagem arm\xe1rio cadeado pr\xe9dio "
    "porta portone cancello allarme cassaforte armadietto lucchetto ingresso palazzo " + DEVICES
)
_LOCKED: Final = (
    rf"(?:{_LOCKED_WORD}|(?:двер|домофон|подъезд|сейф|ворот|калитк|гараж|шлагбаум|сигнализаци|"
    r"квартир|замк|шкафчик|чемодан|телефон)[а-яё]{0,3})"
)
_OTHERS: Final = (
    *("area", "bar", "country", "dial", "dress", "error", "exit", "model", "order", "postal"),
    *("product", "source", "zip"),
)
_NO_OTHER: Final = "".join(rf"(?<!{other}[ -]code)" for other in _OTHERS)
_CODE_WORD: Final = (
    rf"(?:code{_NO_OTHER}|combination|kombination|pin|c\xf3digo|clave|combinaci\xf3n|codice|"
    r"combinaison|код)"
)
_HAS: Final = (
    r"(?:['\u2019]s)?(?:[ \t](?:no\.?[ \t]?|#)?\d{1,4})?"
    r"(?:[ \t](?:has|needs|hat|braucht)(?:[ \t](?:the|den))?)?[ \t]?[:,(\u2013\u2014-]?[ \t]?"
)
_OF: Final = (
    r"[ \t](?:(?:for|to|of|on|at|f\xfcrs?|vom|von|zu|zum|zur|am|de|du|des|del|della|dell|d|di|pour|"
    r"da|do|para|per|от|для|к)[ \t'\u2019][^\n.:=#\d]{0,24}?)?"
)
_AT: Final = r"(?:[ \t](?:at|for|of|on|in|to)[ \t](?:the|my|our|his|her)(?:[ \t][a-z]{2,15}){1,2})?"
_STATED: Final = rf"(?:{_INTRODUCED}|{_AT}[ \t]{{1,2}})"
_OPENS: Final = (
    r"(?:unlock|disarm|open|entsperr|entsch\xe4rf|\xf6ffne|d\xe9verrouill|d\xe9bloqu|d\xe9sactiv|ouvr|"
    r"desbloque|desactiv|abr|sblocc|disattiv|apr)\w{0,6}"
)
_WITH: Final = r"(?:[ \t](?:with|using|by|mit|avec|con)|[ \t]?:)(?:[ \t](?:the )?(?:code|pin))?"
_FEW: Final = r"[^\n.:=#\d]{1,24}?"
_EASTERN: Final = (
    r"(?:暗証番号|暗証コード|パスコード|(?:解錠|解除|ロック)(?:番号|コード)|PIN(?:コード|码|碼)?|"
    r"门禁(?:密码|码)|开门密码|開門密碼)"
)


# A lock has only one number; a locker also has one on its door.
_LOCK: Final = (
    r"(?:(?:b(?:ike|icycle|ag)|suitcase|luggage|gym|combination)[ -]?lock|padlock|lockbox|"
    r"fahrradschloss|zahlenschloss|ca(?:ndado|denas|deado)|lucchetto)"
)
_RECOVERY: Final = (
    r"(?:(?:recovery|backup|rescue|2fa|wiederherstellungs)[ -]?(?:code|key)s?|"
    r"c(?:odes? de (?:r\xe9cup\xe9ration|secours)|\xf3digos? de (?:recupera|respald)\w{1,5}|"
    r"odic[ei] di (?:recupero|backup))|резервны[ейх]{1,2} код[ыа]?|код[ыа]? восстановления)"
)
_GROUP: Final = r"(?-i:[A-Z\d]{4,8}|(?=[a-z]{0,7}\d)[a-z\d]{4,8})"
_GROUPS: Final = rf"{_GROUP}(?:-{_GROUP}){{1,7}}(?![\w-])"


def recovery_confidence(text: str) -> float:
    """Rate groups of letters and digits; a date looks like them, too."""
    is_date = re.match(r"(?:19|20)\d\d-", text) is not None
    return 0.0 if is_date or not any(map(str.isdigit, text)) else 0.8


def code_confidence(text: str) -> float:
    """Rate a code; a year also has four digits after such a word."""
    return 0.0 if re.fullmatch(r"(?:19|20)\d\d", text) else 0.8


CODES: Final[tuple[Rule, ...]] = (
    Rule(
        "PIN",
        re.compile(rf"\b(?:PIN|PUK)(?:[ -]?(?:[Cc]ode|CODE|[Nn]ummer))?{_INTRODUCED}{_CODE}"),
        code_confidence,
    ),
    Rule("PIN", re.compile(rf"\b(?:PIN|PUK)[ \t]{_CODE}"), code_confidence),
    Rule("PIN", re.compile(rf"\bPIN(?:[ -]?[Cc]ode)?{_INTRODUCED}{_SPACED}"), code_confidence),
    words("PIN", rf"\bpin[ -]?code\b{_INTRODUCED}{_CODE}", code_confidence),
    words("PIN", rf"\b{_MY}[ -]pin\b(?:[ -]?code)?{_INTRODUCED}{_CODE}", code_confidence),
    words(
        "PIN",
        rf"{_EASTERN}[^\n。！？!-~]{{0,12}}?[はがを是为為:][ \t]{{0,2}}{_CODE}",
        code_confidence,
    ),
    words(
        "code of a lock",
        rf"\b(?:(?:passcode|geheimzahl|digicode|entsperrcode)\b{_STATED}|"
        rf"{_LOCK}(?:{_IS}|[ \t]{{1,2}})|"
        rf"{_LOCKED}(?:{_HAS}{_CODE_WORD}\b{_STATED}|{_FEW}\b{_OPENS}{_WITH}[ \t]{{1,2}})){_KEYED}",
        code_confidence,
    ),
    words(
        "code of a lock",
        rf"\b{_CODE_WORD}{_OF}{_LOCKED}\b{_AT}(?:{_IS}|[ \t]{{1,2}}){_KEYED}",
        code_confidence,
    ),
    words(
        "recovery code",
        rf"\b{_RECOVERY}\b(?:[ \t](?:for|f\xfcr|pour|para|per|от|для)[ \t][^\n.:=#\d]{{1,24}}?)?"
        rf"(?:{_IS}|[ \t](?:are|sind|sont|son)\b:?[ \t]|[ \t]{{1,2}})"
        rf"({_GROUPS}(?:[ \t,;]{{1,2}}{_GROUPS}){{0,15}})",
        recovery_confidence,
    ),
    words(
        "code of a lock",
        rf"\b{_OPENS}{_FEW}{_LOCKED}\b{_WITH}[ \t]{{1,2}}{_KEYED}",
        code_confidence,
    ),
    words(
        "code of a lock",
        rf"\b(?:type|enter|dial|press|{_CODE_WORD})[ \t]{{1,2}}{_KEYED}[#*]?"
        rf"[ \t](?:to|for|opens|f\xfcr|zum|zur|\xf6ffnet|pour|ouvre|para|abre|per|apre)"
        rf"(?={_FEW}\b{_LOCKED}\b)",
        code_confidence,
    ),
)
