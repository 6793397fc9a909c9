"""Display names: 1 to 24 letters, digits, spaces, `_`, `-`, `.` or `'`, in any script."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cardroom.gateway.domain.names import LENGTH_MAX, clean, made_up


@pytest.mark.parametrize(
    "name",
    ["Ada", "x", "O'Neill", "J.-P. Sartre", "Žofie", "李小龍", "नेहा", "player_1", "24 characters exactly...x"[:24]],
)
def test_names_of_many_scripts_are_taken_as_they_are(name: str) -> None:
    assert clean(name) == name


def test_spaces_around_it_are_cut_and_accents_composed() -> None:
    assert clean("  Ada ") == "Ada"
    assert clean("Zoe\u0308") == "Zoë"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("   ", "blank"),
        ("x" * 25, "25 characters"),
        ("a  b", "two spaces"),
        ("<b>", "'<'"),
        ("a\nb", "'\\\\n'"),
        ("\u202eevil", "u202e"),
        ("...", "no letter or digit"),
        ("😀", "not a letter"),
        ("a\u0301\u0302\u0303\u0304", "not a letter"),
        ("\u3164", "not a letter"),
        ("\u115f\u1160", "not a letter"),
        ("\uffa0", "not a letter"),
        ("Bob\u034f", "not a letter"),
        ("Bob\ufe0f", "not a letter"),
        ("Bob\u180b", "not a letter"),
        ("Bob\U000e0100", "not a letter"),
    ],
)
def test_what_is_wrong_is_named(name: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        clean(name)


@given(st.text(max_size=40))
def test_a_clean_name_stays_as_it_is(name: str) -> None:
    try:
        cleaned = clean(name)
    except ValueError:
        return
    assert clean(cleaned) == cleaned
    assert 1 <= len(cleaned) <= LENGTH_MAX
    assert cleaned.isprintable()


@given(st.integers(0, 10**9))
def test_made_up_names_are_good_names(number: int) -> None:
    assert clean(made_up(number)) == made_up(number)
