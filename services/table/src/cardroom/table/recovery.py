"""Tables out of the database: the last snapshot, and the commands since then decided again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from cardroom.chassis import logs
from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.table import metrics, records
from cardroom.table.deckbox import DeckBox
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import InvariantBroken, ReplayMismatch
from cardroom.table.domain.replay import Entry, replay
from cardroom.table.domain.salvage import salvage
from cardroom.table.domain.state import TableState
from cardroom.table.errors import DeckKeyMissing, DeckUnreadable
from cardroom.table.store import Store, StoredTable

__all__ = ["Recovered", "Recovery"]

log = logs.get("recovery")


@dataclass(frozen=True, slots=True)
class Recovered:
    """A table as the database has it; `state` is None where it cannot be trusted and the table must stand still."""

    state: TableState | None
    epoch: int
    """The epoch of the last command in the log, 0 where the snapshot is the last."""
    must_void: bool = False
    """Its hand cannot be decided again: `state` is only good for making the hand void (rule 14.4)."""
    why: str = "it could not be recovered"
    """Where `state` is None: what keeps the table."""


_WITHOUT_CARDS = (ReplayMismatch, InvariantBroken, DeckUnreadable)


class Recovery:
    """Loads tables."""

    def __init__(self, store: Store, box: DeckBox) -> None:
        self._store = store
        self._box = box

    async def load(self, table_ids: Sequence[str]) -> dict[str, Recovered]:
        """The tables among `table_ids` that exist."""
        stored = await self._store.load(table_ids)
        metrics.LOADED.inc(len(stored))
        recovered = {}
        for table_id, table in stored.items():
            recovered[table_id] = self._recover(table)
            await asyncio.sleep(0)  # the tables that play need not wait for all of these
        return recovered

    def _recover(self, table: StoredTable) -> Recovered:
        epoch = table.log[-1].epoch if table.log else 0
        try:
            deck = self._deck(table)
            state = replay(
                records.unpack_table(table.snapshot),
                _entries(table),
                lambda hand: deck if hand == table.hand_number else None,
            )
        except DeckKeyMissing as missing:
            # A replica that has the key can go on with the hand: it must not be void because this one came first.
            return Recovered(None, epoch, why=str(missing))
        except Exception as error:
            log.error("a table cannot be recovered", table_id=table.table_id, why=_why(error))  # noqa: TRY400
            return Recovered(self._salvaged(table), epoch, must_void=True)
        return Recovered(state, epoch)

    def _salvaged(self, table: StoredTable) -> TableState | None:
        """All but the running hand, or None where even that is lost."""
        try:
            return salvage(records.unpack_table(table.snapshot), _entries(table))
        except Exception as error:
            log.error("a table cannot be salvaged either", table_id=table.table_id, why=_why(error))  # noqa: TRY400
            return None

    def _deck(self, table: StoredTable) -> Deck | None:
        if table.hand_number is None or table.deck is None or table.deck_key is None:
            return None
        return self._box.open(table.deck, table.deck_key, table.table_id, table.hand_number)


def _entries(table: StoredTable) -> list[Entry]:
    return [
        Entry(row.version, row.occurred_ms, records.unpack_command(row.command), LoggedChange.FromString(row.change))
        for row in table.log
    ]


def _why(error: Exception) -> str:
    """What went wrong. Texts of the engine and of Python could name a card, so of most errors only the kind is told."""
    return str(error) if type(error) in _WITHOUT_CARDS else type(error).__name__
