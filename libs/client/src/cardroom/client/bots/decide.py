"""What a bot does at its turn. Pure: the view, the cards, what is legal and a seeded `Random` in, an action out."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from cardroom.client.amounts import nearest_total
from cardroom.client.bots.strength import equity, preflop_percentile
from cardroom.client.sessions import call, check, fold, raise_to
from cardroom.client.view import pot_total
from cardroom.contracts.table.v1.table_pb2 import Action
from cardroom.contracts.table.v1.view_pb2 import PLAYER_STATUS_FOLDED, STREET_PREFLOP, LegalActions, PublicView
from cardroom.engine.cards import Card, parse

# The part of all hands that opens the betting, by how many are still in.
_OPENING_RANGE: Final = {2: 0.70, 3: 0.45, 4: 0.34, 5: 0.27, 6: 0.22}
_OPENING_RANGE_FULL: Final = 0.17

# Beyond this part of the stack a wager may as well be all of it.
_COMMITTED: Final = 0.6


@dataclass(frozen=True, slots=True)
class Style:
    """How a bot plays. The defaults are a solid, slightly aggressive regular."""

    samples: int = 60
    """Random run-outs for each decision; 60 take about half a millisecond."""
    looseness: float = 1.0
    """Multiplies the opening ranges."""
    aggression: float = 0.75
    """How often a hand good enough to bet does bet."""
    bluff: float = 0.10
    """How often a hand too weak to bet bets all the same."""


@dataclass(frozen=True, slots=True)
class _Spot:
    """The facts a decision rests on."""

    hole: tuple[Card, ...]
    board: tuple[Card, ...]
    opponents: int
    pot: int
    big_blind: int
    price: int
    """What a call costs; 0 when there is nothing to call."""
    wager: int
    """The total to match on this street."""
    is_late: bool
    """On the button or just before it."""

    @property
    def pot_odds(self) -> float:
        """The part of the pot that a call pays for: calling breaks even at this equity."""
        return self.price / (self.pot + self.price) if self.price else 0.0


def decide(view: PublicView, own_cards: str, legal: LegalActions, rng: Random, style: Style | None = None) -> Action:
    """Chooses among the legal actions. `own_cards` is two cards as text ("AhKd")."""
    style = style or Style()
    spot = _spot(view, own_cards, legal)
    if view.hand.street == STREET_PREFLOP:
        wish = _before_the_flop(spot, legal, rng, style)
    else:
        wish = _after_the_flop(spot, legal, rng, style)
    return _legal(wish, legal)


def _before_the_flop(spot: _Spot, legal: LegalActions, rng: Random, style: Style) -> Action:
    percentile = preflop_percentile(spot.hole)
    opening = _OPENING_RANGE.get(spot.opponents + 1, _OPENING_RANGE_FULL) * style.looseness
    if spot.is_late:
        opening *= 1.35
    if spot.wager <= spot.big_blind:
        if percentile <= opening and rng.random() < 0.6 + style.aggression / 2:
            limped = max(0, spot.pot // spot.big_blind - 1)
            return raise_to(int(spot.big_blind * (2.2 + rng.random() * 0.8)) + limped * spot.big_blind // 2)
        return call() if percentile <= opening * 1.5 else fold()
    return _against_a_raise(spot, legal, rng, style, percentile)


def _against_a_raise(spot: _Spot, legal: LegalActions, rng: Random, style: Style, percentile: float) -> Action:
    # The bigger the raise, the better the hands behind it: 3 big blinds mean the best 30 % of hands, 20 the best 5 %.
    raised_to = spot.wager / spot.big_blind
    top = max(0.05, min(0.45, 0.9 / raised_to))
    share = equity(spot.hole, (), min(spot.opponents, 2), rng, style.samples, top=top)
    is_premium = percentile <= 0.03 * style.looseness and share > 0.45
    if is_premium or (share > 0.55 and rng.random() < style.aggression / 2):
        return raise_to(3 * spot.wager)
    # Chips still to be played for make a small call worth a little less than its odds, a hand out of line a lot less.
    margin = 0.02 + 0.08 * min(1.0, spot.price / max(1, legal.all_in_total))
    is_playable = percentile <= 0.55 * style.looseness
    return call() if is_playable and share >= spot.pot_odds + margin else fold()


def _after_the_flop(spot: _Spot, legal: LegalActions, rng: Random, style: Style) -> Action:
    bet_size = spot.price / max(1, spot.pot - spot.price)
    top = max(0.25, 0.75 - 0.35 * min(1.0, bet_size))
    share = equity(spot.hole, spot.board, spot.opponents, rng, style.samples, top=top)
    if not spot.price:
        return _first_to_bet(spot, legal, rng, style, share)
    # Whoever bets has something more often than the simulation believes.
    needed = spot.pot_odds + 0.03 + 0.07 * min(1.5, bet_size)
    if share > max(0.78, needed + 0.25) and rng.random() < style.aggression:
        return raise_to(_sized_bet(share, legal, rng))
    if share >= needed:
        return call()
    is_bluff = spot.opponents == 1 and rng.random() < style.bluff / 5
    return raise_to(legal.preset_three_quarter_pot) if is_bluff else fold()


def _first_to_bet(spot: _Spot, legal: LegalActions, rng: Random, style: Style, share: float) -> Action:
    fair = 1 / (spot.opponents + 1)
    if share > fair + (1 - fair) * 0.28 and rng.random() < style.aggression:
        return raise_to(_sized_bet(share, legal, rng))
    is_bluff = spot.opponents <= 2 and rng.random() < style.bluff
    return raise_to(legal.preset_half_pot) if is_bluff else check()


def _sized_bet(share: float, legal: LegalActions, rng: Random) -> int:
    """Better hands bet more, but not so strictly that the size gives the hand away."""
    want = share + rng.uniform(-0.15, 0.15)
    if want > 0.85:
        return legal.preset_pot
    return legal.preset_three_quarter_pot if want > 0.68 else legal.preset_half_pot


def _legal(wish: Action, legal: LegalActions) -> Action:
    """The legal action nearest to what the bot would like."""
    if wish == fold():
        return check() if legal.can_check else wish
    if wish == call() or wish == check():
        return check() if legal.can_check else call()
    total = nearest_total(legal, wish.amount)
    if total is None:
        return check() if legal.can_check else call()
    if total >= _COMMITTED * legal.all_in_total:
        total = legal.raise_max
    return raise_to(total)


def _spot(view: PublicView, own_cards: str, legal: LegalActions) -> _Spot:
    hand = view.hand
    players = [player for player in hand.players if player.status != PLAYER_STATUS_FOLDED]
    my_seat = hand.turn.seat
    behind = sum(1 for player in players if _is_between(my_seat, player.seat, hand.button_seat))
    return _Spot(
        hole=parse(own_cards),
        board=parse(hand.board),
        opponents=max(1, len(players) - 1),
        pot=pot_total(view),
        big_blind=max(1, view.stakes.big_blind),
        price=legal.call_amount if legal.HasField("call_amount") else 0,
        wager=max((player.street_total for player in hand.players), default=0),
        is_late=behind <= 1 and my_seat not in {hand.small_blind_seat, hand.big_blind_seat},
    )


def _is_between(after: int, seat: int, upto: int) -> bool:
    """Whether a seat is met on the way clockwise from `after` (left out) to `upto` (counted in)."""
    if after == upto:
        return False
    if after < upto:
        return after < seat <= upto
    return seat > after or seat <= upto
