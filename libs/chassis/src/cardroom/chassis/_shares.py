"""Which shards a runner should own: rendezvous hashing over the runners that live and want shards."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cardroom.chassis._lease_store import Board


class Shares:
    """Computes the shares, anew only when the runners change."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._known_for: frozenset[str] = frozenset()
        self._by_runner: dict[str, set[int]] = {}

    def of(self, runner: str, board: Board) -> set[int]:
        """Return the shards that `runner` should own among the runners on `board`."""
        runners = frozenset(board.addresses) - board.draining
        if runners != self._known_for:
            self._known_for = runners
            self._by_runner = divide(self._shards, runners)
        return self._by_runner.get(runner, set())


def divide(shards: int, runners: frozenset[str]) -> dict[str, set[int]]:
    """Return each runner's shards. Every shard goes to the runner with the highest hash of (runner, shard)."""
    shares: dict[str, set[int]] = {runner: set() for runner in runners}
    for shard in range(shards if runners else 0):
        winner = max(runners, key=lambda runner: (_weight(runner, shard), runner))
        shares[winner].add(shard)
    return shares


def _weight(runner: str, shard: int) -> bytes:
    return blake2b(f"{runner}/{shard}".encode(), digest_size=8).digest()
