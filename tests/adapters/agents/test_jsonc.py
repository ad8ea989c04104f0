"""Edits in place: one thing changes, and every other character stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.adapters.agents.jsonc import NotJson, parse, put, remove

COMMENTED = """{
    // the servers of my team
    "mcpServers": {
        "a": {"command": "x"}, // first
        /* kept */ "b": {"command": "y", "ratio": 1.50} // second
    },
    "n": 1e3,
}
"""
ENTRY = {"command": "r", "args": ["mcp"]}


def test_a_new_member_comes_last_and_leaves_comments_with_their_lines() -> None:
    text = put(COMMENTED, ("mcpServers", "r"), ENTRY)
    assert text == COMMENTED.replace(
        '"ratio": 1.50} // second\n',
        '"ratio": 1.50}, // second\n'
        '        "r": {\n'
        '            "command": "r",\n'
        '            "args": [\n'
        '                "mcp"\n'
        "            ]\n"
        "        }\n",
    )


@pytest.mark.parametrize(
    "text",
    [
        COMMENTED,
        '{"a":1}',
        '{ "a" : [ ] }\n',
        '{\n\t"a": 1\n}',
        '{\r\n  "a": {\r\n    "b": "\\u00e9"\r\n  }\r\n}\r\n',
        '{\n  "a": 1,\n  // the end\n}\n',
        '{\n  "mcpServers": {\n    "z": 1\n  }\n}',
    ],
)
def test_what_was_put_in_and_taken_out_leaves_the_text_as_it_was(text: str) -> None:
    is_new = "mcpServers" not in text
    added = put(text, ("mcpServers", "r"), ENTRY)
    assert added != text
    assert remove(added, ("mcpServers",) if is_new else ("mcpServers", "r")) == text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", '{\n  // of b\n  "b": 2, // last\n  "c": 3\n}'),
        ("b", '{\n  "a": 1,\n  // of b\n  // last\n  "c": 3\n}'),
        ("c", '{\n  "a": 1,\n  // of b\n  "b": 2 // last\n}'),
    ],
)
def test_removing_keeps_every_comment(name: str, expected: str) -> None:
    text = '{\n  "a": 1,\n  // of b\n  "b": 2, // last\n  "c": 3\n}'
    assert remove(text, (name,)) == expected


def test_put_replaces_a_value_in_place() -> None:
    text = '{"a": {"b": [1, 2,3]} }'
    assert put(text, ("a", "b", 1), "two") == '{"a": {"b": [1, "two",3]} }'


def test_elements_come_and_go() -> None:
    text = '{\n  "h": {"S": []}\n}'
    one = put(text, ("h", "S", 0), 1)
    two = put(one, ("h", "S", 1), 2)
    assert json.loads(two) == {"h": {"S": [1, 2]}}
    assert json.loads(remove(two, ("h", "S", 0))) == {"h": {"S": [2]}}
    assert remove(two, ("h", "S", 1)) == one


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a": 1} x',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        '{"a": 1, "a": 2}',
        "{'a': 1}",
        '{"a": tru}',
        '{"a": 01}',
        '{"a": "\x01"}',
        '{"a": "\\q"}',
        "[" * 5000,
        '{"a": NaN}',
    ],
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        parse(text)


def test_comments_are_no_values() -> None:
    assert parse('{"a": "// no comment", /* { */ "b": 2,}').value == {
        "a": "// no comment",
        "b": 2,
    }
    with pytest.raises(NotJson):
        parse('{"a": 1 /* never ends')


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, max_size=4)
layouts = st.sampled_from(
    [
        {"indent": 2},
        {"indent": "\t"},
        {"separators": (",", ":")},
        {"indent": 4, "ensure_ascii": False},
    ]
)


@given(objects, layouts, st.text(), values)
def test_any_document_takes_a_member(
    document: dict[str, Any], layout: dict[str, Any], name: str, value: object
) -> None:
    text = json.dumps(document, **layout)
    added = put(text, (name,), value)
    assert json.loads(added) == {**document, name: value}
    taken = remove(added, (name,))
    assert json.loads(taken) == {key: one for key, one in document.items() if key != name}
    if document and name not in document:
        assert taken == text
