"""What a text is found by: the forms of its words, in any language."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from tests.strategies import any_text

from recollect.core.text import segments as segmentation
from recollect.core.text import terms as terms_module
from recollect.core.text.analysis import clean_query
from recollect.core.text.terms import (
    MAX_BYTES,
    MAX_QUERY_TERMS,
    analyze,
    analyze_fields,
    main_language,
    query_forms,
)


def finds(query: str, text: str) -> bool:
    """Whether every word of a query occurs in a text, in some form."""
    positions, languages = analyze(text)
    held = {form for forms in positions for form in forms}
    asked = query_forms(query, languages)
    return bool(asked) and all(held.intersection(forms) for forms in asked)


FOUND = [
    ("deploy", "Deployments go out with make release"),
    ("緑茶", "毎朝緑茶を飲む。"),
    ("茶", "毎朝緑茶を飲む。"),
    ("绿茶", "他每天早上喝绿茶。"),
    ("물", "물을 많이 마신다"),
    ("서울", "서울에서 만나요"),
    ("ภาษา", "ฉันพูดภาษาไทยได้"),
    ("Haus", "Die Häuser in der Straße sind alt"),
    ("strasse", "Die Häuser in der Straße sind alt"),
    ("Haeuser", "Die Häuser sind alt und nicht neu"),
    ("reunion", "La réunion est à neuf heures"),
    ("réunions", "La réunion est à neuf heures"),
    ("servidores", "El servidor está en Madrid"),
    ("книга", "Я читаю интересные книги"),
    ("елка", "Ёлка стоит в углу"),
    ("كتاب", "قرأت الكتاب في البيت"),
    ("בית", "הבית הגדול של דוד"),
    ("लड़का", "लड़के स्कूल में पढ़ते हैं"),
    ("nguyen", "Ông Nguyễn là người Huế"),
    ("ΟΔΟΣ", "η οδός είναι μακριά"),
    ("evler", "Bu evlerin hepsi çok eski"),
    ("2026", "في عام ٢٠٢٦"),
    ("ｶﾞｽ", "ガス料金"),
    ("order service", "OrderService is down"),
    ("OrderService", "restart OrderService"),
    ("make_release", "run make_release first"),
    ("release", "run make_release first"),
    ("2.3.1", "pinned to 2.3.1"),
    ("order_service.py", "see src/core/order_service.py"),
    ("ERR_CONN_RESET", "it says ERR_CONN_RESET"),
    ("bob", "write to bob@example.com"),
    ("C++", "rewritten in C++"),
    ("🍵", "tea 🍵 please"),
    ("password", "pass\u200bword"),
    ("deploy", "我们用 deploy 脚本发布"),
    ("the who", "The Who"),
]


@pytest.mark.parametrize(("query", "text"), FOUND)
def test_a_text_is_found_by_what_it_contains(query: str, text: str) -> None:
    assert finds(query, text)


NOT_FOUND = [
    ("art", "The start of it"),
    ("ano", "El año pasado en Madrid fue muy bueno"),
    ("茶", "毎朝コーヒーを飲む。"),
]


@pytest.mark.parametrize(("query", "text"), NOT_FOUND)
def test_another_word_is_not_found(query: str, text: str) -> None:
    assert not finds(query, text)


LANGUAGES = [
    ("Deployments go out with make release", ("en",)),
    ("Docker Postgres 5433", ("en",)),
    ("Wir deployen freitags nicht", ("de",)),
    ("Nunca se despliega los viernes", ("es",)),
    ("On ne déploie jamais le vendredi", ("fr",)),
    ("Я читаю книги", ("ru",)),
    ("Він читає книги і газети", ("uk",)),
    ("毎朝緑茶を飲む。", ("ja",)),
    ("他每天早上喝绿茶。", ("zh",)),
    ("서울에서 만나요", ("ko",)),
    ("ฉันพูดภาษาไทยได้", ("th",)),
    ("قرأت الكتاب في البيت", ("ar",)),
    ("این کتاب را برای او خریدم", ("fa",)),
    (
        "Die Regel ist: we do not deploy on Friday and you should not, das gilt auch für uns",
        ("en", "de"),
    ),
    ("Запусти deploy на сервере", ("ru", "en")),
]


@pytest.mark.parametrize(("text", "languages"), LANGUAGES)
def test_languages_are_detected_by_script_and_stop_words(
    text: str, languages: tuple[str, ...]
) -> None:
    assert analyze(text)[1] == languages


def test_a_tag_names_the_language() -> None:
    text = "Kunden zahlen per Rechnung"
    assert analyze(text)[1] == ("en",)
    for tag in ("lang:de", "Lang:DE"):
        analyzed = analyze_fields(text, (), (tag,), "fact")
        assert analyzed.languages == ("de",)
        assert ("kunden", "kund") in analyzed.fields[0]


def test_a_tag_cannot_name_a_language_of_another_script() -> None:
    for tag in ("lang:", "lang:ru", "lang:xx", "lang"):
        assert analyze_fields("Deployments go out", (), (tag,), "fact").languages == ("en",)


def test_a_wrong_language_leaves_the_word_as_it_is_written() -> None:
    for language in ("de", "fr", "fi", "tr"):
        analyzed = analyze_fields("Deployments of services", (), (f"lang:{language}",), "fact")
        assert [forms[0] for forms in analyzed.fields[0]] == ["deployments", "of", "services"]


def test_a_word_and_its_stem_are_one_position_and_one_word_of_a_query() -> None:
    assert analyze("deployments")[0] == [("deployments", "deploy")]
    assert query_forms("deployments", {"en"}) == [("deployments", "deploy")]


def test_a_query_is_analyzed_in_every_language_of_what_is_searched() -> None:
    assert query_forms("Häuser", {"en"}) == [("häuser", "hauser")]
    assert query_forms("Häuser", {"de"}) == [("häuser", "hauser", "haus")]
    (forms,) = query_forms("stationen", {"de", "sv", "ru"})
    assert {"stationen", "station"} <= {*forms}


STOPPED = [
    ("Where is the staging database?", ["staging", "database"]),
    ("Wo ist das Haus?", ["haus"]),
    ("¿Dónde está la biblioteca?", ["biblioteca"]),
    ("Où est la bibliothèque ?", ["bibliothèque"]),
    ("Где находится библиотека?", ["находится", "библиотека"]),
    ("What do they die of?", ["die"]),
    ("what is it", ["what", "is", "it"]),
]


@pytest.mark.parametrize(("query", "words"), STOPPED)
def test_stop_words_of_the_query_s_language_are_left_out(query: str, words: list[str]) -> None:
    assert [forms[0] for forms in query_forms(query, {"en", "de", "es", "fr", "ru"})] == words


def test_a_query_asks_for_a_word_once_and_for_no_more_than_a_hundred_or_so() -> None:
    assert query_forms("Deploy deploy DEPLOY", {"en"}) == [("deploy",)]
    many = " ".join(f"word{number}" for number in range(1_000))
    assert len(query_forms(many, {"en"})) == MAX_QUERY_TERMS


@given(any_text)
def test_terms_are_safe_in_every_index(text: str) -> None:
    """No spaces, no controls, nothing that FTS5's tokenizer would cut, and no empty term."""
    positions, _ = analyze(text)
    for forms in positions:
        for form in forms:
            assert re.fullmatch(r"[0-9a-z_./@:+#\-\u0080-\U0010ffff]+", form), form
            assert not any(character.isspace() for character in form)
            assert len(form.encode()) < 2_000


@given(any_text)
def test_a_text_is_found_by_itself(text: str) -> None:
    positions, languages = analyze(text)
    held = {form for forms in positions for form in forms}
    for forms in query_forms(text, languages):
        assert held.intersection(forms)


# Letters to Unicode, but used like an apostrophe, a dash or a mark.
PUNCTUATION = "\u02bc\u0640\uff9e\uff9f"


@pytest.mark.slow
def test_every_letter_of_unicode_is_found_by_itself() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        is_letter = unicodedata.category(character)[0] in "LN" and character not in PUNCTUATION
        if is_letter and not finds(character, character):
            pytest.fail(f"U+{code:04X} {unicodedata.name(character, '')}")


def test_200_scripts_in_one_text() -> None:
    letters = [chr(code) for code in range(0x41, 0x20000, 0x29) if chr(code).isalpha()]
    text = " ".join(letters)
    assert len(letters) > 1_000
    held = {form for forms in analyze(text)[0] for form in forms}
    assert all(held.intersection(query_forms(letter, ())[0]) for letter in letters)


def test_the_distinct_terms_of_a_memory_are_bounded() -> None:
    """The largest possible number of different pairs does not exceed what Postgres stores."""
    text = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(200_000))
    terms = analyze_fields(text, (), (), "fact")
    distinct = {form for field in terms.fields for forms in field for form in forms}
    assert sum(len(form.encode()) for form in distinct) <= MAX_BYTES
    assert len(distinct) > 10_000


def test_a_full_content_is_found_by_its_tags() -> None:
    text = " ".join(f"word{n}" for n in range(200_000))
    terms = analyze_fields(text, ["keyword"], ["tagged"], "fact")
    assert terms.fields[1:] == ([("keyword",)], [("tagged", "tag")], [("fact",)])
    assert len(terms.fields[0]) < 200_000


@pytest.mark.parametrize("mark", ["\u200b", "\u200e", "\u202e", "\ufeff", "\u00ad", "\ufe0f"])
def test_invisible_characters_do_not_hide_a_word(mark: str) -> None:
    hidden = f"make dep{mark}loy"
    assert analyze(hidden) == analyze("make deploy")
    assert query_forms(clean_query(hidden), ["en"]) == query_forms("make deploy", ["en"])


def test_a_variant_of_a_character_is_found_by_the_character() -> None:
    assert analyze("葛\U000e0100飾区") == analyze("葛飾区")


def test_regular_expressions_cannot_backtrack() -> None:
    """Every repetition is possessive, so no text causes backtracking: time is linear."""
    repetitions = re.findall(r"[\])][*+]\+?", segmentation._SEGMENT.pattern)
    assert repetitions
    assert all(repetition.endswith("+") and len(repetition) == 3 for repetition in repetitions)


def test_words_are_analyzed_once_and_remembered_within_bounds() -> None:
    analyze(" ".join(f"word{number}" for number in range(terms_module._CACHED + 10)))
    analyze("one more")
    assert sum(map(len, terms_module._known_forms.values())) <= terms_module._CACHED + 10


@pytest.mark.parametrize(
    "text", ["iPhone Pro", "release v2.3.1", "k8s pod", "Los Angeles trip", "José's number"]
)
def test_a_single_word_of_another_language_leaves_english_first(text: str) -> None:
    assert main_language(text) == "en"


@pytest.mark.parametrize(
    ("text", "language"),
    [("ខ្ញុំស្រឡាញ់ភាសាខ្មែរ", "km"), ("ຂ້ອຍຮັກພາສາລາວ", "lo"), ("ငါမြန်မာစာကိုချစ်တယ်", "my")],
)
def test_scripts_without_spaces_are_distinguished(text: str, language: str) -> None:
    assert main_language(text) == language


@pytest.mark.parametrize("text", ["నేను తెలుగు మాట్లాడతాను", "მე ქართულად ვლაპარაკობ"])
def test_a_script_of_no_known_language_is_not_english(text: str) -> None:
    assert main_language(text) == "und"


@pytest.mark.parametrize(
    ("text", "word"),
    [("เมื่อวานเห็นงูในสวน", "งู"), ("우리집은 크다", "집"), ("ရေနွေးကြမ်း", "ရေ")],
)
def test_a_word_of_one_character_is_indexed(text: str, word: str) -> None:
    indexed = {form for forms in analyze(text)[0] for form in forms}
    (asked,) = query_forms(word, ())
    assert not indexed.isdisjoint(asked)


def test_a_third_language_does_not_change_how_accents_are_folded() -> None:
    indexed = {form for forms in analyze("Les leçons du projet sont là")[0] for form in forms}
    (asked,) = query_forms("leçon", ("fr", "tr"))
    assert not indexed.isdisjoint(asked)
