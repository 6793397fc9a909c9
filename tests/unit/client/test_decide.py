"""Bots play a sane game: strong hands win chips, weak ones are given up, and nothing illegal is ever said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from cardroom.client.bots import Style, decide
from cardroom.contracts.table.v1 import view_pb2 as pb
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.engine import CALL, CHECK, FOLD, Game, Hand, HandConfig, RaiseTo, Status, Street, cards
from cardroom.engine import Action as EngineAction
from cardroom.engine import LegalActions as EngineLegal
from cardroom.engine.shuffle import shuffled_deck

STREETS = {
    Street.PREFLOP: pb.STREET_PREFLOP,
    Street.FLOP: pb.STREET_FLOP,
    Street.TURN: pb.STREET_TURN,
    Street.RIVER: pb.STREET_RIVER,
}
STATUSES = {
    Status.IN: pb.PLAYER_STATUS_IN,
    Status.ALL_IN: pb.PLAYER_STATUS_ALL_IN,
    Status.FOLDED: pb.PLAYER_STATUS_FOLDED,
}
KINDS: dict[int, EngineAction] = {
    pb.ACTION_KIND_FOLD: FOLD,
    pb.ACTION_KIND_CHECK: CHECK,
    pb.ACTION_KIND_CALL: CALL,
}
Player = Callable[[pb.PublicView, str, pb.LegalActions, Random], Action]


def legal_of(legal: EngineLegal) -> pb.LegalActions:
    presets = legal.presets
    return pb.LegalActions(
        can_fold=True,
        can_check=legal.can_check,
        call_amount=legal.call_amount,
        raise_min=legal.raise_min,
        raise_max=legal.raise_max,
        is_bet=legal.is_bet,
        unit=legal.unit,
        preset_half_pot=presets.half_pot if presets else None,
        preset_three_quarter_pot=presets.three_quarter_pot if presets else None,
        preset_pot=presets.pot if presets else None,
        all_in_total=legal.all_in,
    )


def view_of(hand: Hand) -> pb.PublicView:
    config = hand.config
    view = pb.PublicView(stakes=pb.Stakes(small_blind=config.small_blind, big_blind=config.big_blind))
    view.hand.CopyFrom(
        pb.HandView(
            button_seat=config.button,
            small_blind_seat=config.small_blind_seat or 0,
            big_blind_seat=config.big_blind_seat,
            street=STREETS[hand.street],
            board=cards.text(hand.board),
            pots=[pb.PotView(amount=sum(hand.contribution(seat) for seat in hand.seats))],
            players=[
                pb.HandPlayer(
                    seat=seat, street_total=hand.street_contribution(seat), status=STATUSES[hand.status(seat)]
                )
                for seat in hand.seats
            ],
            turn=pb.TurnView(seat=hand.actor or 0),
        )
    )
    return view


def engine_action(action: Action) -> EngineAction:
    return RaiseTo(action.amount) if action.kind == pb.ACTION_KIND_RAISE else KINDS[action.kind]


def played(players: dict[int, Player], button: int, rng: Random, stacks: dict[int, int]) -> dict[int, int]:
    """Plays one hand; answers what each seat won or lost."""
    seats = tuple(sorted(stacks.items()))
    order = [seat for seat, _ in seats]
    after = order[order.index(button) + 1 :] + order[: order.index(button) + 1]
    small, big = (button, after[0]) if len(order) == 2 else (after[0], after[1])
    config = HandConfig(Game.NO_LIMIT_HOLDEM, 1, 2, button, small, big, seats)
    hand, _ = Hand.start(config, shuffled_deck(rng.randrange))
    while not hand.is_over:
        legal, actor = hand.legal(), hand.actor
        assert legal is not None
        assert actor is not None
        own = cards.text(hand.hole_cards(actor))
        hand.act(actor, engine_action(players[actor](view_of(hand), own, legal_of(legal), rng)))
    result = hand.result
    assert result is not None
    return dict(result.deltas)


def bot(samples: int = 20) -> Player:
    style = Style(samples=samples)
    return lambda view, own, legal, rng: decide(view, own, legal, rng, style)


def calling_station(view: pb.PublicView, own: str, legal: pb.LegalActions, rng: Random) -> Action:
    return Action(kind=pb.ACTION_KIND_CHECK if legal.can_check else pb.ACTION_KIND_CALL)


def maniac(view: pb.PublicView, own: str, legal: pb.LegalActions, rng: Random) -> Action:
    if legal.HasField("raise_min") and rng.random() < 0.7:
        return Action(kind=pb.ACTION_KIND_RAISE, amount=rng.choice([legal.raise_min, legal.preset_pot]))
    return calling_station(view, own, legal, rng)


def spot(own: str, board: str, *, to_call: int, pot: int, opponents: int = 1) -> tuple[pb.PublicView, pb.LegalActions]:
    """A heads-up or multiway decision at 1/2, 200 behind; `pot` holds the bet that is to be called."""
    street = {0: pb.STREET_PREFLOP, 6: pb.STREET_FLOP, 8: pb.STREET_TURN, 10: pb.STREET_RIVER}[len(board)]
    others = [pb.HandPlayer(seat=2 + n, street_total=to_call, status=pb.PLAYER_STATUS_IN) for n in range(opponents)]
    view = pb.PublicView(stakes=pb.Stakes(small_blind=1, big_blind=2))
    view.hand.CopyFrom(
        pb.HandView(
            button_seat=1,
            big_blind_seat=2,
            street=street,
            board=board,
            pots=[pb.PotView(amount=pot)],
            players=[pb.HandPlayer(seat=1, status=pb.PLAYER_STATUS_IN), *others],
            turn=pb.TurnView(seat=1),
        )
    )
    legal = pb.LegalActions(can_fold=True, can_check=not to_call, unit=1, raise_max=200, all_in_total=200)
    legal.raise_min = max(2, 2 * to_call)
    legal.preset_half_pot, legal.preset_three_quarter_pot, legal.preset_pot = (
        to_call + (pot + to_call) * quarters // 4 for quarters in (2, 3, 4)
    )
    if to_call:
        legal.call_amount = to_call
    return view, legal


def choices(own: str, board: str, *, to_call: int, pot: int, opponents: int = 1) -> Counter[int]:
    view, legal = spot(own, board, to_call=to_call, pot=pot, opponents=opponents)
    return Counter(decide(view, own, legal, Random(seed), Style(samples=40)).kind for seed in range(60))


def test_aces_never_fold_and_mostly_raise() -> None:
    kinds = choices("AhAd", "", to_call=6, pot=9)
    assert kinds[pb.ACTION_KIND_FOLD] == 0
    assert kinds[pb.ACTION_KIND_RAISE] > 50


def test_seven_deuce_folds_to_a_raise() -> None:
    assert choices("7h2d", "", to_call=6, pot=9)[pb.ACTION_KIND_FOLD] == 60


def test_the_nuts_never_fold() -> None:
    kinds = choices("AhKh", "QhJhTh", to_call=150, pot=200)
    assert kinds[pb.ACTION_KIND_FOLD] == 0


def test_nothing_on_the_river_folds_to_a_pot_bet() -> None:
    assert choices("7c2d", "AhKhQs9s4d", to_call=50, pot=100)[pb.ACTION_KIND_FOLD] >= 57


def test_a_flush_draw_calls_a_small_bet_and_gives_up_against_a_huge_one() -> None:
    small = choices("8h7h", "AhKh2c", to_call=5, pot=45)
    huge = choices("8h7h", "AhKh2c", to_call=150, pot=190)
    assert small[pb.ACTION_KIND_FOLD] <= 6
    assert huge[pb.ACTION_KIND_FOLD] >= 40


def test_a_free_card_is_never_folded() -> None:
    assert choices("7c2d", "AhKhQs", to_call=0, pot=10)[pb.ACTION_KIND_FOLD] == 0


def test_the_same_seed_decides_the_same() -> None:
    view, legal = spot("9h8h", "7h6c2d", to_call=10, pot=30)
    assert len({str(decide(view, "9h8h", legal, Random(5))) for _ in range(5)}) == 1


@pytest.mark.slow
def test_nothing_illegal_is_ever_said_at_tables_of_two_to_nine() -> None:
    """The engine refuses an illegal action by raising."""
    rng = Random(11)
    for _ in range(150):
        count = rng.randint(2, 9)
        stacks = {seat: rng.choice([1, 3, 17, 100, 200, 500]) for seat in range(1, count + 1)}
        deltas = played(dict.fromkeys(stacks, bot(samples=4)), rng.randint(1, count), rng, stacks)
        assert sum(deltas.values()) == 0


@pytest.mark.slow
@pytest.mark.parametrize("fool", [calling_station, maniac])
def test_a_bot_takes_chips_from_those_who_do_not_look_at_their_cards(fool: Player) -> None:
    rng = Random(3)
    won = 0
    for number in range(400):
        won += played({1: bot(), 2: fool}, 1 + number % 2, rng, {1: 200, 2: 200})[1]
    assert won > 400 * 2 * 0.5, f"won {won} chips in 400 hands at 1/2"
