"""Poker hands, refereed: no-limit hold'em and pot-limit Omaha by the house rules.

Pure: no I/O, no clock, no randomness of its own. `Hand` plays a hand, `blinds` moves the button, `shuffle` shuffles
with randomness that is passed in, `phh` (imported by itself) reads and writes PHH hand histories. Numbers in
docstrings, such as 5.6, are rules.
"""

from cardroom.engine import blinds, cards, events, shuffle
from cardroom.engine.actions import CALL, CHECK, FOLD, Action, ActionKind, Call, Check, Fold, RaiseTo
from cardroom.engine.cards import Card
from cardroom.engine.config import BlindKind, HandConfig, Post
from cardroom.engine.deal import Deal
from cardroom.engine.errors import EngineError, IllegalAction
from cardroom.engine.games import Game, Street
from cardroom.engine.hand import Hand, Status
from cardroom.engine.legal import LegalActions, Presets
from cardroom.engine.pots import Pot
from cardroom.engine.result import HandResult, PotResult

__all__ = [
    "CALL",
    "CHECK",
    "FOLD",
    "Action",
    "ActionKind",
    "BlindKind",
    "Call",
    "Card",
    "Check",
    "Deal",
    "EngineError",
    "Fold",
    "Game",
    "Hand",
    "HandConfig",
    "HandResult",
    "IllegalAction",
    "LegalActions",
    "Post",
    "Pot",
    "PotResult",
    "Presets",
    "RaiseTo",
    "Status",
    "Street",
    "blinds",
    "cards",
    "events",
    "shuffle",
]
