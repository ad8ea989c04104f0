"""The vectors of a large store are the same in every run, and distributed as documented."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from recollect_bench.data.synthetic import synthetic_set
from recollect_bench.speed.corpus import Corpus
from recollect_bench.speed.vectors import Subjects, scatter_vectors

CORPUS = Corpus.seeded(3)


def test_a_memory_s_vector_is_reproducible_and_close_to_one_or_two_texts() -> None:
    among = np.eye(50, 64, dtype=np.float32)
    memories = list(islice(CORPUS.memories(0, 200), 200))
    vectors = scatter_vectors(among, memories)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(200), abs=1e-5)
    assert np.array_equal(scatter_vectors(among, memories[5:7]), vectors[5:7])
    nearest = np.sort(vectors @ among.T, axis=1)
    assert np.median(nearest[:, -1]) > 0.6  # one text above all,
    assert np.median(nearest[:, -2]) > 1.5 * np.median(nearest[:, -3])  # and mostly a second one


def test_subjects_of_sets_are_their_texts_and_questions_in_a_fixed_choice() -> None:
    data = synthetic_set()
    subjects = Subjects.of_sets([data], seed=1)
    assert set(subjects.texts) <= {document.content for document in data.documents}
    assert set(subjects.questions) <= {question.text for question in data.questions}
    assert subjects.questions
    assert subjects == Subjects.of_sets([data], seed=1)
    assert subjects != Subjects.of_sets([data], seed=2)


def test_without_sets_the_texts_are_memories_and_no_question_is_real() -> None:
    subjects = Subjects.made_up(CORPUS, 30)
    assert subjects.texts == [memory.content for memory in CORPUS.memories(0, 30)]
    assert subjects.questions == ()
