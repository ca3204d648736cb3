"""Shared JSON cannot be changed by any of its verbs."""

import copy
import json
import pickle
from typing import Any

import pytest

from retentive.checks import Json
from retentive.frozen import frozen

PLAIN: dict[str, Json] = {"tags": ["a", {"deep": [1]}], "n": 1}


def test_it_equals_the_plain_value_and_copies_are_plain() -> None:
    value = frozen(PLAIN)
    assert value == PLAIN
    assert json.loads(json.dumps(value)) == PLAIN
    copies: list[dict[str, Json]] = [copy.deepcopy(value), pickle.loads(pickle.dumps(value))]
    for plain in copies:
        assert plain == PLAIN
        assert type(plain) is dict
        assert type(plain["tags"]) is list
    assert frozen(value) is value


def test_it_does_not_share_with_what_it_was_made_of() -> None:
    inner: list[Json] = ["a"]
    value = frozen({"tags": inner})
    inner.append("b")
    assert value == {"tags": ["a"]}


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("__setitem__", ("a", 1)),
        ("__delitem__", ("n",)),
        ("__ior__", ({"a": 1},)),
        ("clear", ()),
        ("pop", ("n",)),
        ("popitem", ()),
        ("setdefault", ("a", 1)),
        ("update", ({"a": 1},)),
    ],
)
def test_no_verb_changes_the_dict(verb: str, arguments: tuple[Any, ...]) -> None:
    value = frozen(PLAIN)
    with pytest.raises(TypeError, match="stored dict cannot be changed"):
        getattr(value, verb)(*arguments)
    assert value == PLAIN


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("__setitem__", (0, 1)),
        ("__delitem__", (0,)),
        ("__iadd__", ([1],)),
        ("__imul__", (2,)),
        ("append", (1,)),
        ("clear", ()),
        ("extend", ([1],)),
        ("insert", (0, 1)),
        ("pop", ()),
        ("remove", ("a",)),
        ("reverse", ()),
        ("sort", ()),
    ],
)
def test_no_verb_changes_a_list_inside(verb: str, arguments: tuple[Any, ...]) -> None:
    value = frozen(PLAIN)
    with pytest.raises(TypeError, match="stored list cannot be changed"):
        getattr(value["tags"], verb)(*arguments)
    assert value == PLAIN
