"""The pots of a hand as it stands, from what each player has put in (rule 8.1)."""

from __future__ import annotations

from collections.abc import Sequence

from cardroom.contracts.table.v1.view_pb2 import PLAYER_STATUS_ALL_IN, PLAYER_STATUS_FOLDED, HandPlayer, PotView
from cardroom.engine.pots import split


def pots_of(players: Sequence[HandPlayer]) -> list[PotView]:
    """Main pot first. A side pot begins above each all-in player's total; wagers of the running street count."""
    live = [place for place, player in enumerate(players) if player.status != PLAYER_STATUS_FOLDED]
    all_in = {place for place in live if players[place].status == PLAYER_STATUS_ALL_IN}
    paid = [player.hand_total for player in players]
    return [
        PotView(amount=pot.amount, eligible_seats=[players[place].seat for place in pot.eligible])
        for pot in split(paid, 0, live, all_in)
    ]
