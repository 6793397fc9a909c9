"""Posting in batches: requests that wait together are decided together and committed by one transaction.

That keeps a hot account from serialising everyone: its lock is taken once per batch, not once per transfer.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import asyncpg

from cardroom.chassis import logs
from cardroom.wallet import measures
from cardroom.wallet.domain import names
from cardroom.wallet.domain.books import TransferKind
from cardroom.wallet.domain.commands import Command, Known, Outcome
from cardroom.wallet.errors import DatabaseAway, PostingFailed, Refused
from cardroom.wallet.store import batch
from cardroom.wallet.store.batch import Loaded, Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cardroom.wallet.domain.books import Books, Transfer

TRIES_MAX: Final = 8
FIRST_BACKOFF_SECONDS: Final = 0.005
KNOWN_MAX: Final = 50_000

log = logs.get("posting")

# What passes when tried again: another batch came first, or the connection broke and the outcome is unknown. Each
# request is found by its id when it was committed after all.
CONTENDED: Final = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.UniqueViolationError,
    asyncpg.LockNotAvailableError,
)
RETRIED: Final = (
    *CONTENDED,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.TooManyConnectionsError,
    OSError,
    TimeoutError,
)


@dataclass(slots=True)
class Request:
    """A command with what makes it repeatable: its owner and id, its content, and how its reply is written."""

    command: Command
    method: str = ""
    request_id: str = ""
    content: bytes = b""
    render: Callable[[Outcome], bytes] = lambda _outcome: b""
    differs: Callable[[str, bytes], str] = lambda _method, _content: "request"
    weight: int = 1
    reply: asyncio.Future[bytes] = field(init=False)

    @property
    def key(self) -> batch.Key | None:
        """The owner and the request id; None for what is safe to repeat by itself."""
        return (self.command.actor, self.request_id) if self.request_id else None


class Poster:
    """Takes requests, groups them, and answers each once its batch is committed."""

    def __init__(self, pool: asyncpg.Pool[Any], *, batch_max: int, waiting_max: int, lanes: int) -> None:
        self._pool = pool
        self._batch_max = batch_max
        self._waiting_max = waiting_max
        self._lanes = lanes
        self._waiting: deque[Request] = deque()
        self._some = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._known = Known()
        self._closed = False
        self._escrow_paid: Callable[[], None] = lambda: None

    def when_escrow_is_paid(self, hook: Callable[[], None]) -> None:
        """Call `hook` whenever chips have come into an escrow from elsewhere than another escrow."""
        self._escrow_paid = hook

    async def start(self) -> None:
        """Begin to post."""
        self._tasks = [asyncio.create_task(self._run(), name=f"posting-{lane}") for lane in range(self._lanes)]

    async def stop(self) -> None:
        """Take no more, finish what waits, and end."""
        self._closed = True
        self._some.set()
        await asyncio.gather(*self._tasks)

    async def post(self, request: Request) -> bytes:
        """Return the reply, once it is committed. Raises Refused, or PostingFailed when the outcome is not known."""
        if self._closed or len(self._waiting) >= self._waiting_max:
            measures.REFUSED.labels("OVERLOADED").inc()
            raise Refused("OVERLOADED", f"{len(self._waiting)} writes are waiting; send the same request again, later")
        request.reply = asyncio.get_running_loop().create_future()
        self._waiting.append(request)
        self._some.set()
        return await request.reply

    async def _run(self) -> None:
        while True:
            await self._some.wait()
            taken = self._take()
            if taken:
                await self._post_all(taken)
            elif self._closed:
                return

    def _take(self) -> list[Request]:
        taken: list[Request] = []
        weight = 0
        while self._waiting and weight < self._batch_max:
            request = self._waiting.popleft()
            if request.reply.cancelled():
                continue
            weight += request.weight
            taken.append(request)
        if not self._waiting and not self._closed:
            self._some.clear()
        return taken

    async def _post_all(self, requests: list[Request]) -> None:
        """Post a batch; when it cannot be written as it is, each alone: one harms no other. All are answered."""
        try:
            answers = await self._retried(requests)
        except Exception as error:
            if len(requests) > 1 and not isinstance(error, PostingFailed):
                log.exception("the database refused a batch; posting one by one", size=len(requests))
                for request in requests:
                    await self._post_all([request])
                return
            for request in requests:
                if not request.reply.done():
                    request.reply.set_exception(error)
            return
        for request, answer in zip(requests, answers, strict=True):
            _answer(request, answer)

    async def _retried(self, requests: Sequence[Request]) -> list[bytes | Refused]:
        tries = 0
        while True:
            try:
                with measures.POSTING_SECONDS.time():
                    return await self._once(requests)
            except RETRIED as error:
                tries += 1
                measures.RETRIES.labels(type(error).__name__).inc()
                if tries >= TRIES_MAX:
                    failed = PostingFailed if isinstance(error, CONTENDED) else DatabaseAway
                    raise failed(f"gave up after {tries} tries: {error!r}") from error
                backoff = FIRST_BACKOFF_SECONDS * 2**tries
                await asyncio.sleep(backoff * random.uniform(0.5, 1.0))  # noqa: S311 - only spreads the retries

    async def _once(self, requests: Sequence[Request]) -> list[bytes | Refused]:
        commands = [it.command for it in requests]
        keys = [key for it in requests if (key := it.key)]
        # Another lane may begin a new one while this waits for the look-up.
        known = self._known
        async with self._pool.acquire() as connection:
            await batch.look_up(connection, commands, known)
            for command in commands:
                command.resolve(known)
            loaded, decided = await _write_down(connection, requests, keys)
        self._learn(loaded.books, len(requests))
        return decided.answers

    def _learn(self, books: Books, size: int) -> None:
        measures.BATCH_SIZE.observe(size)
        for transfer in books.transfers:
            measures.TRANSFERS.labels(transfer.kind.name).inc()
            if transfer.kind is TransferKind.ADJUSTMENT:
                _tell_adjustment(transfer)
        if len(self._known.hold_accounts) > KNOWN_MAX or len(self._known.currencies) > KNOWN_MAX:
            self._known = Known()
        for hold in books.placed:
            self._known.hold_accounts[hold.id] = hold.account
        if any(
            entry.amount > 0 and entry.account.startswith("escrow/") for it in books.transfers for entry in it.entries
        ):
            self._escrow_paid()


@dataclass(slots=True)
class Decided:
    """The answers of a batch, in order, and those to be remembered with it."""

    answers: list[bytes | Refused] = field(default_factory=list)
    remember: list[Remembered] = field(default_factory=list)


async def _write_down(
    connection: batch.Connection, requests: Sequence[Request], keys: Sequence[batch.Key]
) -> tuple[Loaded, Decided]:
    commands = [it.command for it in requests]
    async with connection.transaction():
        loaded = await batch.load(connection, commands, keys)
        if not loaded.lacks_grants:
            return loaded, await _decide_and_write(connection, loaded, requests)
    # Somebody is new, which is known only now: in a new transaction the account that grants come from is locked in its
    # order among the others. Locks taken out of order could wait in a ring.
    async with connection.transaction():
        loaded = await batch.load(connection, commands, keys, (names.grants_account(names.PLAY),))
        return loaded, await _decide_and_write(connection, loaded, requests)


async def _decide_and_write(connection: batch.Connection, loaded: Loaded, requests: Sequence[Request]) -> Decided:
    decided = decide(loaded, requests)
    await batch.write(connection, loaded.books, decided.remember)
    return decided


def decide(loaded: Loaded, requests: Sequence[Request]) -> Decided:
    """Decide every request on the books, in order; repeats get their first answer."""
    decided = Decided()
    books = loaded.books
    books.expire_due_holds()
    for request in requests:
        answered = loaded.answered.get(request.key) if request.key else None
        if answered is not None:
            decided.answers.append(_repeat(request, answered))
            continue
        answer, remembered = _decide_one(books, request)
        decided.answers.append(answer)
        if remembered is not None and request.key is not None:
            decided.remember.append(remembered)
            loaded.answered[request.key] = remembered
    return decided


def _decide_one(books: Books, request: Request) -> tuple[bytes | Refused, Remembered | None]:
    command = request.command
    mark = books.mark()
    try:
        command.begin(books)
        _spend(books, command)
        outcome = command.apply(books)
    except Refused as refused:
        books.roll_back(mark)
        measures.REFUSED.labels(refused.reason).inc()
        kept = refused.to_bytes() if refused.remembered else None
        return refused, _remembered(request, kept, refused=True) if kept is not None else None
    _count(books, command)
    reply = request.render(outcome)
    first = outcome.transfers[0].id if outcome.transfers else 0
    return reply, _remembered(request, reply, refused=False, first=first, transfers=len(outcome.transfers))


def _remembered(request: Request, reply: bytes, *, refused: bool, first: int = 0, transfers: int = 0) -> Remembered:
    owner, id_ = request.command.actor, request.request_id
    return Remembered(owner, id_, request.method, request.content, refused, reply, first, transfers)


def _repeat(request: Request, answered: Remembered) -> bytes | Refused:
    if answered.method != request.method or answered.request != request.content:
        field_ = request.differs(answered.method, answered.request)
        text = (
            f"request id {request.request_id!r} was used before with another {field_}: use a new one for a new request"
        )
        return Refused("KEY_REUSED", text, field=field_, request_id=request.request_id)
    measures.REPEATS.inc()
    return Refused.from_bytes(answered.reply) if answered.refused else answered.reply


def _spend(books: Books, command: Command) -> None:
    spending = command.spending
    if spending is None:
        return
    if spending.amount > spending.call_limit:
        text = f"one call may {spending.purpose} at most {spending.call_limit} chips, not {spending.amount}"
        raise Refused("CALL_LIMIT_EXCEEDED", text, purpose=spending.purpose, limit=spending.call_limit)
    if not spending.day_limit:
        return
    used = books.allowances[command.actor, spending.purpose]
    if used + spending.amount > spending.day_limit:
        text = (
            f"{command.actor} has used {used} of {spending.day_limit} chips for {spending.purpose} today (UTC);"
            f" {spending.amount} more are too many"
        )
        raise Refused("DAY_LIMIT_EXCEEDED", text, purpose=spending.purpose, limit=spending.day_limit, used=used)


def _count(books: Books, command: Command) -> None:
    if command.spending is not None and command.spending.day_limit:
        books.allowances[command.actor, command.spending.purpose] += command.spending.amount


def _tell_adjustment(transfer: Transfer) -> None:
    """Copy a committed correction into the log. The audit log is the ledger itself: a crash may lose this line."""
    [_, entry] = transfer.entries
    log.warning(
        "an account was adjusted",
        account=entry.account,
        amount=entry.amount,
        reason=transfer.reason,
        operator=transfer.actor,
        transfer_id=transfer.id,
    )


def _answer(request: Request, answer: bytes | Refused) -> None:
    if request.reply.done():
        return
    if isinstance(answer, Refused):
        request.reply.set_exception(answer)
    else:
        request.reply.set_result(answer)
