"""Display names: which ones are taken as they are, and names made up for those who give none."""

from __future__ import annotations

import unicodedata
from typing import Final

LENGTH_MAX: Final = 24
_OTHERS: Final = frozenset(" _-.'")
_MARKS_IN_A_ROW_MAX: Final = 2
# Letters and marks that show nothing (Unicode's Default_Ignorable_Code_Point): a name of them is blank, a name with one
# looks like another's.
_UNSEEN: Final = frozenset(
    map(
        chr,
        (
            0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0,
            *range(0xE0100, 0xE01F0),
        ),
    )
)  # fmt: skip
_FIRST: Final = (
    "Quiet", "Lucky", "Brave", "Sly", "Patient", "Bold", "Calm", "Swift", "Merry", "Wise",
    "Gentle", "Stubborn", "Early", "Late", "Lonely", "Golden", "Silver", "Crimson", "Hidden", "Humble",
)  # fmt: skip
_SECOND: Final = (
    "Otter", "Falcon", "Badger", "Heron", "Fox", "Lynx", "Raven", "Hare", "Marten", "Owl",
    "Pike", "Stag", "Wolf", "Bear", "Swan", "Crane", "Viper", "Mole", "Newt", "Finch",
)  # fmt: skip


def clean(name: str) -> str:
    """Return the name as others will see it: composed (NFC) and without spaces around it.

    Raises ValueError, saying what is wrong, unless it has 1 to 24 letters, digits, single spaces, `_`, `-`, `.` or `'`.
    """
    cleaned = unicodedata.normalize("NFC", name).strip(" ")
    if not cleaned:
        raise ValueError("is blank")
    if len(cleaned) > LENGTH_MAX:
        raise ValueError(f"has {len(cleaned)} characters, more than {LENGTH_MAX}")
    if "  " in cleaned:
        raise ValueError("has two spaces in a row")
    _check_characters(cleaned)
    return cleaned


def _check_characters(name: str) -> None:
    marks = 0
    for character in name:
        kind = unicodedata.category(character)
        # Many scripts write vowels as marks; a pile of marks is no writing.
        marks = marks + 1 if kind.startswith("M") else 0
        allowed = kind.startswith(("L", "M")) or kind == "Nd" or character in _OTHERS
        if not allowed or character in _UNSEEN or marks > _MARKS_IN_A_ROW_MAX:
            raise ValueError(f"has {character!r}, which is not a letter, a digit, a space or one of _ - . '")
    if not any(unicodedata.category(character)[0] in "LN" for character in name):
        raise ValueError("has no letter or digit")


def made_up(number: int) -> str:
    """Return the made-up name that belongs to `number`, for example `Quiet Otter 42`."""
    rest, tail = divmod(number, 100)
    rest, second = divmod(rest, len(_SECOND))
    return f"{_FIRST[rest % len(_FIRST)]} {_SECOND[second]} {tail:02d}"
