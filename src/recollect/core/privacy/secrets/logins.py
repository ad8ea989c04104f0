"""Passwords next to the account they belong to: in notes, and in the files of clients."""

from __future__ import annotations

import re
from typing import Final

from recollect.core.privacy.secrets.plain_words import (
    PASSWORD,
    file_password_confidence,
    plain_words_confidence,
)
from recollect.core.privacy.secrets.sentences import (
    NOT_ABOUT,
    WIFI,
    pass_confidence,
    short_confidence,
)
from recollect.core.privacy.secrets.tokens import Rule, words
from recollect.core.privacy.secrets.values import sentence_password_confidence

_VALUE: Final = r"[\"'`\u201c\u201e\u00ab]?([^\s\"'`\u201c\u201d\u00ab\u00bb,;]{4,128})"
_USER: Final = (
    r"(?:use?r(?: ?name)?|login|account|as|benutzer(?:name)?|nutzer(?:name)?|konto|als|"
    r"usu[a\xe1]rio|cuenta|conta|identifiant|utilisateur|compte|utente|логин|пользовател[ья])"
)
_LOGIN: Final = (
    r"(?:log-?in|sign-?in|credentials?|creds|zugang(?:sdaten)?|anmeldung|acc\xe8s|identifiants?|"
    r"connexion|acceso|credenciales|accesso|credenziali)"
)
_IS: Final = r"(?:[ \t](?:is|are|ist|sind|lautet|est|sont|es|son|\xe8|sono)|[ \t]?:)[ \t]{1,2}"
_POWERFUL: Final = r"(?:root|admin(?:istrator)?|superuser|postgres|sa)"
_HOST: Final = r"(?:[ \t](?:on|at|of|for|auf|am|sur|en|su)[ \t][^\n:=/]{1,40}?|@[\w.-]{1,60})"

_ELSEWHERE: Final = re.compile(r"[/\\:]|\d\.\d|^[-@$]")


def account_confidence(value: str) -> float:
    """Rate what follows the name of an account, where addresses, paths, versions and several words
    are also common.
    """
    if _ELSEWHERE.search(value):
        return 0.0
    has_digit = any(map(str.isdigit, value))
    return max(pass_confidence(value), plain_words_confidence(value) if has_digit else 0.0)


def named_account_confidence(value: str) -> float:
    """Rate it if both an account and a password are named: then `Python3` is a password."""
    if _ELSEWHERE.search(value):
        return 0.0
    return max(account_confidence(value), sentence_password_confidence(value))


def network_confidence(value: str) -> float:
    """Rate what follows the name of a network, where standards are also common: "Bluetooth5"."""
    has_number = len(value) >= 8 and re.search(r"\d\D*\d", value)
    return named_account_confidence(value) if has_number else 0.0


LOGINS: Final[tuple[Rule, ...]] = (
    words(
        "password",
        rf"\b{_USER}[ \t]?[:=]?[ \t]{{1,2}}[^\s,;/:=]{{1,64}}[ \t]?[,;/|]?\s{{1,8}}"
        rf"(?:(?:and|with|und|mit|et|avec|y|con|e|com|и)[ \t](?:the[ \t]|dem[ \t])?)?"
        rf"(?:{PASSWORD}|clave|pwd?){NOT_ABOUT}[ \t]?[:=]?[ \t]{{1,2}}{_VALUE}",
        named_account_confidence,
    ),
    words(
        "password",
        rf"\b(?:{PASSWORD}|clave|pwd?){NOT_ABOUT}[ \t]?[:=]?[ \t]{{1,2}}{_VALUE}[ \t,;/|]{{1,3}}"
        rf"(?:(?:for|of|f\xfcr|von|pour|de|para|per|для)[ \t](?:the[ \t]|den[ \t])?)?{_USER}\b",
        named_account_confidence,
    ),
    words(
        "Wi-Fi password",
        rf"\b{WIFI}\b[ \t]?:?[ \t]{{1,2}}[\w.-]{{1,32}}(?:[ ][\w.-]{{1,16}})?[ \t]/[ \t]{_VALUE}",
        network_confidence,
    ),
    words(
        "password",
        # Paths look alike.
        rf"(?<=[:\w])[ \t]{{1,2}}{_POWERFUL}/{_VALUE}",
        short_confidence,
    ),
    words(
        "password",
        rf"\b{_LOGIN}\b[^\n:=/]{{0,40}}?{_IS}[\w.@-]{{1,40}}[ \t]?[/:|][ \t]?{_VALUE}",
        account_confidence,
    ),
    words(
        "password",
        rf"\b{_POWERFUL}(?:{_HOST}[ \t]?[:=]|[ \t]/)[ \t]{{1,2}}{_VALUE}",
        account_confidence,
    ),
    words(
        "password",
        rf"@[\w-]{{1,40}}(?:\.[\w-]{{1,40}}){{1,3}}[ \t]{{1,2}}[/|][ \t]{{1,2}}{_VALUE}",
        account_confidence,
    ),
    words(
        "password in a file of logins",
        # .netrc
        r"\b(?:machine[ \t]{1,4}\S{1,80}|default)\s{1,8}login\s{1,8}\S{1,80}\s{1,8}"
        r"(?:account\s{1,8}\S{1,80}\s{1,8})?password\s{1,8}(\S{1,128})",
        file_password_confidence,
    ),
    words(
        "password in a file of logins",
        # .pgpass: host, port, database, user and password; other ports are in logs, too.
        r"(?<![^\s\"'`(=])(?:[\w.*-]{1,80}|\[[0-9a-f:]{2,40}\]):(?:\d?54\d\d|6432|6543|\*)"
        r"(?::(?!\d+:)[^\s:]{1,64}){2}:((?:[^\s:\\\"'`]|\\[:\\]){1,128})(?![^\s\"'`),;])",
        file_password_confidence,
    ),
)
