"""Find what a person says that is worth storing, by rules: no model is used, and nothing is
guessed.

Too little is better than too much: a missed memory can be repeated, while a wrong one is injected
before many prompts. So only four forms count, in which people say that something is to last: a
request to remember, a correction, a preference, a decision. A question is none of them, nor is a
sentence that depends on what was said before: a memory must make sense alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from recollect.core.agents.injection import neutralize, remove_injections
from recollect.core.agents.pasted import remove_pasted
from recollect.core.recall.relevance import stem
from recollect.core.text.segments import words
from recollect.core.text.stop_words import english_stop_words

MAX_STATEMENT: Final = 500
# "Never use tabs" is a complete instruction; two words hardly ever are.
_MIN_WORDS: Final = 3
# The most from one exchange: whoever pastes a document does not mean all of it.
MAX_STATEMENTS: Final = 5
_MAX_TEXT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Statement:
    """One self-contained statement, how much it seems to matter, and when it was said, if known."""

    content: str
    category: str
    importance: float
    said_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    category: str
    importance: float


def _rule(pattern: str, category: str, importance: float) -> _Rule:
    return _Rule(re.compile(pattern, re.IGNORECASE), category, importance)


_CORRECTING: Final = (
    r"(?:no|nope|wrong|actually|that'?s (?:wrong|not right|incorrect)|not quite)"
    r"[,.:!]?\s+(?:please )?"
)
_DOING: Final = (
    r"(?:use|prefer|call|run|put|write|name|keep|avoid|deploy|commit|store|import|test|"
    r"stick (?:to|with))"
)
# In order of certainty; the first match decides. `kept` is what is stored.
_RULES: Final = (
    _rule(
        r"(?:please |also |and )*(?:remember|note|keep in mind|don'?t forget|do not forget)"
        r"(?: for (?:next time|later|the future))?(?: that|:|,)\s*(?P<kept>.+)",
        "fact",
        0.8,
    ),
    _rule(
        r"(?:for future reference|from now on|going forward)[,:]?\s*(?P<kept>.+)", "preference", 0.8
    ),
    # The same in German, French, Spanish, Russian, Japanese and Chinese.
    _rule(
        r"(?:bitte )?(?:merke? dir(?: mal)?|merken sie sich|denke? (?:bitte |mal )?(?:daran|dran)|"
        r"denken sie (?:bitte )?(?:daran|dran)|vergiss (?:bitte |mal )?nicht|vergessen sie nicht|"
        r"nicht vergessen|behalte? im kopf|behalte? im hinterkopf|notiere? dir)"
        # "Denk dran, die Tests laufen zu lassen" asks for work.
        r"(?: bitte)?(?:,? dass|:|,(?!.* zu \w+en[.!]?$))\s*(?P<kept>.+)"
        r"|(?:s'il (?:te|vous) pla[iî]t,? )?(?:souviens-toi|souvenez-vous|rappelle-toi|"
        r"rappelez-vous|retiens|retenez|note|notez|(?:n')?oublie pas|(?:n')?oubliez pas|"
        r"garde en tête|gardez en tête|sache|sachez)(?: bien)?(?: que| qu'|:|,)\s*(?P<kept_fr>.+)"
        r"|(?:por favor,? )?(?:recuerd[ae]|acuérdate(?: de)?|acuérdese(?: de)?|ten en cuenta|"
        r"tenga en cuenta|ten presente|apunt[ae]|anot[ae]|no (?:te )?olvides?(?: de)?)"
        r"(?: que|:|,)\s*(?P<kept_es>.+)"
        r"|(?:пожалуйста,? )?(?:запомни(?:те)?|помни(?:те)?|учти(?:те)?|не забудь(?:те)?|"
        r"не забывай(?:те)?|запиши(?:те)?|возьми(?:те)? на заметку|знай(?:те)?|"
        r"име(?:й|йте) в виду)(?:,? пожалуйста)?(?:,? что|:|,)\s*(?P<kept_ru>.+)"
        r"|[请請]?(?:记住|記住|记得|記得|别忘了|別忘了|请注意|請注意)[，,：:]?\s*(?P<kept_zh>.+)"
        # Alone, these are also "write down" and "do not forget to": a comma or colon follows.
        r"|[请請你]?(?:记一下|記一下|记着|記著|别忘记|別忘記|不要忘记|不要忘記)[，,：:]\s*(?P<kept_zh2>.+)"
        r"|(?:覚えておいて|覚えといて|覚えて|忘れないで|メモして(?:おいて)?)(?:ください|下さい|ね)?[、,：:。]"
        r"\s*(?P<kept_ja>.+)"
        r"|(?P<kept_ja2>.+?)(?:ということ|って)?[をは]?(?<=[をはて])(?:覚えておいて|覚えといて|忘れないで)"
        r"(?:ください|下さい|ね)?。?",
        "fact",
        0.8,
    ),
    _rule(
        r"(?:ab jetzt|ab sofort|von (?:nun|jetzt) an|in zukunft|künftig|zukünftig)[,:]?"
        r"\s*(?P<kept>.+)"
        r"|(?:désormais|dorénavant|à partir de maintenant|à l'avenir)[,:]?\s*(?P<kept_fr>.+)"
        r"|(?:(?:de ahora )?en adelante|a partir de ahora|desde ahora)[,:]?\s*(?P<kept_es>.+)"
        r"|(?:с этого момента|отныне|впредь|теперь всегда)[,:]?\s*(?P<kept_ru>.+)"
        r"|(?:[从從]现在开始|從現在開始|[从從]现在起|從現在起)[，,：:]?\s*(?P<kept_zh>.+)"
        # Alone, these are also "later" and "after": an instruction follows, or a comma.
        r"|(?:今后|今後|以后|以後)(?:[，,：:]\s*|(?=[请請都要不别別]|一律|总是|總是|必须|必須|使用|用))"
        r"(?P<kept_zh2>.+)"
        r"|(?:これからは|今後は|以後は?)[、,：:]?\s*(?P<kept_ja>.+)",
        "preference",
        0.8,
    ),
    # A correction has two sides, or says "always" or "never"; "No, run it again" is a request.
    _rule(
        rf"{_CORRECTING}(?P<kept>(?:always|never) {_DOING}\b.+"
        rf"|{_DOING}\b.+? (?:instead of|rather than|not|over|and not) .+"
        r"|(?:it'?s|it is|we|our|the|my|your) .+(?:, (?:and )?not | instead of | rather than "
        r"| not .+ but ).+"
        r"|we (?:don't|do not|never|no longer) .+"
        r"|we (?:use|prefer|deploy|write|call|name|keep|avoid|store)\b.+"
        r"|(?:don't|do not|stop|avoid) (?:using|use|call|calling|commit|committing|push|pushing|"
        r"mock|mocking|add|adding|write|writing|put|putting|touch|touching|edit|editing)\b.+)",
        "lesson",
        0.7,
    ),
    # Standing orders that a correction opens: "No, use pnpm for the web frontend."
    _rule(
        r"(?:no|nope|wrong)[,.:!]\s*(?:please )?(?P<kept>"
        r"(?:use|prefer|avoid|stick (?:to|with)) .+ (?:for|in|on|with|when|everywhere) .+)",
        "lesson",
        0.7,
    ),
    _rule(
        r"(?P<kept>(?:I|we)(?: really| absolutely| just)? (?:hate|dislike|love|can't stand|"
        r"cannot stand|(?:don't|do not) like|(?:don't|do not) want) "
        r"(?!to (?:ask|bother|interrupt|say|be|admit|break|do)\b|how |when |the (?:idea|way|sound|"
        r"look)\b|your |you\b|what ).+)",
        "preference",
        0.7,
    ),
    _rule(
        r"(?P<kept>(?:I|we)(?: really| strongly| generally| usually)? "
        r"(?:prefer|like to|want you to|"
        r"(?:always|never) (?:want|use|do|write|commit|run|put|deploy|merge|push|call|name|need|"
        r"test|keep|log|store|send|start))\b.+)",
        "preference",
        0.7,
    ),
    _rule(
        r"(?:please )?(?P<kept>(?:always|never) (?!mind\b)[a-z]+ .+)",
        "preference",
        0.7,
    ),
    _rule(
        r"(?:so |ok(?:ay)?,? )?(?P<kept>(?:we(?:'ve| have)? (?:decided|agreed|settled|chose|opted)"
        r"|I(?:'ve| have)? decided|the decision is|our decision is)\b.+)",
        "decision",
        0.7,
    ),
    _rule(r"(?:so |ok(?:ay)?,? )?(?P<kept>let'?s (?:go|stick) with .+)", "decision", 0.6),
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[\"'(A-Z0-9ÄÖÜÉÀÇ¿¡А-ЯЁ])|(?<=[。！？])|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
# References to other sentences: alone, such a sentence says nothing.
_REFERENCES: Final = re.compile(
    r"\b(?:this(?! (?:repo|repository|project|codebase|package|service|team)\b)|that|these|those|"
    r"it|them|the above|the following|as (?:discussed|mentioned|shown)|"
    r"here|the same|the other one|the (?:first|second|last|latter|former)(?: one)?|"
    r"(?:option|plan|approach|version) (?:[a-z]|\d))\b",
    re.IGNORECASE,
)
# Words that only apply until the current work is done.
_PASSING: Final = re.compile(
    r"\b(?:for now|right now|at the moment|this time|just this once|temporarily|today|tomorrow|"
    r"for a (?:second|minute|moment)|in this (?:session|chat|conversation|file|function)|"
    r"heute|vorerst|im moment|diesmal|pour l['’]instant|aujourd['’]hui|cette fois|por ahora|"
    r"esta vez|сегодня|на этот раз|пока что)\b|今日|今回|とりあえず|今天|这次|這次|暂时|暫時",
    re.IGNORECASE,
)


def statements(text: str, said_at: datetime | None = None) -> list[Statement]:
    """Find what to store of one person's message; pasted and injected text does not count."""
    own = remove_pasted(remove_injections(text))[:_MAX_TEXT]
    found: dict[str, Statement] = {}
    for sentence in _sentences(own):
        statement = _match_rules(sentence)
        if statement is not None:
            dated = replace(statement, said_at=said_at)
            found.setdefault(statement.content.casefold(), dated)
    return list(found.values())[:MAX_STATEMENTS]


def _sentences(text: str) -> Iterator[str]:
    for part in _SENTENCE_END.split(text):
        sentence = " ".join(_BULLET.sub("", part).split())
        if sentence:
            yield sentence


def _match_rules(sentence: str) -> Statement | None:
    if sentence.endswith(("?", "？")) or len(sentence) > MAX_STATEMENT:
        return None
    typed = sentence.replace("’", "'")
    for rule in _RULES:
        found = rule.pattern.fullmatch(typed)
        if found is None:
            continue
        matched = next(
            sentence[slice(*found.span(name))] for name, text in found.groupdict().items() if text
        )
        kept = neutralize(matched).strip(" ,;:-、，：")
        if not is_self_contained(kept):
            return None
        return Statement(kept[0].upper() + kept[1:], rule.category, rule.importance)
    return None


def is_self_contained(text: str) -> bool:
    """Whether a sentence makes sense alone and is meant to last."""
    telling = [word for word in words(text) if word not in english_stop_words() and len(word) > 1]
    return (
        len(words(text)) >= _MIN_WORDS
        and len(telling) >= 2
        and not _PASSING.search(text)
        and not _REFERENCES.search(text)
    )


def stem_telling_words(text: str) -> frozenset[str]:
    """Return the stems by which two statements are compared. "Not" counts: it reverses a
    statement.
    """
    stopped = english_stop_words() - {"not", "never", "no"}
    return frozenset(stem(word) for word in words(text) if word not in stopped)


# Below this share in common, a longer statement is about something else.
_NEAR: Final = 0.5


def adds_nothing(new: str, old: str) -> bool:
    """Whether a new statement adds nothing to an old one, in any order and form of the words."""
    return stem_telling_words(new) <= stem_telling_words(old)


def refines(new: str, old: str) -> bool:
    """Whether a statement says everything that an older one says, and a little more."""
    before, after = stem_telling_words(old), stem_telling_words(new)
    return before < after and len(before) >= _NEAR * len(after)


def is_supported(statement: str, messages: Sequence[str]) -> bool:
    """Whether most of what a model extracted from an exchange was really said in it."""
    claimed = stem_telling_words(statement)
    heard = frozenset().union(*map(stem_telling_words, messages)) if messages else frozenset()
    return bool(claimed) and len(claimed & heard) >= 0.6 * len(claimed)
