"""A sane way to go on at a table, for tests that only want many different hands."""

from __future__ import annotations

from random import Random

from cardroom.contracts.table.v1.view_pb2 import ActionKind, LegalActions
from tests.unit.table.driver import CALL, CHECK, FOLD, RAISE


def some_action(legal: LegalActions, chance: Random) -> tuple[ActionKind.ValueType, int]:
    """One of the legal actions."""
    choice = chance.random()
    if choice < 0.15:
        return FOLD, 0
    if choice < 0.4 and legal.HasField("raise_min"):
        return RAISE, chance.choice([legal.raise_min, legal.preset_pot, legal.raise_max])
    return (CHECK if legal.can_check else CALL), 0


def calm_action(legal: LegalActions, chance: Random) -> tuple[ActionKind.ValueType, int]:
    """One of the legal actions, such that few players lose everything."""
    if not legal.can_check and chance.random() < 0.5:
        return FOLD, 0
    if chance.random() < 0.1 and legal.HasField("raise_min"):
        return RAISE, legal.raise_min
    return (CHECK if legal.can_check else CALL), 0
