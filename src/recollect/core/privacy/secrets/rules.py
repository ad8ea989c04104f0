"""Rules for credentials recognised by their context: addresses, headers, command lines, assignments
and sentences. Those with a form of their own are in `tokens`, which also says why no rule runs
long.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.core.privacy.secrets.codes import CODES
from recollect.core.privacy.secrets.logins import LOGINS
from recollect.core.privacy.secrets.numbers import NUMBERS
from recollect.core.privacy.secrets.plain_words import (
    PASSWORD,
    PLAIN_WORDS,
    file_password_confidence,
    plain_words_confidence,
)
from recollect.core.privacy.secrets.sentences import NOT_ABOUT, SENTENCES
from recollect.core.privacy.secrets.tokens import ASSIGN, TOKENS, Rule, machine_made, one_of, words
from recollect.core.privacy.secrets.values import (
    basic_confidence,
    chosen_key_confidence,
    header_confidence,
    key_confidence,
    password_confidence,
    sentence_key_confidence,
    sentence_password_confidence,
    set_key_confidence,
    set_password_confidence,
    url_password_confidence,
)

_VALUE: Final = (
    r"""(?:"([^"\n]{1,256})"|'([^'\n]{1,256})'|`([^`\n]{1,256})`|"""
    r"""([^\s"'`,;\u00ab\u00bb\u201c\u201d\u201e]{1,256}))"""
)
_WHICH: Final = (
    r"(?:[_-](?:prod|production|staging|dev|test|live|old|new|value|\d{1,2}))?(?![a-z0-9_])"
)
_PASSWORD: Final = (
    rf"(?:{PASSWORD}|\u5bc6\u7801|\u30d1\u30b9\u30ef\u30fc\u30c9|(?<![a-z])pwd?|(?<=[_-])pass)"
)
_KEY: Final = (
    r"(?:secret(?:[_-]?(?:access|api|signing))?(?:[_-]?(?:key|token))?(?:[_-]?base)?|"
    + one_of("api access account auth admin app signing service encryption private master jwt hmac")
    + r"[_ -]?(?:key|token|secret)|(?<!page)(?<!page[_ -])(?<!sync[_ -])(?<!next[_ -])token)"
)
_CHOSEN_KEY: Final = (
    r"(?<![a-z])(?:(?:encryption|signing|master|jwt|hmac)[._-]?key|"
    r"(?<=[a-z0-9][._-])secret(?:[._-]?key)?|(?<=[._-])(?:salt|pepper))"
)

# What a connection string contains besides the password.
_OTHER: Final = (
    r"(?:host(?:name|addr)?|server|data source|addr(?:ess)?|user(?:[ _]?(?:id|name))?|uid|"
    r"db(?:name|user|host)?|database|initial catalog|sslmode|port)"
)
_CONNECTING: Final = r"(?:passw(?:or)?d|pwd)[ \t]?=[ \t]?"
_GAP: Final = r"[\s&]{1,6}"
_PLAIN: Final = r"[ \t]?=[ \t]?[^\s;&]{0,127}[^\s;&,]"

RULES: Final[tuple[Rule, ...]] = (
    *TOKENS,
    *NUMBERS,
    *CODES,
    *SENTENCES,
    *PLAIN_WORDS,
    *LOGINS,
    words(
        "password in an address",
        # A name that is its own password is a throw-away one; a password may contain an `@`.
        r"(?<![a-z0-9])[a-z][a-z0-9+.-]{1,20}://([^\s:/@\"'<>]{0,128}):(?!\1@)"
        r"([^\s/\"'<>]{1,256})@[\w.\[-]",
        url_password_confidence,
    ),
    words(
        "password in an address",
        # The same with a slash in the password, which is not allowed but common. A number before
        # the slash is a port; other schemes have a path there that may contain an `@`.
        r"(?<![a-z0-9])(?!https?:|file:|git|ssh:|docker:|oci:)[a-z][a-z0-9+.-]{1,20}://"
        r"[^\s:/@\"'<>]{0,128}:(?!(?:\d{1,5}|port)[/?#])"
        r"([^\s/@\"'<>]{0,128}/[^\s@\"'<>]{0,128})@[\w.\[-]",
        url_password_confidence,
    ),
    words("bearer token", r"(?<![a-z])bearer[ \t:]{1,3}([a-z0-9._~+/=-]{16,})", machine_made(0.9)),
    words(
        "authorization header",
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:[a-z][a-z-]{2,20}[ \t]{1,3})?"
        r"([a-z0-9._~+/=-]{16,})",
        machine_made(0.9),
    ),
    words(
        "authorization header",
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:bearer|token)[ \t]{1,3}"
        r"([a-z0-9._~+/=-]{8,})",
        header_confidence,
    ),
    words(
        "basic credentials",
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?basic[ \t]{1,3}([a-z0-9+/]{6,}={0,2})",
        basic_confidence,
    ),
    words(
        "basic credentials",
        # Docker's and npm's settings.
        r"(?:[\"']auth[\"'][ \t]{0,4}:|(?<![a-z0-9])_auth[\"']?[ \t]{0,4}[:=])\s{0,4}[\"']?"
        r"([a-z0-9+/]{6,}={0,2})(?![a-z0-9+/=])",
        basic_confidence,
    ),
    words(
        "password in a connection string",
        rf"(?<![a-z]){_OTHER}[ \t]?=[^;\n]{{1,128}};(?:[^;=\n]{{1,40}}=[^;\n]{{0,128}};){{0,8}}"
        rf"[ \t]{{0,2}}{_CONNECTING}{_VALUE}",
        set_password_confidence,
    ),
    words(
        "password in a connection string",
        rf"(?<![a-z]){_OTHER}{_PLAIN}(?:{_GAP}[\w.-]{{1,60}}{_PLAIN}){{0,8}}"
        rf"{_GAP}(?:[\w.-]{{1,40}}[._-])?{_CONNECTING}{_VALUE}",
        set_password_confidence,
    ),
    words(
        "password in a connection string",
        rf"(?<![a-z]){_CONNECTING}{_VALUE}"
        rf"(?=[;\s&]{{1,6}}(?:[\w.-]{{1,40}}(?: \w{{1,20}})?{_PLAIN}[;\s&]{{1,6}}){{0,8}}"
        rf"{_OTHER}[ \t]?=)",
        set_password_confidence,
    ),
    words(
        "password in a connection string",
        # As arguments of a call, or as a table in code: there a password is quoted.
        rf"""(?<![a-z]){_OTHER}["']?[ \t]?[:=][ \t]?["'][^"'\n]{{1,128}}["'],\s{{0,12}}"""
        r"""(?:["']?\w{1,30}["']?[ \t]?[:=][ \t]?["']?[^"'\n,]{1,128}["']?,\s{0,12}){0,8}"""
        r"""["']?(?:passw(?:or)?d|pwd)["']?[ \t]?[:=][ \t]?["']([^"'\n]{1,256})["']""",
        set_password_confidence,
    ),
    words(
        "password on a command line",
        r"(?<![a-z])curl(?:[ \t][^\n]{0,160}?)?[ \t](?:-u|--user)[ \t=]{0,2}[\"']?[^\s:\"'$]{1,64}:"
        r"([^\s\"']{4,128})",
        password_confidence,
    ),
    words(
        "password on a command line",
        rf"(?:--passw(?:or)?d|(?<![a-z])sshpass[ \t]{{1,3}}-p)[ \t=]{{0,2}}{_VALUE}",
        password_confidence,
    ),
    words(
        "password on a command line",
        r"(?<![a-z])(?:mysql|mariadb)[a-z-]{0,9}(?:[ \t][^\n]{0,160}?)?[ \t]-p[\"']?"
        r"([^\s\"']{4,128})",
        password_confidence,
    ),
    words(
        "password on a command line",
        rf"(?<![a-z])docker[ \t]{{1,3}}login(?:[ \t][^\n]{{0,160}}?)?[ \t]-p[ \t=]{{1,2}}{_VALUE}",
        password_confidence,
    ),
    words("key on a command line", rf"--(?:api-key|token|secret)[ \t=]{_VALUE}", key_confidence),
    words("password", rf"{_PASSWORD}{_WHICH}{ASSIGN}{_VALUE}", password_confidence),
    words(
        "password",
        rf"passw(?:or)?d{NOT_ABOUT}[^\n.:=]{{0,40}}?[ \t](?:is|was|to)(?:[ \t]now)?:?"
        rf"[ \t]{{1,2}}{_VALUE}",
        sentence_password_confidence,
    ),
    words(
        "password",
        r"passw(?:or)?d(?:[ \t](?:for|of|on|at)[ \t][^\n:=]{1,40}|[ \t]?\([^\n()]{1,40}\))"
        rf"[ \t]{{0,2}}[:=][ \t]{{0,4}}{_VALUE}",
        sentence_password_confidence,
    ),
    words("password", r"<passw(?:or)?d>([^<\s]{1,256})</", password_confidence),
    Rule(
        "password",
        re.compile(
            r"(?<![A-Z0-9_])(?:[A-Z][A-Z0-9_]{0,40})?(?:PASSW(?:OR)?D|(?<=_)(?:PASS|PWD)|"
            r"(?:JWT|SESSION|COOKIE|CLIENT|APP|AUTH|SIGNING|WEBHOOK|HMAC)_SECRET)"
            r"=[\"']?([^\s\"']{1,256})"
        ),
        file_password_confidence,
    ),
    words(
        "password",
        # In properties; a bare `password: kebab-case` is more often a name.
        rf"(?<=\w\.)passw(?:or)?d[ \t]?[:=][ \t]?{_VALUE}",
        plain_words_confidence,
    ),
    words("key", rf"{_KEY}{_WHICH}{ASSIGN}{_VALUE}", set_key_confidence),
    words("key", rf"{_CHOSEN_KEY}{_WHICH}{ASSIGN}{_VALUE}", chosen_key_confidence),
    words(
        "key",
        rf"(?<![a-z]){_KEY}(?![a-z0-9_])(?:[^\n.:=]{{0,40}}?[ \t](?:is|was|to)(?:[ \t]now)?:?)?"
        rf"[ \t]{{1,2}}{_VALUE}",
        sentence_key_confidence,
    ),
)
