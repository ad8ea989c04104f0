"""The forms of credentials, one rule each, as patterns that cannot be made to run long.

Every repetition is bounded, or runs over one class of characters behind a beginning that cannot
occur inside such a run: so no text makes the work grow faster than its length.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from recollect.core.secret_values import (
    key_confidence,
    looks_random,
    password_confidence,
    stands_in,
    told_key_confidence,
    told_password_confidence,
)

Judge = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Rule:
    """`kind` is shown to people. The secret is the pattern's last matched group, or all of the
    match; `judge` turns its text into a confidence.
    """

    kind: str
    pattern: re.Pattern[str]
    judge: Judge


def _sure(confidence: float) -> Judge:
    """For forms that say themselves what they are, except in the manuals' own examples."""

    def judge(text: str) -> float:
        return 0.0 if re.search(r"example|x{6}|\*{4}|\.{4}", text, re.IGNORECASE) else confidence

    return judge


def _random(confidence: float) -> Judge:
    """For forms that many harmless texts have too: only what a machine has made."""

    def judge(text: str) -> float:
        return confidence if looks_random(text) else 0.0

    return judge


def _basic(text: str) -> float:
    """Basic credentials are base64 of `user:password`."""
    try:
        decoded = base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return 0.0
    _, colon, password = decoded.partition(":")
    return 0.9 if decoded.isprintable() and colon and not _well_known(password) else 0.0


# What people leave in the address of a throw-away database.
_THROW_AWAY: Final = frozenset(
    {"postgres", "root", "admin", "user", "pass", "password", "passwd", "secret", "test", "guest"}
    | {"mysql", "redis", "mongo", "minioadmin", "rabbitmq", "dev", "local", "username", "pwd", "pw"}
)


def _well_known(password: str) -> bool:
    return len(password) < 3 or password.lower() in _THROW_AWAY or stands_in(password)


# What a variable says about a password instead of being one.
_SWITCHES: Final = frozenset({"false", "required", "optional", "enabled", "disabled", "prompt"})


def _set_password(text: str) -> float:
    """In the form of the environment (`DB_PASSWORD=letmein`) a plain word is a password, too."""
    is_said = len(text) < 5 or _well_known(text) or text.lower() in _SWITCHES
    return 0.0 if is_said else max(password_confidence(text), 0.75 if text.isalpha() else 0.0)


def _url_password(text: str) -> float:
    return 0.0 if _well_known(text) else 0.9


def _token(kind: str, *forms: str, judge: Judge = _sure(0.97)) -> Rule:  # noqa: B008  # a constant
    # The look-behind keeps a long run of such characters from being tried at each of its places.
    return Rule(kind, re.compile(rf"(?<![A-Za-z0-9_-])(?:{'|'.join(forms)})"), judge)


def _words(kind: str, pattern: str, judge: Judge) -> Rule:
    return Rule(kind, re.compile(pattern, re.IGNORECASE), judge)


_VALUE: Final = r"""(?:"([^"\n]{1,256})"|'([^'\n]{1,256})'|`([^`\n]{1,256})`|([^\s"'`,;]{1,256}))"""
# Also in the form of Markdown (`**Password:** ...`, a table's cells) and over the end of a line.
_ASSIGN: Final = (
    r"""["'`*]{0,2}\]?[ \t]{0,4}(?::=|=>|->|=|[:\uff1a\u2192|])\*{0,2}[ \t]{0,4}"""
    r"""(?:\n[ \t]{0,8})?(?:[rbuf](?=["']))?"""
)
_WHICH: Final = (
    r"(?:[_-](?:prod|production|staging|dev|test|live|old|new|value|\d{1,2}))?(?![a-z0-9_])"
)
_PASSWORD: Final = (
    r"(?:passw(?:or)?d|passwort|passphrase|kennwort|contrase\xf1a|mot de passe|senha|"  # noqa: S105  # a form
    r"\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u30d1\u30b9\u30ef\u30fc\u30c9|"
    r"(?<![a-z])pwd?|(?<=[_-])pass)"
)
_KEY: Final = (
    r"(?:secret(?:[_-]?(?:access|api|signing))?(?:[_-]?(?:key|token))?(?:[_-]?base)?|"
    r"(?:api|access|account|signing|encryption|private|master|auth|admin|service|app|jwt|hmac)"
    r"[_ -]?(?:key|token|secret)|(?<!page)(?<!page[_ -])(?<!sync[_ -])token)"
)

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "private key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,200}?[A-Za-z0-9+/=]{32}"
            r"[A-Za-z0-9+/=\s\\]{0,20000}(?:-----END [A-Z0-9 ]{0,40}-----)?"
        ),
        _sure(0.99),
    ),
    Rule(
        "private key",
        re.compile(r"PuTTY-User-Key-File-\d[\s\S]{0,4000}?Private-Lines: \d+\s+[A-Za-z0-9+/=]{32}"),
        _sure(0.99),
    ),
    _token("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _token("AWS access key id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _words(
        "AWS secret key",
        rf"aws[_ -]?secret[_ -]?(?:access[_ -]?)?key{_ASSIGN}[\"']?"
        r"([a-z0-9/+]{40})(?![a-z0-9/+=])",
        _sure(0.98),
    ),
    _token("Google API key", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    _token("Google OAuth secret", r"GOCSPX-[0-9A-Za-z_-]{28}", r"ya29\.[0-9A-Za-z_-]{20,}"),
    Rule(
        "Google service account",
        re.compile(r'"private_key_id"\s{0,5}:\s{0,5}"([0-9a-f]{40})"'),
        _random(0.9),
    ),
    _words("Azure storage key", r"AccountKey=([a-z0-9+/]{86}==)", _sure(0.98)),
    _words("Azure shared key", r"SharedAccessKey=([a-z0-9+/]{43}=)", _sure(0.98)),
    _words("Azure SAS", r"[?&]sig=([a-z0-9%+/]{40,120}(?:%3D|=))", _sure(0.9)),
    _token("Azure client secret", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _token("GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,255}", r"github_pat_[A-Za-z0-9_]{60,255}"),
    _token("GitLab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_-]{20,}"),
    _token("Slack token", r"xox[abeoprs]-[0-9][A-Za-z0-9-]{10,}", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    Rule(
        "Slack webhook",
        re.compile(r"hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24}"),
        _sure(0.95),
    ),
    _token("Stripe key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}", r"whsec_[A-Za-z0-9+/]{32,}"),
    _token("Anthropic key", r"sk-ant-[A-Za-z0-9_-]{24,}"),
    _token("OpenAI key", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{24,}"),
    _token("OpenAI key", r"sk-(?:or-v1-)?[A-Za-z0-9]{32,}(?![A-Za-z0-9_-])"),
    _token("Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    _token("Voyage key", r"pa-[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", judge=_random(0.85)),
    _token(
        "service token",
        r"npm_[A-Za-z0-9]{36}",
        r"pypi-AgE[A-Za-z0-9_-]{50,}",
        r"do[op]_v1_[a-f0-9]{64}",
        r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
        r"\d{8,10}:AA[A-Za-z0-9_-]{33}",
        r"shp(?:at|ca|pa|ss)_[a-f0-9]{32}",
        r"dapi[a-f0-9]{32}",
        r"lin_api_[A-Za-z0-9]{40}",
        r"dckr_pat_[A-Za-z0-9_-]{27}",
        r"hvs\.[A-Za-z0-9_-]{24,}",
        r"gsk_[A-Za-z0-9]{40,}",
        r"r8_[A-Za-z0-9]{37}",
        r"(?:xai|pplx|nvapi|tvly(?:-dev)?)-[A-Za-z0-9_-]{32,}",
        r"ATATT3[A-Za-z0-9_=-]{40,}",
        r"figd_[A-Za-z0-9_-]{32,}",
        r"pul-[a-f0-9]{40}",
        r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
        r"NRAK-[A-Z0-9]{27}",
        r"dp\.(?:pt|st\.[a-z0-9-]{2,35})\.[A-Za-z0-9]{40,44}",
    ),
    _token("Recollect key", r"rk_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    _token("JSON web token", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}"),
    _words(
        "password in an address",
        # A name that is its own password is a throw-away one; a password may hold an `@`.
        r"(?<![a-z0-9])[a-z][a-z0-9+.-]{1,20}://([^\s:/@\"'<>]{0,128}):(?!\1@)"
        r"([^\s/\"'<>]{1,256})@[\w.\[-]",
        _url_password,
    ),
    _words("bearer token", r"(?<![a-z])bearer[ \t:]{1,3}([a-z0-9._~+/=-]{16,})", _random(0.9)),
    _words(
        "authorization header",
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:[a-z][a-z-]{2,20}[ \t]{1,3})?"
        r"([a-z0-9._~+/=-]{16,})",
        _random(0.9),
    ),
    _words(
        "basic credentials",
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?basic[ \t]{1,3}([a-z0-9+/]{6,}={0,2})",
        _basic,
    ),
    _words(
        "password on a command line",
        r"(?<![a-z])curl(?:[ \t][^\n]{0,160}?)?[ \t](?:-u|--user)[ \t=]{0,2}[\"']?[^\s:\"'$]{1,64}:"
        r"([^\s\"']{4,128})",
        password_confidence,
    ),
    _words(
        "password on a command line",
        rf"(?:--passw(?:or)?d|(?<![a-z])sshpass[ \t]{{1,3}}-p)[ \t=]{{0,2}}{_VALUE}",
        password_confidence,
    ),
    _words(
        "password on a command line",
        r"(?<![a-z])(?:mysql|mariadb)[a-z-]{0,9}(?:[ \t][^\n]{0,160}?)?[ \t]-p[\"']?"
        r"([^\s\"']{4,128})",
        password_confidence,
    ),
    _words(
        "password on a command line",
        rf"(?<![a-z])docker[ \t]{{1,3}}login(?:[ \t][^\n]{{0,160}}?)?[ \t]-p[ \t=]{{1,2}}{_VALUE}",
        password_confidence,
    ),
    _words("key on a command line", rf"--(?:api-key|token|secret)[ \t=]{_VALUE}", key_confidence),
    _words("password", rf"{_PASSWORD}{_WHICH}{_ASSIGN}{_VALUE}", password_confidence),
    _words(
        "password",
        rf"passw(?:or)?d[^\n.:=]{{0,40}}?[ \t](?:is|was|to)(?:[ \t]now)?:?[ \t]{{1,2}}{_VALUE}",
        told_password_confidence,
    ),
    _words(
        "password",
        r"passw(?:or)?d(?:[ \t](?:for|of|on|at)[ \t][^\n:=]{1,40}|[ \t]?\([^\n()]{1,40}\))"
        rf"[ \t]{{0,2}}[:=][ \t]{{0,4}}{_VALUE}",
        told_password_confidence,
    ),
    _words("password", r"<passw(?:or)?d>([^<\s]{1,256})</", password_confidence),
    Rule(
        "password",
        re.compile(r"(?<![A-Z0-9_])[A-Z][A-Z0-9_]{0,40}PASSW(?:OR)?D=[\"']?([^\s\"']{1,256})"),
        _set_password,
    ),
    _words(
        "password",
        rf"login[ \t]{{1,4}}\S{{1,80}}[ \t]{{1,4}}password[ \t]{{1,4}}{_VALUE}",
        password_confidence,
    ),
    _words("key", rf"{_KEY}{_WHICH}{_ASSIGN}{_VALUE}", key_confidence),
    _words(
        "key",
        rf"(?<![a-z]){_KEY}(?![a-z0-9_])(?:[^\n.:=]{{0,40}}?[ \t](?:is|was|to)(?:[ \t]now)?:?)?"
        rf"[ \t]{{1,2}}{_VALUE}",
        told_key_confidence,
    ),
)
