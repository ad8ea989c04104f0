"""Read texts, and questions with a text that answers them, from the files of public repositories.

A reader gets all files of its source, so that it can join them. Texts are cut to what agents store:
a sentence or a few.
"""

from __future__ import annotations

import csv
import html
import io
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple


class Record(NamedTuple):
    """A text, a question, or both; `question` is empty if nobody asked for the text."""

    text: str
    question: str = ""


Files = Iterable[tuple[str, str]]
Reader = Callable[[Files, random.Random], Iterator[Record]]

_NAMES = (  # noqa: SIM905  # a list of names is longer
    "Anna Ben Carla Daniel Elena Felix Grace Hugo Ines Jack Kofi Lena Marco Nadia Oscar Priya Quinn"
    " Rosa Sam Tara Uma Victor Wendy Yusuf Zoe Chen Dmitri Emma Farah George Hana Ivan Julia Karl"
).split()
_LENGTHS = (90, 160, 250, 400, 520)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_FIRST_PERSON = re.compile(r"\b(I|I'm|I've|my|me|we|our)\b")
_STOP = {*"about with that this have like from what your they when where there would".split()}  # noqa: SIM905


def clean(text: str) -> str:
    """Return the text on one line: no line ends of any kind, no tabs."""
    return " ".join(text.split())


def cut(text: str, chance: random.Random) -> Iterator[str]:
    """Join sentences to pieces of various lengths, most of them short."""
    piece, length = "", chance.choice(_LENGTHS)
    for sentence in _SENTENCE_END.split(clean(text)):
        if piece and len(piece) + len(sentence) > length:
            yield piece
            piece, length = sentence, chance.choice(_LENGTHS)
        else:
            piece = f"{piece} {sentence}".strip()
    if piece:
        yield piece


# Documentation


def _markdown_sections(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the title, the heading and the body of each section, as plain text."""
    title = ""
    if front := re.match(r"---\s*\n(.*?)\n---\s*\n", text, re.DOTALL):
        text = text[front.end() :]
        if found := re.search(r"^title:\s*[\"']?(.*?)[\"']?\s*$", front[1], re.MULTILINE):
            title = found[1]
    text = re.sub(r"```.*?```|~~~.*?~~~|<!--.*?-->|\{[%{].*?[%}]\}", "\n", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)|</?[a-zA-Z][^>]*>", "", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    parts = re.split(r"^#{1,5}\s+(.*)$", "\n" + text, flags=re.MULTILINE)
    for heading, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        body = re.sub(r"^\s*(?:[-*+>]|\d+\.)\s+|^\|.*$|[`*]", "", body, flags=re.MULTILINE)
        yield title, re.sub(r"\{#.*?\}|[`*#]", "", heading).strip(), body


def _rst_sections(text: str) -> Iterator[tuple[str, str, str]]:
    text = re.sub(r"^\.\. .*(?:\n(?:[ \t].*)?)*", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"::\n(?:\n|[ \t].*\n)+", ":\n\n", text)
    text = re.sub(r":[\w:-]+:`~?([^`<]*)(?:<[^>]*>)?`", r"\1", text).replace("``", "")
    parts = re.split(r"^(\S.*)\n[=\-~^*\"'#]{3,}[ \t]*$", text, flags=re.MULTILINE)
    title = parts[1] if len(parts) > 1 else ""
    for heading, body in zip(["", *parts[1::2]], parts[::2], strict=True):
        yield (
            title,
            heading,
            re.sub(r"^[=\-~^*#]{3,}$|^\s*[-*] |[`*|]", "", body, flags=re.MULTILINE),
        )


def _documentation(
    sections: Callable[[str], Iterator[tuple[str, str, str]]], files: Files, chance: random.Random
) -> Iterator[Record]:
    for _, text in files:
        for title, heading, body in sections(text):
            name = heading if len(heading.split()) > 2 else f"{title} {heading}".strip()
            question = name if len(name.split()) > 1 and heading else ""
            for paragraph in re.split(r"\n\s*\n", body):
                for piece in cut(paragraph, chance):
                    if len(piece) < 50 or _MARKUP.search(piece):
                        continue
                    is_titled = not question and title and chance.random() < 0.12
                    yield Record(f"{title}: {piece}" if is_titled else piece, question)
                    question = ""  # a heading asks for the text that follows it


_MARKUP = re.compile(r"[{}]|\]\(|\|.*\||AUTOTITLE|^Table of Contents")


def markdown(files: Files, chance: random.Random) -> Iterator[Record]:
    return _documentation(_markdown_sections, files, chance)


def rst(files: Files, chance: random.Random) -> Iterator[Record]:
    return _documentation(_rst_sections, files, chance)


def proposals(files: Files, chance: random.Random) -> Iterator[Record]:
    return rst(((path, text) for path, text in files if "public domain" in text[-900:]), chance)


# Conversations: what people say of themselves, plan, want and decide


def _conversation(turns: list[tuple[str, str]], chance: random.Random) -> Iterator[Record]:
    turns = [(speaker, clean(said)) for speaker, said in turns if said]
    names = dict(zip(dict.fromkeys(who for who, _ in turns), chance.sample(_NAMES, 30)))  # noqa: B905
    style = chance.random()
    if style > 0.45:
        names = dict(zip(names, ("user", "assistant"))) if style < 0.7 else {}  # noqa: B905
    lines = [f"{names[who]}: {said}" if who in names else said for who, said in turns]
    for at, (who, said) in enumerate(turns):
        if len(said) > 22 and chance.random() < 0.55:
            yield Record(lines[at])
        answers = at + 1 < len(turns) and turns[at + 1][0] != who and len(turns[at + 1][1]) > 30
        if answers and said.endswith("?") and chance.random() < 0.25:
            yield Record(lines[at + 1], _SENTENCE_END.split(said)[-1])
    for at in range(0, len(turns), 3):
        if chance.random() < 0.3:
            yield Record(" ".join(lines[at : at + 3])[:700])


def dialogues(files: Files, chance: random.Random) -> Iterator[Record]:
    for _, text in files:
        for talk in _load(text, list):
            turns = talk.get("utterances") or talk.get("turns") or []
            yield from _conversation(
                [
                    (turn["speaker"], turn.get("text") or turn.get("utterance", ""))
                    for turn in turns
                ],
                chance,
            )


def meetings(files: Files, chance: random.Random) -> Iterator[Record]:
    for _, text in files:
        meeting = _load(text, dict)
        for turn in meeting.get("meeting_transcripts", []):
            for piece in cut(_detokenize(re.sub(r"\{\w+\}", "", turn["content"])), chance):
                if len(piece) > 60:
                    yield Record(f"{turn['speaker']}: {piece}" if chance.random() < 0.5 else piece)
        for asked in meeting.get("specific_query_list", []):
            for piece in list(cut(_detokenize(asked["answer"]), chance))[:3]:
                yield Record(piece, asked["query"])


def third_person(fact: str, name: str) -> str:
    """Turn what somebody says of themselves into a statement about them: `I've a dog`."""
    fact = fact.strip()
    for pattern, by in (
        (r"\bI(?: a|')m\b", f"{name} is"),
        (r"\bI(?:'ve| have)\b", f"{name} has"),
        (r"\bI do(?:n't| not)\b", f"{name} does not"),
        (
            r"\bI (was|can|can't|cannot|will|would|could|should|did|had|used|never|am)\b",
            rf"{name} \1",
        ),
        (r"\bI (\w+[aeiou]y|\w+e|\w*[^\Wsxzoy])\b(?<!ed)(?<!ch)(?<!sh)", rf"{name} \1s"),
        (r"\bI'd\b", f"{name} would"),
        (r"\bI\b", name),
        (r"\bme\b", "them"),
    ):
        fact = re.sub(pattern, by, fact)
    return re.sub(r"\b[Mm]y\b", "their" if fact.startswith(name) else f"{name}'s", fact)


def _words(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[a-z]{4,}", text.lower()) if word not in _STOP}


def personas(files: Files, chance: random.Random) -> Iterator[Record]:
    """Yield conversations, and facts about a person with the line of it that they bear on."""
    for _, text in files:
        for row in csv.DictReader(io.StringIO(text)):
            facts = [row.get(f"user {number} personas") or "" for number in (1, 2)]
            talk = re.findall(
                r"^(User \d): ?(.*)$", row.get("Best Generated Conversation") or "", re.MULTILINE
            )
            yield from _conversation(talk, chance)
            for fact in "\n".join(facts).splitlines():
                told = third_person(fact, chance.choice([*_NAMES, "The user"]))
                best = max(talk, key=lambda turn: len(_words(turn[1]) & _words(fact)), default=None)
                near = best is not None and len(_words(best[1]) & _words(fact)) > 1
                yield Record(told, best[1] if best and near and chance.random() < 0.6 else "")


def strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def guidelines(files: Files, chance: random.Random) -> Iterator[Record]:
    for _, text in files:
        for value in strings(_load(text, dict)):
            yield from (Record(piece) for piece in cut(value, chance) if len(piece) > 30)


# Questions, sentences and facts


def banking(files: Files, _: random.Random) -> Iterator[Record]:
    for _path, text in files:
        yield from (Record("", row[0]) for row in csv.reader(io.StringIO(text)) if row)


def intents(files: Files, _: random.Random) -> Iterator[Record]:
    for _path, text in files:
        for examples in _load(text, dict).values():
            yield from (Record("", example[0]) for example in examples)


def _rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.split("\n") if "\t" in line]


def wellformed(files: Files, _: random.Random) -> Iterator[Record]:
    for _path, text in files:
        yield from (Record("", _detokenize(row[0])) for row in _rows(text) if float(row[1]) >= 0.4)


def table_questions(files: Files, _: random.Random) -> Iterator[Record]:
    for _path, text in files:
        yield from (Record("", row[1]) for row in _rows(text)[1:])


def _detokenize(text: str) -> str:
    text = text.replace("-LRB-", "(").replace("-RRB-", ")").replace("``", '"').replace("''", '"')
    text = re.sub(r" ([,.;:?!)%]|'s\b|n't\b)", r"\1", text)
    return re.sub(r"([(]) ", r"\1", text)


def wiki_sentences(files: Files, _: random.Random) -> Iterator[Record]:
    for _path, text in files:
        yield from (Record(_detokenize(row[0].replace("''", ""))) for row in _rows(text))


def sentence_questions(files: Files, chance: random.Random) -> Iterator[Record]:
    asked: dict[tuple[str, str], None] = {}
    sentences: dict[str, str] = {}
    for path, text in files:
        if path.endswith("wiki-sentences.tsv"):
            sentences = {row[0]: _detokenize(row[1]) for row in _rows(text)}
        else:
            asked.update({(row[0], row[5]): None for row in _rows(text) if len(row) > 5})
    for sentence, question in asked:
        if sentence in sentences and chance.random() < 0.5:
            yield Record(sentences[sentence], question)
    yield from map(Record, sentences.values())


def medical(files: Files, chance: random.Random) -> Iterator[Record]:
    pair = re.compile(r"<Question[^>]*>(.*?)</Question>\s*<Answer>(.*?)</Answer>", re.DOTALL)
    for _, text in files:
        for question, answer in pair.findall(text):
            for at, piece in enumerate(list(cut(html.unescape(answer), chance))[:4]):
                yield Record(piece, "" if at else html.unescape(question))


def factbook(files: Files, chance: random.Random) -> Iterator[Record]:
    for _, text in files:
        country = _load(text, dict)
        names = country.get("Government", {}).get("Country name", {})
        name = names.get("conventional short form", {}).get("text", "none")
        for section in country.values():
            for topic, entry in (
                section.items() if isinstance(section, dict) and name != "none" else ()
            ):
                told = entry.get("text", "") if isinstance(entry, dict) else ""
                told = html.unescape(re.sub(r"<[^>]+>", " ", told))
                for piece in list(cut(told, chance))[:3]:
                    yield Record(f"{name}, {topic}: {piece}", f"{name} {topic.lower()}")


# natural-instructions: the inputs of many data sets, each with its own licence

_A_TASK = 1_000  # instances: many tasks say more than many instances
_CLEAR = re.compile(
    r"CC BY(-SA)?( [34]\.0)?|CC0.*|MIT|Apache( 2\.0)?|BSD.*|CDLA Permissive 2\.0|Public Domain"
)
# Sets that we measure with, that are not prose, or that nobody should remember.
_UNFIT = re.compile(
    r"hotpot|musique|2wiki|scifact|xquad|squad|locomo|longmem|msmarco|translation|hate|offens|toxic"
    r"|abus|sbic|spam|sexual|jigsaw|stereo|crows|gender|list|array|synthetic|conala|sql|splash|scan_"
    r"|cfq|math|aqua|asdiv|mawps|arithmetic|string|palindrome|leetcode|prime|number|count_|sort_"
    r"|code|quran|bible|babi|pos_tag|_ner|ner_|letter|word_|lambada|equation|cell|protein|dna|poem",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"<sep>|\w#\w|(System|Original) Reference|Gender: |PersonX|PersonY|___|Head: |https?://"
    r"|Relation :|Subject :|^\([A-E1-5]\)"
)
_LABEL = re.compile(
    r"\b(passage|paragraph|context|article|story|text|document|facts?|background|sentences?|input"
    r"|premise|abstract|summary|review|post|dialogue|conversation|content|title|answer|output|label"
    r"|category)\s*\d*\s*:\s*",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\bquestion\s*\d*\s*:\s*([^\n?]{8,250}\?)", re.IGNORECASE)


def _is_clear(task: dict[str, Any]) -> bool:
    licences = task.get("Instance License") or [""]
    spoken = {*task.get("Input_language", ["English"]), *task.get("Output_language", ["English"])}
    return spoken == {"English"} and all(_CLEAR.fullmatch(licence) for licence in licences)


def _instance(body: str, output: str, *, asks: bool, chance: random.Random) -> Iterator[Record]:
    found = _ASKED.search(body)
    question = output if asks and output.endswith("?") else found[1] if found else ""
    if found:
        body = body[: found.start()] if found.start() > 60 else body[found.end() :]
    body = re.sub(r"\b(answer|options?)\s*\d*:.*", "", body, flags=re.DOTALL | re.IGNORECASE)
    pieces = [piece for piece in cut(_LABEL.sub(" ", body), chance) if len(piece) >= 30]
    if question and pieces:
        sought = _words(f"{question} {output}")
        yield Record(max(pieces, key=lambda piece: len(_words(piece) & sought)), question)
    for piece in pieces:
        if not _NOISE.search(piece):
            is_told = _FIRST_PERSON.search(piece) and chance.random() < 0.3
            yield Record(f"{chance.choice(_NAMES)}: {piece}" if is_told else piece)


def tasks(files: Files, chance: random.Random) -> Iterator[Record]:
    for path, text in files:
        if _UNFIT.search(path):
            continue
        task = _load(text, dict)
        if not _is_clear(task):
            continue
        instances = task.get("Instances", [])
        for instance in chance.sample(instances, min(_A_TASK, len(instances))):
            output = instance["output"]
            output = output[0] if isinstance(output, list) and output else output
            if isinstance(output, str):
                asks = "question_generation" in path
                yield from _instance(instance["input"], output, asks=asks, chance=chance)


def _load(text: str, expected: type) -> Any:  # noqa: ANN401  # JSON has no type
    """Parse JSON; what is broken or of another shape is an empty one."""
    try:
        value = json.loads(text)
    except ValueError:
        return expected()
    return value if isinstance(value, expected) else expected()


READERS: dict[str, Reader] = {
    reader.__name__: reader
    for reader in (
        *(markdown, rst, proposals, dialogues, meetings, personas, guidelines, banking, intents),
        *(
            wellformed,
            table_questions,
            wiki_sentences,
            sentence_questions,
            medical,
            factbook,
            tasks,
        ),
    )
}
