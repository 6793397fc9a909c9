"""One player's action is one trace: through edge, table, database, outbox, RabbitMQ and whoever hears of it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action, ActRequest
from cardroom.local import Stack
from tests.e2e import spans
from tests.e2e.door import Call, Caller, Door
from tests.e2e.room import TABLE
from tests.e2e.spans import Span
from tests.party import Party, eventually, party

CHANGED, SETTLED = "TablesChanged", "HandSettled"
OF_AN_ACTION = {
    ("edge", "server", "ingress"),
    ("table", "server", "Act"),
    ("table", "internal", "table.decide"),
    ("table", "internal", "table.commit"),
    ("table", "producer", CHANGED),
    ("clock", "consumer", CHANGED),
    ("spectator", "consumer", CHANGED),
    ("lobby", "consumer", CHANGED),
}
OF_A_HANDS_LAST = OF_AN_ACTION | {("table", "producer", SETTLED), ("wallet", "consumer", SETTLED)}


@dataclass(frozen=True)
class Trace:
    """What a client begins: the ids it sends along."""

    trace_id: str
    span_id: str

    @classmethod
    def begin(cls) -> Trace:
        return cls(secrets.token_hex(16), secrets.token_hex(8))

    @property
    def headers(self) -> dict[str, str]:
        return {"traceparent": f"00-{self.trace_id}-{self.span_id}-01"}


@dataclass
class Traced:
    """The traces of two actions, and their spans."""

    first: Trace
    last: Trace
    of_first: list[Span]
    of_last: list[Span]


@pytest.fixture(scope="module")
async def traced(stack: Stack, door: Door) -> AsyncIterator[Traced]:
    """Two players: one bets over gRPC, the other folds over JSON, and the hand is over."""
    callers = {caller.player_id: caller for caller in [await door.guest(name) for name in ("Ann", "Bo")]}
    players = [await door.player(caller) for caller in callers.values()]
    first, last = Trace.begin(), Trace.begin()
    async with spans.collector(stack) as edge, party(stack, players=players) as at:
        await at.hold_in_the_middle_of_a_hand()
        legal = at.view.hand.turn.legal
        await _actor(at, callers).along(**first.headers).grpc(_act(at, pb.ACTION_KIND_RAISE, legal.raise_min))
        await at.until("the answer's turn", lambda: at.view.hand.turn.legal.HasField("call_amount") and at.actor)
        await _actor(at, callers).along(**last.headers).json(_act(at, pb.ACTION_KIND_FOLD))

        async def complete() -> bool:
            return {span.what for span in spans.of_trace(stack, first.trace_id, edge)} >= OF_AN_ACTION and {
                span.what for span in spans.of_trace(stack, last.trace_id, edge)
            } >= OF_A_HANDS_LAST

        await eventually("all spans of both actions", complete)
        yield Traced(
            first,
            last,
            spans.of_trace(stack, first.trace_id, edge),
            spans.of_trace(stack, last.trace_id, edge),
        )


def test_an_action_is_followed_to_everyone_who_hears_of_it(traced: Traced) -> None:
    # The table's replica that was asked may have passed the action on to the owner.
    assert {span.what for span in traced.of_first} - {("table", "client", "Act")} == OF_AN_ACTION


def test_a_hands_last_action_is_followed_into_the_wallet(traced: Traced) -> None:
    assert {span.what for span in traced.of_last} - {("table", "client", "Act")} == OF_A_HANDS_LAST


def test_every_span_hangs_on_the_clients_own(traced: Traced) -> None:
    for trace, found in ((traced.first, traced.of_first), (traced.last, traced.of_last)):
        known = {trace.span_id, *(span.span_id for span in found)}
        assert [span for span in found if span.parent_id not in known] == []
        assert any(span.parent_id == trace.span_id for span in found)


def test_it_is_told_only_after_it_is_committed(traced: Traced) -> None:
    for found in (traced.of_first, traced.of_last):
        order = [span.what[1:] for span in found if span.service == "table" and span.kind in {"internal", "producer"}]
        assert order[:3] == [("internal", "table.decide"), ("internal", "table.commit"), ("producer", CHANGED)]
        published = min(span.start_ns for span in found if span.kind == "producer")
        assert all(span.start_ns > published for span in found if span.kind == "consumer")


def _actor(at: Party, callers: dict[str, Caller]) -> Caller:
    return callers[at.view.hand.turn.player_id]


def _act(at: Party, kind: pb.ActionKind.ValueType, amount: int = 0) -> Call:
    action = Action(kind=kind, amount=amount)
    request = ActRequest(table_id=at.table.table_id, turn=at.view.hand.turn.token, action=action)
    return Call.of(f"{TABLE}/Act", request)
