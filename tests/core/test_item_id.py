"""Ids of items: text and integers never meet."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist.core.item_id import LARGEST_INTEGER, checked_id, id_order, item_of_text, item_text, plain_id, twin_id
from toplist.core.problem import InvalidInput

INTEGERS = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=30) | INTEGERS.map(str)


@given(st.sets(INTEGERS | TEXTS))
def test_ids_and_their_texts_are_one_to_one(ids: set[Any]) -> None:
    texts = {item_text(id) for id in ids}
    assert len(texts) == len(ids)
    assert {item_of_text(text) for text in texts} == ids
    assert all(item_text(id) == id for id in ids if isinstance(id, str))
    assert sorted(sorted(ids, key=repr), key=id_order) == sorted(ids, key=id_order)


@given(INTEGERS)
def test_twins_look_the_same(number: int) -> None:
    assert twin_id(number) == str(number)
    assert twin_id(str(number)) == number


@pytest.mark.parametrize("given_id", [True, np.True_, 7.0, np.float64(7.0), None, b"7", [7], 2**53, -(2**53), 2**70])
def test_what_is_no_id_is_refused(given_id: Any) -> None:
    assert plain_id(given_id) is None
    with pytest.raises(
        InvalidInput, match=r"The item is .*, but must be text or a whole number between -9007199254740991"
    ):
        checked_id("The item", given_id)


def test_integers_of_numpy_are_plain() -> None:
    for number in (np.int64(7), np.uint8(7), 7):
        assert type(plain_id(number)) is int
    assert checked_id("The item", -LARGEST_INTEGER) == -LARGEST_INTEGER


@pytest.mark.parametrize("text", ["\t", "\t07", "\t-0", "\t+7", "\t7 ", "\t7\n", "\t7.0", "\t٣", "\t9007199254740992"])
def test_an_integer_has_one_text(text: str) -> None:
    with pytest.raises(InvalidInput, match="but a tab must be followed by a whole number"):
        item_of_text(text)
