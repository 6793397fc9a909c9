"""What happens when shards come and go: tables with players are loaded at once, tables that leave finish first."""

from __future__ import annotations

import asyncio

from cardroom.table.tables import Tables

__all__ = ["Takeover"]


class Takeover:
    """The callbacks of the lease keeper. Shards that come together are loaded together."""

    def __init__(self) -> None:
        self._attached: Tables | None = None
        self._fresh: list[int] = []
        self._loading: asyncio.Task[None] | None = None

    def attach(self, tables: Tables) -> None:
        """Say whose tables come and go. The keeper is made before them, and asks once it runs."""
        self._attached = tables

    @property
    def _tables(self) -> Tables:
        assert self._attached is not None, "attach() comes before the keeper starts"
        return self._attached

    async def on_gained(self, shard: int, _epoch: int) -> None:
        """A shard is ours: its tables with players go on here."""
        self._tables.gained(shard)
        self._fresh.append(shard)
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="takeover")
        await asyncio.shield(self._loading)

    async def on_losing(self, shard: int) -> None:
        """A shard is given away, or lost: end what runs there."""
        await self._tables.lose(shard)

    async def _load(self) -> None:
        await asyncio.sleep(0)  # those that were gained in the same moment come along
        shards, self._fresh = self._fresh, []
        self._loading = None
        await self._tables.load_live(shards)
