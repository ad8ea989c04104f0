"""What is proposed as a question about a user's own memories."""

from __future__ import annotations

import pytest
from tests.bench.memories import filler, memory

from recollect.core.memory.memory import Memory
from recollect_bench.data.strata import stems
from recollect_bench.own.questions import Proposal, propose_questions
from recollect_bench.own.words import OwnStratum, OwnWords, names

KESTREL = memory(1, "After each backup the Kestrel cluster reboots. Nobody is told in advance.")
NOTEBOOK = memory(2, "Marta keeps console access for Kestrel in a paper notebook at home.")
GARDEN = memory(
    3,
    "Watering happens before sunrise, otherwise leaves burn.",
    category="lesson",
    expanded_keywords=("leaves", "irrigation schedule", "plants"),
    tags=("sunrise", "allotment"),
)
TWIN = memory(4, "The lease ends in March", tags=("flat",))
OTHER_TWIN = memory(5, "The lease ends in March", tags=("flat",))
STORE = [KESTREL, NOTEBOOK, GARDEN, TWIN, OTHER_TWIN, *filler(100, 20)]
OWN = OwnWords.of(STORE)


def _propose(stratum: OwnStratum, own: OwnWords = OWN, count: int = 100) -> list[Proposal]:
    return propose_questions(own, {stratum: count}, 1, frozenset(), ask=False)


def _about(found: list[Proposal], *about: Memory) -> Proposal | None:
    gold = {str(memory.id) for memory in about}
    return next((proposal for proposal in found if set(proposal.gold) == gold), None)


def test_exact_questions_are_word_for_word_and_fit_one_memory_only() -> None:
    found = _propose("exact")
    for proposal in found:
        (id,) = proposal.gold
        assert proposal.text in OWN.memories[id].content
        assert 1 <= len(proposal.text.split()) <= 5
        fitting = [m for m in STORE if stems(proposal.text) <= stems(m.content)]
        assert [str(m.id) for m in fitting] == [id]
    assert _about(found, KESTREL)
    assert _about(found, TWIN) is None, "two memories have the same text: neither is the answer"


def test_exact_questions_quote_within_one_sentence_and_begin_and_end_with_telling_words() -> None:
    proposal = _about(_propose("exact"), KESTREL)
    assert proposal is not None
    assert "." not in proposal.text
    assert stems(proposal.text.split()[0])
    assert stems(proposal.text.split()[-1])


def test_a_paraphrase_is_made_of_labels_and_holds_no_rare_word_of_its_memory() -> None:
    found = _propose("paraphrase")
    proposal = _about(found, GARDEN)
    assert proposal is not None
    assert proposal.text.startswith("What did I learn about ")
    assert (
        "irrigation schedule" in proposal.text
        or "plants" in proposal.text
        or "allotment" in proposal.text
    )
    assert not {"sunrise", "leaves"} & set(proposal.text.split())
    assert not stems(proposal.text) & OWN.rare(str(GARDEN.id))
    assert _about(found, KESTREL) is None, "it has nothing but its own words"


def test_labels_that_another_memory_has_too_make_no_paraphrase() -> None:
    shared = [
        memory(1, "Rain fell on Tuesday", expanded_keywords=("weather log",)),
        memory(2, "Hail came down", expanded_keywords=("weather log", "damage")),
        *filler(100, 10),
    ]
    found = _propose("paraphrase", OwnWords.of(shared))
    assert _about(found, shared[0]) is None
    proposal = _about(found, shared[1])
    assert proposal is not None
    assert "damage" in proposal.text


def test_a_template_that_contains_a_rare_word_is_not_used() -> None:
    learnt = memory(
        1, "One can learn to juggle", category="lesson", expanded_keywords=("circus skill",)
    )
    proposal = _about(_propose("paraphrase", OwnWords.of([learnt, *filler(100, 10)])), learnt)
    assert proposal is not None
    assert proposal.text == "What about circus skill?"


def test_multi_hop_names_both_contexts_and_not_what_they_share() -> None:
    found = _propose("multi-hop")
    multi_hop = _about(found, KESTREL, NOTEBOOK)
    assert multi_hop is not None
    assert "kestrel" not in multi_hop.text.lower()
    for target in (KESTREL, NOTEBOOK):
        assert stems(multi_hop.text) & OWN.rare(str(target.id))
    # The twins share everything: there is no context that leads to one of them alone.
    assert [set(proposal.gold) for proposal in found] == [{str(KESTREL.id), str(NOTEBOOK.id)}]


def test_multi_hop_needs_a_name_that_exactly_two_memories_share() -> None:
    third = memory(6, "Kestrel costs 40 a month.")
    assert _propose("multi-hop", OwnWords.of([*STORE, third])) == []


def test_a_tag_links_two_memories_as_a_name_does() -> None:
    tagged = [
        memory(1, "pruning waits for frost", tags=("orchard",)),
        memory(2, "ladders live behind sheds", tags=("orchard",)),
        *filler(100, 10),
    ]
    (proposal,) = _propose("multi-hop", OwnWords.of(tagged))
    assert set(proposal.gold) == {str(memory.id) for memory in tagged[:2]}
    assert "orchard" not in proposal.text


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("we met Zora near Uppsala", {"zora", "uppsala"}),
        ("Zora came", set()),  # every sentence begins so
        ("port db7 and max_size and eBay", {"db7", "max", "siz", "ebay"}),
        ("ask Zora's sister", {"zora"}),
        ("nothing to see in 2024", set()),
    ],
)
def test_names_are_recognised_by_their_spelling(content: str, expected: set[str]) -> None:
    assert names(content) == expected


def test_the_same_seed_draws_the_same_questions_also_with_a_new_memory() -> None:
    first = propose_questions(OWN, {"exact": 5}, 1, frozenset(), ask=False)
    assert first == propose_questions(OWN, {"exact": 5}, 1, frozenset(), ask=False)
    assert first != propose_questions(OWN, {"exact": 5}, 2, frozenset(), ask=False)
    grown = OwnWords.of([*STORE, memory(7, "Violet umbrellas cost twelve crowns")])
    after = propose_questions(grown, {"exact": 5}, 1, frozenset(), ask=False)
    assert len({proposal.id for proposal in first} & {proposal.id for proposal in after}) >= 4


def test_known_questions_are_not_proposed_again() -> None:
    first = _propose("exact", count=2)
    known = frozenset(proposal.id for proposal in first)
    second = propose_questions(OWN, {"exact": 2, "paraphrase": 0}, 1, known, ask=False)
    assert len(first) == len(second) == 2
    assert not known & {proposal.id for proposal in second}
    assert propose_questions(OWN, {"exact": -1}, 1, frozenset(), ask=True) == []


def test_ask_adds_blank_paraphrases_for_a_person_to_write() -> None:
    found = propose_questions(OWN, {"paraphrase": 4}, 1, frozenset(), ask=True)
    assert [bool(proposal.text) for proposal in found] == [True, False, False, False]
    assert len({proposal.gold for proposal in found}) == 4


@pytest.mark.parametrize(
    ("stratum", "text", "about", "given_away"),
    [
        ("exact", "the Kestrel cluster", [KESTREL], set()),
        ("paraphrase", "which machines restart by themselves?", [KESTREL], set()),
        ("paraphrase", "which clusters restart?", [KESTREL], {"cluster"}),
        ("multi-hop", "who can reach the cluster that reboots?", [KESTREL, NOTEBOOK], set()),
        ("multi-hop", "who can reach Kestrel?", [KESTREL, NOTEBOOK], {"kestrel"}),
    ],
)
def test_typed_questions_must_not_give_the_answer_away(
    stratum: OwnStratum, text: str, about: list[Memory], given_away: set[str]
) -> None:
    assert OWN.given_away(stratum, text, [str(memory.id) for memory in about]) == given_away
