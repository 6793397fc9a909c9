"""How a hand goes on by itself between two turns: posting, dealing, giving back, showing, awarding."""

from __future__ import annotations

from collections.abc import Callable

from cardroom.engine import events as ev
from cardroom.engine import showdown
from cardroom.engine.cards import UNKNOWN, Card, text
from cardroom.engine.config import BlindKind
from cardroom.engine.errors import CardsError, ShowdownError, UnknownCardNeeded
from cardroom.engine.pots import uncalled
from cardroom.engine.showdown import Award
from cardroom.engine.state import HandState

__all__ = ["Course"]

_SMALL, _BIG = BlindKind.SMALL, BlindKind.BIG
_DEAD = (BlindKind.DEAD, BlindKind.DEAD_ANTE)


class Course(HandState):
    """The part of a hand that nobody decides."""

    __slots__ = ()

    # Before the deal

    def _post_everything(self) -> None:
        config, index = self._config, self._index
        small, big = config.small_blind_seat, index[config.big_blind_seat]
        if config.posts:
            self._post_extra(lambda kind: kind is BlindKind.DEAD_ANTE)
        if config.ante:
            for player in range(len(self._order)):
                self._post_ante(player)
        in_full = config.small_blind + config.big_blind
        if small is not None and config.small_blind:
            in_full -= self._post(index[small], _SMALL, config.small_blind)
        in_full -= self._post(big, _BIG, config.big_blind)
        wager, last = config.big_blind, big
        if config.posts:
            # A missed small blind posts after the live one, which it may leave no chips for.
            self._post_extra(lambda kind: kind in (BlindKind.LIVE, BlindKind.STRADDLE))
            self._post_extra(lambda kind: kind is BlindKind.DEAD)
            for post in config.posts:
                if post.kind is BlindKind.STRADDLE and post.amount > wager:
                    wager, last = post.amount, index[post.seat]
        self._betting.open(wager, (last + 1) % len(self._order), in_full)

    def _post_extra(self, chosen: Callable[[BlindKind], bool]) -> None:
        for post in self._config.posts:
            if chosen(post.kind):
                self._post(self._index[post.seat], post.kind, post.amount)

    def _post(self, player: int, kind: BlindKind, amount: int) -> int:
        take = self._betting.post_dead if kind in _DEAD else self._betting.post_blind
        paid = take(player, amount)
        if paid and self._events is not None:
            all_in = not self._betting.stacks[player]
            self._events.append(ev.BlindPosted(self._order[player], kind, paid, all_in))
        return paid

    def _post_ante(self, player: int) -> None:
        paid = self._betting.post_ante(player, self._config.ante)
        if self._events is not None:
            self._events.append(ev.AntePosted(self._order[player], paid, not self._betting.stacks[player]))

    # From turn to turn

    def _go_on(self) -> None:
        """Play on until somebody is to act, cards are due, a showdown waits, or the hand is over."""
        betting = self._betting
        while not self._over and not self._due:
            if len(betting.live) == 1:
                self._win_unopposed()
                return
            if betting.asks():
                return
            betting.waiting = []
            if betting.able < 2:
                self._give_back_uncalled()
            if self._street + 1 == len(self._config.rules.streets):
                if not self._manual or len(self._decided) == len(betting.live):
                    self._showdown()
                return
            if betting.able < 2 and not self._tabled:
                self._table_hands()
            self._deal_street()

    def _deal_street(self) -> None:
        board_sizes = self._config.rules.board_sizes
        have, want = len(self._board), board_sizes[self._street + 1]
        if len(self._future) < want:
            self._due = want - have
            return
        self._street += 1
        self._board = self._future[:want]
        self._betting.next_street()
        if self._events is not None:
            self._events.append(ev.StreetDealt(self.street, self._board[have:]))

    def _cards_out(self) -> list[Card]:
        out = list(self._board)
        for hole in self._holes:
            out += hole
        return out

    def _give_back_uncalled(self) -> None:
        betting = self._betting
        player, amount = uncalled(self._contributions())
        if not amount:
            return
        if player in betting.live and not betting.stacks[player]:
            betting.able += 1
        betting.stacks[player] += amount
        betting.bets[player] = max(0, betting.bets[player] - amount)
        self._returned = (player, amount)
        if self._events is not None:
            self._events.append(ev.UncalledReturned(self._order[player], amount))

    def _table_hands(self) -> None:
        """Betting is over with cards to come: every hand still in is turned face up (8.3)."""
        self._tabled = True
        if self._manual:
            return
        live = self._betting.live
        self._decided = dict.fromkeys(live, True)
        if self._events is not None:
            self._events.append(ev.HandsTabled(tuple([(self._order[p], self._holes[p]) for p in live])))

    # Showdown

    def _decider(self, seat: int) -> int:
        player = self._index.get(seat, -1)
        if player not in self._betting.live or player in self._decided:
            raise ShowdownError(f"seat {seat} has no hand to show or muck")
        if not self._manual or self._over or not (self._tabled or self.at_showdown):
            raise ShowdownError(f"seat {seat} cannot show or muck now")
        return player

    def _learn(self, player: int, cards: tuple[Card, ...]) -> None:
        known = [card for card in self._holes[player] if card != UNKNOWN]
        others = {card for p, hole in enumerate(self._holes) if p != player for card in hole}.union(self._board)
        others.discard(UNKNOWN)
        fits = len(cards) == len(self._holes[player]) and set(known) <= set(cards) and UNKNOWN not in cards
        if not fits or not others.isdisjoint(cards):
            dealt = text(self._holes[player])
            raise CardsError(f"seat {self._order[player]} shows {text(cards)!r}, but was dealt {dealt!r}")
        self._holes[player] = cards

    def _decide(self, player: int, *, shows: bool, record: bool) -> list[ev.Event]:
        self._events = [] if record else None
        self._declare(player, shows=shows)
        self._go_on()
        return self._take_events()

    def _declare(self, player: int, *, shows: bool) -> None:
        self._decided[player] = shows
        if self._events is not None:
            seat = self._order[player]
            self._events.append(ev.HandShown(seat, self._holes[player]) if shows else ev.HandMucked(seat))

    def _showdown(self) -> None:
        betting, decided = self._betting, self._decided
        live = betting.live
        pots = self._split()
        if len(decided) < len(live):
            shown = [player for player, shows in decided.items() if shows]
            for player in showdown.order_of_showing(live, betting.raiser):
                if player in decided:
                    continue
                if not shown and len(decided) + 1 == len(live):
                    break  # all the others mucked: the last hand wins unshown
                shows = self._tabled or not shown or showdown.shows(player, self._rank, shown, pots)
                if shows:
                    shown.append(player)
                self._declare(player, shows=shows)
        mucked = [player for player, shows in self._decided.items() if not shows]
        self._settle(showdown.award(pots, self._rank, mucked))

    def _rank(self, player: int) -> tuple[int, ...]:
        """The player's hand, one rank for each part of a pot."""
        known = self._ranks.get(player)
        if known is not None:
            return known
        hole = self._holes[player]
        if UNKNOWN in hole:
            raise UnknownCardNeeded(f"seat {self._order[player]} is at the showdown with unknown cards {text(hole)!r}")
        ranks = tuple([ranking(hole, self._board) for ranking in self._config.rules.rankings])
        self._ranks[player] = ranks
        return ranks

    # Settling

    def _win_unopposed(self) -> None:
        """Everyone else has folded: the hand ends at once, and no card is shown (8.4)."""
        self._give_back_uncalled()
        betting = self._betting
        winner = betting.live[0]
        pot = sum(betting.started) - sum(betting.stacks)
        self._settle([Award(pot, (winner,), ((winner, pot),))])

    def _settle(self, pots: list[Award]) -> None:
        betting, order = self._betting, self._order
        self._paid = [a - b for a, b in zip(betting.started, betting.stacks)]  # noqa: B905 - speed
        self._pots = pots
        for pot in pots:
            for player, chips in pot.wins:
                betting.stacks[player] += chips
        self._over = True
        betting.waiting = []
        assert sum(betting.stacks) == sum(betting.started), "chips were created or destroyed"
        if self._events is not None:
            for number, pot in enumerate(self._pots):
                wins = tuple([(order[player], chips) for player, chips in pot.wins])
                eligible = tuple([order[player] for player in pot.eligible])
                self._events.append(ev.PotAwarded(number, pot.amount, eligible, wins))
            self._events.append(ev.HandEnded(tuple(self.stacks.items())))

    def _take_events(self) -> list[ev.Event]:
        events = self._events
        self._events = None
        return events if events is not None else []

    def _tell_the_deal(self) -> None:
        assert self._events is not None
        self._events += [
            ev.HoleCardsDealt(seat, len(hole)) for seat, hole in zip(self._order, self._holes, strict=True)
        ]
        self._events += [ev.HoleCardsGiven(seat, hole) for seat, hole in zip(self._order, self._holes, strict=True)]
