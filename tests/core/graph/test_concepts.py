"""Concepts found without a language model: what each rule finds, and what it leaves out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.core.graph.concepts import Relation, concept_key, mentions, relations


def find_labels(content: str, kind: str) -> list[str]:
    return [mention.label for mention in mentions(content) if mention.kind == kind]


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("I met Ludwig van Beethoven in Bonn.", ["Ludwig van Beethoven", "Bonn"]),
        ("the University of Copenhagen, in Denmark", ["University of Copenhagen", "Denmark"]),
        ("Anna works at Siemens.", ["Anna", "Siemens"]),
        ("When Anna left, Tom stayed.", ["Anna", "Tom"]),
        ("Ada works at Northwind.", ["Ada", "Northwind"]),
        ("Ada likes Postgres. Mia likes Redis.", ["Ada", "Postgres", "Mia", "Redis"]),
        ("Alterations of the brain", []),
        ("I read about Alterations. Alterations came later.", ["Alterations"]),
        ("He served in the U.S. Navy", ["U.S. Navy"]),
        ("Caroline: Hey Mel! Thanks!", ["Caroline", "Mel"]),
        ("On Monday in March I was there", []),
        ("Get Low (song)\nA song by DJ Snake.", ["Get Low", "DJ Snake"]),
        ("Person-centered therapy\nIt was made by Rogers.", ["Person-centered therapy", "Rogers"]),
        ("It rained all day.\nThen it stopped.", []),
        ("she saw Apollo 11 and 3M", ["Apollo 11", "3M"]),
    ],
)
def test_names_are_runs_of_capitalised_words_and_titles(content: str, names: list[str]) -> None:
    assert find_labels(content, "name") == names


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("Die Katharina arbeitet bei Siemens", ["Katharina", "Siemens"]),
        ("Wir haben gestern mit Peter über das Projekt gesprochen", ["Peter", "Projekt"]),
        ("Le chat de Marie est là. La réunion avec Jean est finie.", ["Marie", "Jean"]),
        ("L’équipe est en Espagne, pas à l'Opéra", ["Espagne", "Opéra"]),
        ("Los datos están en Madrid. Nunca se borran.", ["Madrid"]),
        ("Мы вчера встретили Ивана Петрова", ["Ивана Петрова"]),
        ("Когда ёлка стоит, а Ёжик спит", ["Ёжик"]),
        ("když to žena a Žofie ví", ["Žofie"]),
    ],
)
def test_plain_words_of_other_languages_are_no_names(content: str, labels: list[str]) -> None:
    assert [mention.label for mention in mentions(content) if mention.kind == "name"] == labels
    assert not {"gestern mit", "über das"}.intersection(find_labels(content, "phrase"))


@pytest.mark.parametrize(
    ("content", "phrases"),
    [
        (
            "we found a support group nearby",
            ["support group", "support group nearby", "group nearby"],
        ),
        ("i really like it", []),
        ("white matter, brain", ["white matter"]),
        ("the cat sat on the mat", ["cat sat"]),
    ],
)
def test_phrases_are_words_in_a_row_without_a_filler(content: str, phrases: list[str]) -> None:
    assert sorted(find_labels(content, "phrase")) == sorted(phrases)


@pytest.mark.parametrize(
    ("content", "kind", "labels"),
    [
        ("see https://example.org/a_b/c.", "url", ["https://example.org/a_b/c"]),
        ("in src/recollect/core.py or ~/notes", "path", ["src/recollect/core.py", "~/notes"]),
        ("this and/or that", "path", []),
        ("set graph_weight, call recall()", "code", ["graph_weight", "recall()"]),
        ("run `pg dump` with --dry-run", "code", ["pg dump", "--dry-run"]),
        ("class RecallSettings, useEffect", "code", ["RecallSettings", "useEffect"]),
        ("moved to v2.1.0-rc.1 from 1.9.3", "version", ["v2.1.0-rc.1", "1.9.3"]),
        ("needs Python 3.11 for 0.35", "version", ["Python 3.11"]),
        ("between 1960 and 2018, for 1,200 days", "year", ["1960", "2018"]),
    ],
)
def test_what_shows_by_its_shape(content: str, kind: str, labels: list[str]) -> None:
    assert find_labels(content, kind) == labels


def test_a_writers_own_words_are_concepts_too() -> None:
    found = mentions("ok", tags=("work",), expanded_keywords=("maintenance window", "work"))
    assert [(mention.label, mention.kind) for mention in found] == [
        ("work", "tag"),
        ("maintenance window", "keyword"),
    ]


def test_a_concept_is_listed_once_as_first_written() -> None:
    assert find_labels("we like Postgres. The Postgres of today, POSTGRES!", "name") == ["Postgres"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Beatles", "beatles"),
        ("J. K. Rowling's", "J.K. Rowling"),
        ("Beyoncé", "Beyonce"),
        ("U.S. Navy", "US Navy"),
        ("support-groups", "support group"),
        ("New  York", "new york"),
        ("Anna’s", "Anna"),
        ("cities", "city"),
    ],
)
def test_two_spellings_share_a_key(one: str, other: str) -> None:
    assert concept_key(one) == concept_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("v2.1", "v21"), ("C++", "C"), ("C#", "C"), ("Python 3.11", "Python 3.12"), ("glass", "glas")],
)
def test_two_concepts_do_not_share_a_key(one: str, other: str) -> None:
    assert concept_key(one) != concept_key(other)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Anna works at Siemens.", [("anna", "works at", "siemen")]),
        ("Anna moved to the Hague.", [("anna", "lives in", "hague")]),
        (
            "Jaws (1975) is a film directed by Steven Spielberg",
            [("jaw", "directed by", "steven spielberg")],
        ),
        ("Paris is the capital of France and Rome of Italy", [("paris", "capital of", "france")]),
        ("Anna talked about Siemens. Bonn was nice.", []),
        ("Anna works at Anna", []),
    ],
)
def test_relations_are_those_plainly_stated(
    content: str, expected: list[tuple[str, str, str]]
) -> None:
    assert relations(content) == tuple(Relation(*each) for each in expected)


@given(st.text(max_size=300))
def test_any_text_has_concepts_that_can_be_kept(content: str) -> None:
    found = mentions(content)
    assert len({mention.key for mention in found}) == len(found)
    assert all(mention.key == concept_key(mention.label) and mention.label for mention in found)
    keys = {relation.source for relation in relations(content)}
    assert all(keys)


def test_a_long_text_costs_no_more_than_its_length() -> None:
    """Every rule is linear: a quadratic one would take minutes here."""
    latin = ("A ", "a.", "x_", "/a", "A of ", "v1.", "( ", "`", "www.", "a-", "Aa of the ", "l'")
    for piece in (*latin, "王", "คุณ", "가는", "“", "श्री "):
        mentions(piece * 20_000)
        relations(piece * 20_000)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("アトラスはポストグレスを使う", {"アトラス", "ポストグレス"}),
        ("設計書は「銀河計画」にある", {"銀河計画", "設計書"}),
        ("田中さんは東京の支社で働いている", {"田中", "東京", "支社"}),
        ("我们在《银河计划》里用了新的数据库", {"银河计划"}),
        ("他每天早上喝红茶", set()),
        ("そうですね", set()),
        ("王伟在北京的阿里巴巴工作", {"王伟", "北京"}),
        ("我和李小明在中国银行工作，周老师也在", {"李小明", "中国银行", "周老师"}),
        ("他在上海市南京路买了书", {"上海市", "南京路"}),
        ("市场很大，这家公司很好，周五马上就要上市", set()),
        ("“银河计划”明天开始，他说“我不知道”", {"银河计划"}),
        ("我们使用Postgres数据库和graph_weight参数", {"Postgres", "graph_weight"}),
        ("김민수는 삼성전자에서 일한다", {"김민수", "삼성전자"}),
        ("박지성 씨가 Postgres를 쓴다", {"박지성", "Postgres"}),
        ("사용하는 사람, 재미있는 것, 똑같은 것", set()),
        ("मैं श्री राहुल के साथ Siemens में काम करता हूँ", {"राहुल", "Siemens"}),
        ("हाँ जी, राहुल जी आए", {"राहुल"}),
        ("คุณสมชายทำงานที่กรุงเทพ", {"สมชาย"}),
        ("คุณชอบกาแฟไหม คุณภาพดี ขอบคุณมาก", set()),
        ("أحمد يعمل في شركة كبيرة", set()),
        ('السيد أحمد يعمل في "مشروع النيل"', {"أحمد", "مشروع النيل"}),
        ("السيد الرئيس هنا", set()),
        ('ד"ר כהן עובדת כאן', {"כהן"}),
    ],
)
def test_names_in_scripts_without_capitals(text: str, labels: set[str]) -> None:
    assert {found.label for found in mentions(text)} == labels


def test_voiced_kana_are_other_letters() -> None:
    assert len({concept_key(name) for name in ("ハス", "バス", "パス")}) == 3
    assert concept_key("\u30cf\u3099ス") == concept_key("バス")
    assert concept_key("한국") == "한국"
