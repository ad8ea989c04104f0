"""Credentials with a recognisable form, one rule each: private keys, and tokens with their issuer's
prefix.

No text can make a rule slow: every repetition is bounded, or covers one character class after a
prefix that cannot occur inside it. So time never grows faster than the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from recollect.core.privacy.secrets.values import looks_random

Judge = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Rule:
    """`kind` is shown to people. The secret is the pattern's last matched group, or the whole
    match; `judge` turns its text into a confidence.
    """

    kind: str
    pattern: re.Pattern[str]
    judge: Judge


def sure(confidence: float) -> Judge:
    """Create a judge for unmistakable forms, except in the examples of manuals."""

    def judge(text: str) -> float:
        return 0.0 if re.search(r"example|x{6}|\*{4}|\.{4}", text, re.IGNORECASE) else confidence

    return judge


def machine_made(confidence: float) -> Judge:
    """Create a judge for forms that many harmless texts share: only machine-generated
    values count.
    """

    def judge(text: str) -> float:
        return confidence if looks_random(text) else 0.0

    return judge


def words(kind: str, pattern: str, judge: Judge) -> Rule:
    """Create a rule that ignores case."""
    return Rule(kind, re.compile(pattern, re.IGNORECASE), judge)


def one_of(listed: str) -> str:
    """Compile a pattern for the words of a long list. Those with the same first letter are tried
    together, because trying each of them at every word of a text takes several times as long.
    """
    rests: dict[str, list[str]] = {}
    for word in listed.split():
        rests.setdefault(word[0], []).append(re.escape(word[1:]))
    branches = (f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items())
    return f"(?:{'|'.join(branches)})"


def _token(kind: str, *forms: str, judge: Judge = sure(0.97)) -> Rule:  # noqa: B008  # a constant
    # The look-behind keeps a long run of such characters from being tried at every position.
    return Rule(kind, re.compile(rf"(?<![A-Za-z0-9_-])(?:{'|'.join(forms)})"), judge)


# How an assignment is written, including Markdown (`**Password:** ...`, table cells) and across the
# end of a line.
ASSIGN: Final = (
    r"""["'`*]{0,2}\]?[ \t]{0,4}(?::=|=>|->|=|[:\uff1a\u2192|])\*{0,2}[ \t]{0,4}"""
    r"""(?:\n[ \t]{0,8})?(?:[rbuf](?=["']))?"""
)
_QUOTE: Final = r"""\\{0,2}["']"""
_JWK_TYPE: Final = rf"{_QUOTE}kty{_QUOTE}\s{{0,5}}:\s{{0,5}}{_QUOTE}(?:EC|RSA|OKP|oct){_QUOTE}"
_JWK_PRIVATE: Final = (
    rf"{_QUOTE}[dk]{_QUOTE}\s{{0,5}}:\s{{0,5}}{_QUOTE}([A-Za-z0-9_-]{{20,}}){_QUOTE}"
)
_BASE64: Final = "[A-Za-z0-9+/=]"
_LINE_END: Final = r"[ \t>]{0,4}(?:\\n|\r?\n)[ \t>]{0,4}"

TOKENS: Final[tuple[Rule, ...]] = (
    Rule(
        "private key",
        re.compile(
            # The five dashes of PEM, or the four of SSH2; then headers, but not past the key's end.
            r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:[^-]|-(?!--)){0,200}?"
            # A long line, or three short ones.
            rf"(?:{_BASE64}{{32}}|(?:{_BASE64}{{8,31}}{_LINE_END}){{2}}{_BASE64}{{4}})"
            r"[A-Za-z0-9+/=\s\\]{0,20000}(?:-{4,5} ?END [A-Z0-9 ]{0,40}-{4,5})?"
        ),
        sure(0.99),
    ),
    Rule(
        "private key",
        re.compile(r"PuTTY-User-Key-File-\d[\s\S]{0,4000}?Private-Lines: \d+\s+[A-Za-z0-9+/=]{32}"),
        sure(0.99),
    ),
    # A public JSON web key has no member `d`; in a symmetric one the key is `k`.
    Rule(
        "private key",
        re.compile(rf"{_JWK_TYPE}[^{{}}]{{0,1500}}?{_JWK_PRIVATE}"),
        machine_made(0.97),
    ),
    Rule(
        "private key",
        re.compile(rf"{_JWK_PRIVATE}(?=[^{{}}]{{0,1500}}?{_JWK_TYPE})"),
        machine_made(0.97),
    ),
    _token("age key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _token("AWS access key id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])"),
    words(
        "AWS secret key",
        rf"aws[_ -]?secret[_ -]?(?:access[_ -]?)?key{ASSIGN}[\"']?"
        r"([a-z0-9/+]{40})(?![a-z0-9/+=])",
        sure(0.98),
    ),
    _token("Google API key", r"AIza[0-9A-Za-z_-]{35}(?![0-9A-Za-z_-])"),
    _token("Google OAuth secret", r"GOCSPX-[0-9A-Za-z_-]{28}", r"ya29\.[0-9A-Za-z_-]{20,}"),
    Rule(
        "Google service account",
        re.compile(r'"private_key_id"\s{0,5}:\s{0,5}"([0-9a-f]{40})"'),
        machine_made(0.9),
    ),
    words("Azure storage key", r"AccountKey=([a-z0-9+/]{86}==)", sure(0.98)),
    words("Azure shared key", r"SharedAccessKey=([a-z0-9+/]{43}=)", sure(0.98)),
    words("Azure SAS", r"[?&]sig=([a-z0-9%+/]{40,120}(?:%3D|=))", sure(0.9)),
    _token("Azure client secret", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _token("GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,255}", r"github_pat_[A-Za-z0-9_]{60,255}"),
    _token("GitLab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent)-[A-Za-z0-9_-]{20,}"),
    _token("Slack token", r"xox[abeoprs]-[0-9][A-Za-z0-9-]{10,}", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    Rule(
        "Slack webhook",
        re.compile(r"hooks\.slack\.com/services/T[A-Z0-9]{8,12}/B[A-Z0-9]{8,12}/[A-Za-z0-9]{24}"),
        sure(0.95),
    ),
    _token("Stripe key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}", r"whsec_[A-Za-z0-9+/]{32,}"),
    _token("Anthropic key", r"sk-ant-[A-Za-z0-9_-]{24,}"),
    _token("OpenAI key", r"sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{24,}"),
    _token("OpenAI key", r"sk-(?:or-v1-)?[A-Za-z0-9]{32,}(?![A-Za-z0-9_-])"),
    _token("Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    _token("Voyage key", r"pa-[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", judge=machine_made(0.85)),
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
)
