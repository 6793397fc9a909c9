"""Rule 2.6: a played session, all that was said and kept of it, and no card in it that was never turned face up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest

from cardroom.client import Client, call, check, fold, raise_to
from cardroom.contracts.events.v1.events_pb2 import HandSettled, TableChanged
from cardroom.contracts.spectator.v1.spectator_pb2 import WatchResponse
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action, ActRequest, PlayResponse
from cardroom.engine import cards
from cardroom.local import Stack
from cardroom.table.deckbox import DeckBox, key_from_text
from tests.e2e import witness
from tests.e2e.door import Call, Caller, Door, Refused
from tests.e2e.hidden_cards import Session, any_in_text, fields_of_cards, has_a_deck, in_bytes, in_text, messages_of
from tests.e2e.room import TABLE
from tests.faults.owners import fetch
from tests.party import Guest, Party, check_or_call, eventually, party

GUESTS, HANDS = 6, 16
# Few, so that enough of the guests keep chips to the end.
ALL_IN_HANDS = (7, 13)
DELAY_SECONDS = 1
DECKS = "select hand_number, deck_key, deck from hands where table_id = $1 and deck is not null"


def all_sorts(view: pb.PublicView, turn: pb.TurnView) -> Action:
    """Hand by hand: folded before the flop, checked to a showdown, bet and folded on the flop; some all-in."""
    number = view.hand.hand_number
    plan = _all_in if number in ALL_IN_HANDS else (_fold, check_or_call, _bet_once)[number % 3]
    return plan(view, turn)


def _fold(_view: pb.PublicView, turn: pb.TurnView) -> Action:
    return check() if turn.legal.can_check else fold()


def _bet_once(view: pb.PublicView, turn: pb.TurnView) -> Action:
    if view.hand.street == pb.STREET_PREFLOP or (view.hand.street == pb.STREET_FLOP and _in_for(view) == 2):
        return check_or_call(view, turn)
    if view.hand.street == pb.STREET_FLOP and turn.legal.is_bet and turn.legal.HasField("raise_min"):
        return raise_to(turn.legal.raise_min)
    return _fold(view, turn) if _in_for(view) > 2 else check_or_call(view, turn)


def _all_in(view: pb.PublicView, turn: pb.TurnView) -> Action:
    if turn.legal.can_check:
        return check()
    all_in = [player for player in view.hand.players if player.status == pb.PLAYER_STATUS_ALL_IN]
    if not all_in:
        return raise_to(turn.legal.raise_max) if turn.legal.HasField("raise_max") else call()
    # One caller, so that one player at most goes broke.
    return call() if len(all_in) == 1 and _in_for(view) == 1 else fold()


def _in_for(view: pb.PublicView) -> int:
    """How many have matched the street's wager."""
    still_in = [player for player in view.hand.players if player.status != pb.PLAYER_STATUS_FOLDED]
    wager = max(player.street_total for player in still_in)
    return sum(player.street_total == wager for player in still_in)


@dataclass
class Evidence:
    """All that was said and kept."""

    table_id: str
    guests: list[Guest] = field(default_factory=list)
    heard: dict[str, witness.Heard] = field(default_factory=dict)
    watched: witness.Heard = field(default_factory=witness.Heard)
    watched_version: int = 0
    lead_seconds: list[float] = field(default_factory=list)
    """By how much each change reached the watcher too early, as far as the test's clock can tell."""
    bus: list[witness.Delivery] = field(default_factory=list)
    rows: set[tuple[str, bytes | str]] = field(default_factory=set)
    decks: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    """Key name and sealed deck of the hands that were held, from the database."""
    files: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, str] = field(default_factory=dict)
    refusals: list[Refused] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    """The guests' access tokens."""

    @property
    def changes(self) -> list[TableChanged]:
        """The table's changes, in order, as the bus brought them."""
        found = [change for one in self.bus for change in messages_of(one.message, TableChanged)]
        by_version = {change.version: change for change in found if change.table_id == self.table_id}
        return [by_version[version] for version in sorted(by_version)]


@pytest.fixture(scope="module")
async def evidence(stack: Stack, door: Door) -> AsyncIterator[Evidence]:
    """Play, and write everything down."""
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(witness.talkative_edge(stack))
        deliveries = await opened.enter_async_context(witness.bus(stack))
        files, before = witness.Files(stack), await witness.rows(stack)
        callers = [await door.guest(f"Guest {number}") for number in range(GUESTS)]
        heard = {caller.player_id: witness.Heard() for caller in callers}
        clients = [
            await opened.enter_async_context(heard[caller.player_id].client(stack.edge_grpc)) for caller in callers
        ]
        players = [await one.player_with_token(caller.token) for one, caller in zip(clients, callers, strict=True)]
        at = await opened.enter_async_context(party(stack, players=players, policy=all_sorts))
        seen = Evidence(at.table.table_id, at.guests, heard, bus=deliveries, tokens=[c.token for c in callers])
        watcher = await opened.enter_async_context(seen.watched.client(stack.edge_grpc))
        watching = asyncio.create_task(_watch(watcher, (await door.guest("Watcher")).token, seen))
        await _play(stack, at, callers, seen)
        last = at.view.version
        await eventually("the last change on the bus", lambda: _reached(lambda: seen.changes[-1].version, last))
        await eventually("the last change at the watcher's", lambda: _reached(lambda: seen.watched_version, last))
        watching.cancel()
        seen.rows |= await witness.rows(stack)
        seen.rows -= before
        seen.files, seen.metrics = files.read(), await witness.metrics(stack)
        yield seen


async def _play(stack: Stack, at: Party, callers: list[Caller], seen: Evidence) -> None:
    """Play the hands; hold some in the middle, and look then."""
    while at.view.hand.hand_number < HANDS:
        await at.hold_in_the_middle_of_a_hand()
        seen.rows |= await witness.rows(stack)
        for row in await fetch(stack, "table", DECKS, seen.table_id):
            seen.decks[row["hand_number"]] = (row["deck_key"], row["deck"])
        seen.refusals += await _refusals(at, callers)
        again = at.guests[0].player.play(seen.table_id)
        await anext(again)
        await again.close()
        at.gate.set()
        await at.until_hands(3)
    await at.hold_in_the_middle_of_a_hand()


async def _refusals(at: Party, callers: list[Caller]) -> list[Refused]:
    """Everything that can go wrong in the middle of a hand, over gRPC and JSON."""
    token, refused = at.view.hand.turn.token, []
    for caller in callers:
        for amount, number in ((7, token.action_number), (0, 1), (-1, 99)):
            turn = pb.TurnToken(hand_number=token.hand_number, action_number=number)
            action = Action(kind=pb.ACTION_KIND_RAISE, amount=amount)
            act = Call.of(f"{TABLE}/Act", ActRequest(table_id=at.table.table_id, turn=turn, action=action))
            for way in (caller.grpc, caller.json):
                with pytest.raises(Refused) as raised:
                    await way(act)
                refused.append(raised.value)
    return refused


async def _watch(client: Client, token: str, seen: Evidence) -> None:
    """Watch, and note how early each change came."""
    watcher = await client.player_with_token(token)
    async with watcher.watch(seen.table_id) as table:
        async for update in table:
            seen.watched_version = update.version
            seen.lead_seconds.append(table.occurred_at.timestamp() + DELAY_SECONDS - time.time())


async def _reached(version: Callable[[], int], last: int) -> bool:
    return version() >= last


@pytest.fixture(scope="module")
def session(evidence: Evidence) -> Session:
    """What was face up when, and what everyone held."""
    own = {guest.player.player_id: guest.cards for guest in evidence.guests}
    return Session.of(evidence.changes, own)


@pytest.fixture(scope="module")
def hidden(session: Session) -> dict[tuple[str, str], str]:
    """Pairs that were never shown, unless the same two cards happened to be public in another hand."""
    found, public = session.hidden(), session.public_pairs()
    kept = {pair: whose for pair, whose in found.items() if pair not in public}
    assert len(kept) > 0.8 * len(found) > 40
    return kept


def test_the_session_had_hands_of_every_kind(evidence: Evidence, session: Session) -> None:
    changes = evidence.changes
    assert [change.version for change in changes] == list(range(1, len(changes) + 1))
    ended = [hand for number, hand in session.hands.items() if number in evidence.guests[0].hands_ended]
    assert len(ended) >= HANDS
    assert any(hand.folded and not hand.had_showdown and not hand.board for hand in ended), "folded before the flop"
    assert any(hand.folded and hand.board for hand in ended), "folded after the flop"
    assert any(hand.mucked for hand in ended), "mucked at a showdown"
    assert any(len(hand.all_in) >= 1 and len(hand.shown) >= 2 for hand in ended), "all-in, face up"
    for number, hand in session.hands.items():
        assert all(number in session.own[player] for player in hand.players.values()), "everyone saw their own cards"


def test_2_6_only_hands_of_a_showdown_are_shown_and_as_they_are(session: Session) -> None:
    for number, hand in session.hands.items():
        assert not hand.shown.keys() & (hand.folded | hand.mucked)
        assert hand.had_showdown or not hand.shown
        assert {session.own[hand.players[seat]][number] for seat in hand.shown} == set(hand.shown.values())
        dealt = {card for player in hand.players.values() for card in cards.parse(session.own[player][number])}
        assert len(dealt) == 2 * len(hand.players)
        assert not dealt & set(cards.parse("".join(hand.board)))
        assert len(hand.board) <= 5


def test_2_6_the_bus_carries_only_cards_that_are_face_up(
    evidence: Evidence, session: Session, hidden: dict[tuple[str, str], str]
) -> None:
    for delivery in evidence.bus:
        for change in messages_of(delivery.message, TableChanged):
            if change.table_id == evidence.table_id:
                _assert_face_up(change, session.face_up[change.version])
        if isinstance(delivery.message, HandSettled):
            assert list(fields_of_cards(delivery.message)) == []
        assert in_bytes(delivery.body, hidden) == []
        assert any_in_text(delivery.properties + delivery.routing_key) == []
    assert len(evidence.changes) > 100


def test_2_6_a_players_stream_holds_nobody_elses_cards(evidence: Evidence, session: Session) -> None:
    for player, heard in evidence.heard.items():
        stream = [PlayResponse.FromString(raw) for raw in heard.of("Play")]
        assert max(message.version for message in stream) == max(session.face_up)
        for message in stream:
            for own in (message.snapshot.own_cards, message.change.own_cards):
                assert not own.cards or own.cards == session.own[player][own.hand_number]
            message.snapshot.ClearField("own_cards")
            message.change.ClearField("own_cards")
            _assert_face_up(message, session.face_up[message.version])
        public = session.public_pairs(and_of=player)
        others = {pair: whose for pair, whose in session.hidden(besides=player).items() if pair not in public}
        assert [leak for _, raw in heard.messages for leak in in_bytes(raw, others)] == []


def test_2_6_a_watcher_sees_only_cards_that_are_face_up_and_only_late(
    evidence: Evidence, session: Session, hidden: dict[tuple[str, str], str]
) -> None:
    stream = [WatchResponse.FromString(raw) for raw in evidence.watched.of("Watch")]
    assert stream[-1].version == max(session.face_up)
    for message in stream:
        _assert_face_up(message, session.face_up[message.version])
    assert [leak for _, raw in evidence.watched.messages for leak in in_bytes(raw, hidden)] == []
    assert max(evidence.lead_seconds) <= 0


def test_2_6_logs_spans_and_metrics_name_no_cards_at_all(evidence: Evidence) -> None:
    names = {
        f"{name}.log" for name in ("table-0", "table-1", "lobby", "wallet", "clock", "spectator", "gateway", "envoy")
    }
    assert names | {"table-0.spans.jsonl", "wallet.spans.jsonl"} <= set(evidence.files)
    assert "table.decide" in evidence.files["table-0.spans.jsonl"] + evidence.files["table-1.spans.jsonl"]
    assert len(evidence.files["envoy.log"]) > 100_000, "at level debug"
    for place, text in (evidence.files | evidence.metrics).items():
        assert any_in_text(text) == [], place


def test_2_6_logs_spans_and_metrics_have_no_hidden_cards_in_numbers(
    evidence: Evidence, hidden: dict[tuple[str, str], str]
) -> None:
    for place, text in (evidence.files | evidence.metrics).items():
        assert in_text(text, hidden) == [], place


def test_2_6_refusals_name_no_cards_at_all(evidence: Evidence) -> None:
    assert {refused.info.reason for refused in evidence.refusals} >= {"ILLEGAL_AMOUNT", "NOT_YOUR_TURN", "LATE_TURN"}
    for refused in evidence.refusals:
        assert any_in_text(f"{refused} {refused.info}") == []


def test_2_6_the_databases_hold_no_hidden_card(evidence: Evidence, hidden: dict[tuple[str, str], str]) -> None:
    assert {
        "table.table_log.events",
        "table.hands.deck",
        "table.tables.snapshot",
        "spectator.table_changes.body",
    } <= {place for place, _ in evidence.rows}
    for place, value in evidence.rows:
        found = in_bytes(value, hidden) if isinstance(value, bytes) else in_text(value, hidden)
        assert found == [], place


def test_a_deck_is_in_the_database_encrypted_and_only_while_its_hand_runs(
    stack: Stack, evidence: Evidence, session: Session
) -> None:
    assert len(evidence.decks) >= 2
    key = key_from_text(stack.processes["table-0"].env["CARDROOM_TABLE_DECK_KEY"])
    for number, (name, sealed) in evidence.decks.items():
        deck = DeckBox([key]).open(sealed, name, evidence.table_id, number)
        dealt = {
            card
            for player in session.hands[number].players.values()
            for card in cards.parse(session.own[player][number])
        }
        assert set(deck.cards[: len(dealt)]) == dealt, "it is the deck of this hand"
    assert [place for place, value in evidence.rows if isinstance(value, bytes) and has_a_deck(value)] == []


async def test_after_its_hand_a_deck_is_gone(stack: Stack, evidence: Evidence) -> None:
    ended = max(evidence.guests[0].hands_ended)
    rows = await fetch(stack, "table", DECKS, evidence.table_id)
    assert [row["hand_number"] for row in rows if row["hand_number"] <= ended] == []


def test_no_secret_of_the_run_is_written_anywhere(stack: Stack, evidence: Evidence) -> None:
    tokens = evidence.tokens
    assert len(tokens) == GUESTS
    for place, text in (evidence.files | evidence.metrics).items():
        # At level debug Envoy writes every header down; nobody runs it so where people play.
        hidden = stack.secrets if place == "envoy.log" else (*stack.secrets, *tokens)
        assert [secret[:4] for secret in hidden if secret in text] == [], place
    for place, value in evidence.rows:
        raw = value if isinstance(value, bytes) else value.encode()
        assert [secret[:4] for secret in (*stack.secrets, *tokens) if secret.encode() in raw] == [], place


def test_what_is_searched_for_would_be_found(hidden: dict[tuple[str, str], str]) -> None:
    (one, other) = next(pair for pair in hidden if set("".join(pair)) - set("0123456789cd"))
    numbers = [cards.parse(one)[0], cards.parse(other)[0]]
    forms = [f"{one}{other}", f"{one} {other}", str([one, other]), str((one, other)), f'["{one}","{other}"]']
    for form in (*forms, f"Qs{one}{other}2c", f'{{\\"cards\\": \\"{one}{other}\\"}}'):
        assert in_text(f'{{"event": "a hand", "cards": {form}}}', hidden), form
        assert any_in_text(f"cards={form}"), form
    assert in_text(f"dealt {numbers}", hidden)
    assert in_text(f"dealt {tuple(numbers)} to seat 1", hidden)
    assert in_bytes(b"\x0a\x04" + f"{one}{other}".encode() + b"2", hidden)
    assert has_a_deck(b"x" + bytes(reversed(range(52))))
    assert (
        any_in_text("trace 0af7651916cd43dd8448eb211c80319c")
        == any_in_text("id 3f2c-4d2c")
        == any_in_text("in 5s or 2d")
        == []
    )


def _assert_face_up(message: TableChanged | PlayResponse | WatchResponse, face_up: frozenset[str]) -> None:
    for named in fields_of_cards(message):
        assert set(named) <= face_up, f"{set(named) - face_up} in {message}"
