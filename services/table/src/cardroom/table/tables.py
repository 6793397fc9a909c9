"""The tables this replica owns, and the one way to change them."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, get_args

from cardroom.chassis import logs, telemetry
from cardroom.chassis.errors import CardroomError, LeaseLost
from cardroom.chassis.leases import LeaseKeeper
from cardroom.contracts.table.v1.storage_pb2 import LoggedChange
from cardroom.contracts.table.v1.table_pb2 import ActResponse
from cardroom.contracts.table.v1.view_pb2 import TurnToken
from cardroom.table import metrics, records
from cardroom.table.committer import Committer
from cardroom.table.deckbox import DeckBox
from cardroom.table.domain.commands import (
    Act,
    Command,
    DealHand,
    EndSeating,
    EndTurn,
    JudgeAbsence,
    OpenTable,
    RestartTurn,
    SeatPlayer,
    TakeOver,
    TopUp,
    VoidHand,
)
from cardroom.table.domain.decide import decide, opened
from cardroom.table.domain.deck import Deck
from cardroom.table.domain.errors import InvariantBroken, PassedTurn, RefusalKind, Refused
from cardroom.table.domain.presence import due_ms
from cardroom.table.domain.state import TableState
from cardroom.table.domain.step import Decision, EndedSeating, ToppedUp
from cardroom.table.errors import (
    CommandBroken,
    OutcomeUnknown,
    TableMoving,
    TableStopped,
    TableUnknown,
    WriteRefused,
    to_cardroom,
)
from cardroom.table.livetable import LiveTable
from cardroom.table.recovery import Recovered, Recovery
from cardroom.table.store import Store
from cardroom.table.writes import Write, written

__all__ = ["SHARDS", "Tables", "shard_of"]

SHARDS: Final = 256
TRIES: Final = 3
OVERDUE_MS: Final = 30_000

log = logs.get("tables")

Read = Callable[[], Awaitable[dict[str, Recovered]]]
Settle = Callable[[Decision, "asyncio.Future[Any]"], Callable[[Exception | None], None]]

_DECIDED: Final = {kind: metrics.COMMANDS.labels(kind.__name__) for kind in get_args(Command)}


@functools.lru_cache(maxsize=65_536)
def shard_of(table_id: str) -> int:
    """The shard that a table belongs to, for good."""
    return int.from_bytes(hashlib.sha256(table_id.encode()).digest()[:8], "big") % SHARDS


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Tables:
    """Every table of the shards that are owned here, loaded when first asked for."""

    def __init__(
        self,
        leases: LeaseKeeper,
        store: Store,
        committer: Committer,
        box: DeckBox,
        *,
        clock: Callable[[], int] = now_ms,
        randbelow: Callable[[int], int] = secrets.randbelow,
    ) -> None:
        self._leases = leases
        self._store = store
        self._committer = committer
        self._box = box
        self._recovery = Recovery(store, box)
        self._clock = clock
        self._randbelow = randbelow
        self._tables: dict[str, LiveTable] = {}
        self._closing: set[int] = set()
        self._loads: dict[str, asyncio.Task[None]] = {}

    # Owning

    def epoch(self, shard: int) -> int | None:
        """The epoch under which a shard is owned here, or None when it is not, or about to be given away."""
        return None if shard in self._closing else self._leases.epoch(shard)

    def gained(self, shard: int) -> None:
        """A shard is owned here from now on."""
        self._closing.discard(shard)

    async def lose(self, shard: int) -> None:
        """Finish what runs at a shard's tables and forget them; their streams end."""
        self._closing.add(shard)
        leaving = [live for live in self._tables.values() if live.shard == shard]
        try:
            await asyncio.gather(*[live.drain() for live in leaving])
        finally:
            for live in leaving:
                if self._tables.get(live.table_id) is live:
                    del self._tables[live.table_id]
            metrics.OWNED.set(len(self._tables))

    def end_lost(self) -> None:
        """End the streams of tables that are not safely ours any more.

        The database may be out of reach from here alone: then nobody tells that another replica owns them, and their
        players would be sent heartbeats and nothing else.
        """
        for live in self._tables.values():
            if live.feed.streams and not live.is_gone and self._leases.epoch(live.shard) != live.epoch:
                live.leave()

    async def load_live(self, shards: list[int]) -> None:
        """Load the tables of these shards where players sit, so that a running turn begins anew at once (9.6).

        Players who are back before that wait for it: each table is read and replayed once.
        """
        ours = [found for found in await self._store.live_tables(shards) if self.epoch(shard_of(found)) is not None]
        lives = [live for live in map(self._here, ours) if live.must_load and live.table_id not in self._loads]
        if not lives:
            return
        together = asyncio.create_task(self._recovery.load([live.table_id for live in lives]))
        loads = [self._start_load(live, lambda: asyncio.shield(together)) for live in lives]
        await asyncio.gather(*loads, return_exceptions=True)
        await together

    def _here(self, table_id: str) -> LiveTable:
        shard = shard_of(table_id)
        epoch = self.epoch(shard)
        if epoch is None:
            raise TableMoving(table_id)
        live = self._tables.get(table_id)
        if live is None or live.is_gone or live.epoch != epoch:
            if live is not None:
                live.leave()
            live = self._tables[table_id] = LiveTable(table_id, shard, epoch)
            metrics.OWNED.set(len(self._tables))
        return live

    # Loading

    async def loaded(self, table_id: str) -> LiveTable:
        """The table, with its state read. Raises TableUnknown, TableStopped, or TableMoving when it is not ours."""
        live = await self._ready(table_id)
        if live.state is None:
            self._forget(live)
            raise TableUnknown(table_id)
        return live

    async def _ready(self, table_id: str, command: Command | None = None) -> LiveTable:
        live = self._here(table_id)
        if live.must_load and not live.is_stopped:
            loading = self._loads.get(table_id)
            await asyncio.shield(loading or self._start_load(live, lambda: self._recovery.load([table_id])))
        live.require(command)
        return live

    def _start_load(self, live: LiveTable, read: Read) -> asyncio.Task[None]:
        """Load in a task of its own: a caller who goes away must not leave a table half loaded."""
        task = asyncio.create_task(self._load(live, read))
        self._loads[live.table_id] = task
        task.add_done_callback(lambda _: self._loads.pop(live.table_id, None))
        return task

    async def _load(self, live: LiveTable, read: Read) -> None:
        await live.take_turn()
        voiding: asyncio.Future[Any] | None = None
        try:
            if not live.must_load or live.is_gone:
                return
            recovered = (await read()).get(live.table_id)
            state = None if recovered is None else recovered.state
            if recovered is not None and state is None:
                live.stand_still(recovered.why)
                return
            if recovered is not None and state is not None and recovered.must_void:
                voiding = self._submit(*self._void(live, state), live.salvaged)
            else:
                live.loaded(state)
        finally:
            if voiding is None:
                live.end_turn()
        if voiding is not None:
            try:
                state = await voiding
            except LeaseLost as error:
                raise TableMoving(live.table_id) from error
        if recovered is not None and state is not None:
            await self._take_over(live, state, recovered.epoch)

    async def _take_over(self, live: LiveTable, state: TableState, written_under: int) -> None:
        """Tell a table that was loaded that it has a new owner, unless its log shows that it knows."""
        if live.must_take_over and state.seats and written_under != live.epoch:
            try:
                await self._run(live, TakeOver(), only_while=state)
            except WriteRefused as error:
                # A commit that was in doubt came through after the table was read: it is read again.
                raise OutcomeUnknown("the table was written since it was read") from error
            except CommandBroken:
                pass  # the hand still ends, by its clock
        live.must_take_over = False

    def forget(self, table_id: str) -> None:
        """Do not keep a table in memory that nobody will ask for again. It is loaded anew if somebody does."""
        live = self._tables.get(table_id)
        if live is not None:
            self._forget(live)

    def _forget(self, live: LiveTable) -> None:
        if live.is_idle and self._tables.get(live.table_id) is live:
            del self._tables[live.table_id]
            metrics.OWNED.set(len(self._tables))

    # Forgotten by the clock

    async def restart_overdue(self) -> int:
        """Begin anew what tables here have waited for much too long; answers how many that was.

        The clock is late when it or the broker is away, and then late timers fire. One that is lost never fires: nobody
        else would ever move such a table on.
        """
        now = self._clock()
        restarted = 0
        for live in list(self._tables.values()):
            state = live.state
            if state is None or live.must_load or self.epoch(live.shard) != live.epoch:
                continue
            forgotten = _forgotten(live, state, now - OVERDUE_MS)
            if forgotten is None:
                continue
            try:
                await self._run(live, forgotten, only_while=state)
            except (CardroomError, OutcomeUnknown, WriteRefused, Refused):
                continue  # whatever is wrong with it, it is looked at again
            restarted += 1
            metrics.RESTARTED.inc()
        return restarted

    # Changing

    async def execute(self, table_id: str, command: Command) -> Any:
        """Decide a command, commit what comes of it, and return its answer.

        Raises TableUnknown, TableStopped, TableMoving when it is not owned here (ask its owner), what the command is
        refused with, or OutcomeUnknown when the database stayed away.
        """
        for attempt in range(1, TRIES + 1):
            live = None
            try:
                live = await self._ready(table_id, command)
                return await self._run(live, command)
            except PassedTurn as passed:
                return await self._first_answer(table_id, command, passed)
            except Refused as refused:
                raise to_cardroom(refused) from None
            except TableUnknown:
                if live is not None:
                    self._forget(live)
                raise
            except (OutcomeUnknown, WriteRefused) as error:
                # The table is read again; if the command was committed, it is found there.
                if attempt == TRIES:
                    raise OutcomeUnknown("the database did not confirm the command") from error
        raise AssertionError("unreachable")

    async def _run(self, live: LiveTable, command: Command, only_while: TableState | None = None) -> Any:
        await live.take_turn()
        is_handed_over = False
        try:
            live.require(command)
            if live.must_load:
                raise OutcomeUnknown("the command before this one failed")
            if only_while is not None and live.state is not only_while:
                return None
            past = await self._past(live, command)
            if past is not None:
                return past
            decision, write = self._decide(live, command)
            if write is None:
                return decision.answer
            with telemetry.span("table.commit", version=decision.state.version):
                done = self._submit(decision, write, live.settle)
                is_handed_over = True
                return await done
        except LeaseLost as error:
            raise TableMoving(live.table_id) from error
        finally:
            if not is_handed_over:
                live.end_turn()

    def _decide(self, live: LiveTable, command: Command) -> tuple[Decision, Write | None]:
        state = live.state
        if state is None:
            if not isinstance(command, OpenTable):
                raise TableUnknown(live.table_id)
            state = opened(command)
        deck = Deck.shuffled(self._randbelow) if isinstance(command, DealHand) else None
        now = self._now(live)
        try:
            with telemetry.span("table.decide", command=type(command).__name__):
                decision = decide(state, command, now, deck)
            if not decision.changes:
                return decision, None
            write = self._written(live, state, decision, command, now)
        except (Refused, PassedTurn):
            raise
        except Exception as error:  # noqa: BLE001,RUF100 - whatever it is, the table's players must get their chips back
            return self._broken(live, state, command, error)
        live.latest_ms = now
        _DECIDED[type(command)].inc()
        return decision, write

    def _now(self, live: LiveTable) -> int:
        """The time of the next change: later than that of the last, as facts of a player are told apart by it."""
        return max(self._clock(), live.latest_ms + 1)

    def _written(self, live: LiveTable, state: TableState, decision: Decision, command: Command, now: int) -> Write:
        return written(state, decision, command, shard=live.shard, epoch=live.epoch, now_ms=now, box=self._box)

    def _submit(self, decision: Decision, write: Write, settle: Settle) -> asyncio.Future[Any]:
        """Commit a decision. `settle` ends the table's turn."""
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._committer.submit(write, settle(decision, done))
        return done

    def _broken(self, live: LiveTable, state: TableState, command: Command, error: Exception) -> tuple[Decision, Write]:
        """A command broke what must hold, and nothing of it is kept.

        Memory may be to blame, so the table is read anew and the command decided again, once. If that does not mend it,
        a hand is void when not even the end of a turn can be decided (14.4), and a table where no hand can be dealt
        stands still. Whatever else breaks, the table goes on.
        """
        # An engine's text could name a card.
        why = str(error) if isinstance(error, InvariantBroken) else type(error).__name__
        kind = type(command).__name__
        if live.broke_at != state.version:
            live.broke_at, live.must_load = state.version, True
            log.error("a command broke a table: it is read anew", table_id=live.table_id, command=kind, why=why)
            raise OutcomeUnknown("the table is read anew") from None
        if isinstance(command, EndTurn) and state.hand is not None:
            return self._void(live, state)
        if isinstance(command, DealHand):
            live.stand_still(why)
            raise TableStopped(live.table_id) from None
        log.error("a command breaks a table", table_id=live.table_id, command=kind, why=why)
        raise CommandBroken(live.table_id) from None

    def _void(self, live: LiveTable, state: TableState) -> tuple[Decision, Write]:
        """The hand cannot be completed and is void (14.4)."""
        command, now = VoidHand(), self._now(live)
        try:
            decision = decide(state, command, now)
            write = self._written(live, state, decision, command, now)
        except Exception as error:  # noqa: BLE001,RUF100 - nothing is left to try
            live.stand_still(f"its hand could not even be void: {type(error).__name__}")
            raise TableStopped(live.table_id) from None
        log.error("a hand is void", table_id=live.table_id, hand_number=state.hand_number)
        return decision, write

    async def _past(self, live: LiveTable, command: Command) -> EndedSeating | ToppedUp | None:
        """How the stay or top-up that a command is about ended, if it did. Such are not in memory."""
        if isinstance(command, TopUp):
            return await self._store.topped_up(live.table_id, command.top_up_id)
        if not isinstance(command, SeatPlayer | EndSeating) or live.state is None:
            return None
        if live.state.seat_of_stay(command.seating_id) is not None:
            return None
        past = await self._store.ended_seating(live.table_id, command.seating_id)
        if past is not None and isinstance(command, SeatPlayer):
            text = f"seating {command.seating_id} has ended: sit down again with a new id"
            raise Refused(RefusalKind.PRECONDITION, "SEATING_OVER", text)
        return past

    async def _first_answer(self, table_id: str, command: Command, passed: PassedTurn) -> ActResponse:
        """The answer that this very action got when it was taken, from the log; else the refusal."""
        assert isinstance(command, Act)
        token = command.token
        found = await self._store.action(table_id, token.hand_number, token.action_number)
        if found is not None and records.unpack_command(found[1]) == command:
            taken = LoggedChange.FromString(found[2]).events[0].action_taken
            turn = TurnToken(hand_number=token.hand_number, action_number=token.action_number)
            return ActResponse(version=found[0], turn=turn, taken=taken)
        raise to_cardroom(passed.refusal)


def _forgotten(live: LiveTable, state: TableState, before_ms: int) -> Command | None:
    """What to do about a timer of this table that should have fired long ago."""
    if 0 < state.waits_until_ms < before_ms:
        return RestartTurn()
    for seat in state.seats.values():
        if 0 < due_ms(seat, state.pace) < before_ms:
            return JudgeAbsence(seat.player_id, seat.absence_generation, live.feed.has_stream_of(seat.player_id))
    return None
