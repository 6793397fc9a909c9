"""A round of betting: whose turn it is, what they may do, and when it ends (§4 to §7).

Players are numbered by their place left of the button: 0 is the first to act after the flop, the last has (or is
nearest to) the button. One Betting lasts a whole hand; `next_street` opens the next round.
"""

from __future__ import annotations

from cardroom.engine.legal import LegalActions, Presets

__all__ = ["Betting"]


class Betting:
    """Stacks, wagers and turns of one hand. Its methods assume that the action was found legal."""

    __slots__ = (
        "able",
        "bets",
        "dead",
        "full_raise",
        "live",
        "min_bet",
        "nominal_pot",
        "pot_limit",
        "raiser",
        "seen",
        "stacks",
        "started",
        "unit",
        "wager",
        "waiting",
    )

    def __init__(self, stacks: list[int], min_bet: int, unit: int, *, pot_limit: bool) -> None:
        count = len(stacks)
        self.started = stacks
        self.stacks = stacks[:]
        self.dead = [0] * count  # chips that count toward no call and lie in the main pot
        self.bets = [0] * count  # wagers of this street
        self.live = list(range(count))  # everyone who has not folded
        self.able = count  # live players with chips left
        self.waiting: list[int] = []  # still to act on this street, the actor first
        self.wager = 0  # the total to match
        self.full_raise = min_bet  # the size of the last full bet or raise (5.3)
        self.seen = [-1] * count  # the wager at each player's last action on this street, -1 before it
        self.raiser = -1  # last to bet or raise on this street
        self.min_bet = min_bet
        self.unit = unit
        self.pot_limit = pot_limit
        self.nominal_pot = 0  # chips that short or dead blinds count for but did not put in (6.1)

    def copy(self) -> Betting:
        """An independent copy."""
        new = Betting(self.started, self.min_bet, self.unit, pot_limit=self.pot_limit)
        new.stacks, new.dead, new.bets = self.stacks[:], self.dead[:], self.bets[:]
        new.live, new.waiting, new.seen = self.live[:], self.waiting[:], self.seen[:]
        new.able, new.wager, new.full_raise = self.able, self.wager, self.full_raise
        new.raiser, new.nominal_pot = self.raiser, self.nominal_pot
        return new

    def state(self) -> tuple[object, ...]:
        """Everything, for comparison."""
        settled = (self.started, self.min_bet, self.unit, self.pot_limit)
        chips = (self.stacks, self.dead, self.bets, self.nominal_pot)
        turn = (self.live, self.able, self.waiting, self.seen, self.wager, self.full_raise, self.raiser)
        return (*settled, *chips, *turn)

    # Before the deal

    def post_blind(self, player: int, amount: int) -> int:
        """Take a wager before the deal, or what is left of the stack (3.6). Answers the chips taken."""
        paid = self.post_ante(player, amount)
        self.bets[player] += paid
        return paid

    def post_dead(self, player: int, amount: int) -> int:
        """Take chips for the main pot that count toward no call (3.8)."""
        paid = self.post_ante(player, amount)
        self.dead[player] += paid
        return paid

    def post_ante(self, player: int, amount: int) -> int:
        """Take chips that count toward no call (3.7)."""
        stack = self.stacks[player]
        if stack > amount:
            self.stacks[player] = stack - amount
            return amount
        self.stacks[player] = 0
        if stack:
            self.able -= 1
        return stack

    def open(self, wager: int, first: int, nominal_pot: int) -> None:
        """Start the round before the flop at `wager`, with `first` to act (4.1)."""
        self.wager = wager
        self.nominal_pot = nominal_pot
        stacks = self.stacks
        live = self.live
        self.waiting = [player for player in live[first:] + live[:first] if stacks[player]]

    # The round

    def asks(self) -> bool:
        """Whether anyone is to act. Alone with chips, a player is asked only to match more than they have in (4.4)."""
        waiting = self.waiting
        if not waiting:
            return False
        if self.able > 1:
            return True
        bets = self.bets
        own = bets[waiting[0]]
        return any(bets[other] > own for other in self.live)

    def fold(self) -> int:
        """The actor gives up. Answers who that was."""
        player = self.waiting.pop(0)
        self.live.remove(player)
        self.able -= 1
        return player

    def check_or_call(self) -> int:
        """The actor matches the wager, or puts in what they have. Answers the chips added."""
        player = self.waiting.pop(0)
        wager = self.wager
        self.seen[player] = wager
        price = wager - self.bets[player]
        if not price:
            return 0
        stack = self.stacks[player]
        if price >= stack:
            price = stack
            self.able -= 1
        self.stacks[player] = stack - price
        self.bets[player] += price
        return price

    def raise_to(self, amount: int) -> int:
        """The actor bets or raises to `amount`. Answers the chips added."""
        player = self.waiting[0]
        added = amount - self.bets[player]
        left = self.stacks[player] - added
        self.stacks[player] = left
        if not left:
            self.able -= 1
        raised = amount - self.wager
        if raised > self.full_raise:  # noqa: PLR1730 - max() takes three times as long
            self.full_raise = raised
        self.bets[player] = self.wager = self.seen[player] = amount
        self.raiser = player
        live = self.live
        place = live.index(player)
        stacks = self.stacks
        self.waiting = [other for other in live[place + 1 :] + live[:place] if stacks[other]]
        return added

    def next_street(self) -> None:
        """Open the next round: nothing wagered, the first live player left of the button to act (4.2)."""
        count = len(self.bets)
        self.bets = [0] * count
        self.seen = [-1] * count
        self.wager = self.nominal_pot = 0
        self.full_raise = self.min_bet
        self.raiser = -1
        stacks = self.stacks
        self.waiting = [player for player in self.live if stacks[player]]

    # What is legal

    def raise_range(self) -> tuple[int, int] | None:
        """Smallest and largest total that the actor may bet or raise to, or None."""
        player = self.waiting[0]
        wager = self.wager
        all_in = self.bets[player] + self.stacks[player]
        if all_in <= wager or self.able < 2:
            return None
        seen = self.seen[player]
        if seen >= 0 and wager - seen < self.full_raise:
            return None
        low = wager + self.full_raise
        if self.pot_limit:
            most = max(low, wager + self.pot_after_call())
            return min(low, all_in), min(most, all_in)
        return (low, all_in) if low < all_in else (all_in, all_in)

    def pot_after_call(self) -> int:
        """The pot as it would stand after the actor's call: in pot-limit as 6.1 counts it, else the chips really in."""
        pot = sum(self.started) - sum(self.stacks) + self.wager - self.bets[self.waiting[0]]
        return pot + self.nominal_pot if self.pot_limit else pot

    def legal(self, seat: int) -> LegalActions:
        """The actor's choices (7.2); `seat` is the actor's seat number."""
        player = self.waiting[0]
        wager, bet, stack = self.wager, self.bets[player], self.stacks[player]
        limits = self.raise_range()
        low, high = limits or (None, None)
        return LegalActions(
            seat=seat,
            call_amount=min(wager - bet, stack) or None,
            raise_min=low,
            raise_max=high,
            is_bet=not wager,
            unit=self.unit,
            presets=self._presets(*limits) if limits else None,
            all_in=bet + stack,
        )

    def _presets(self, low: int, high: int) -> Presets:
        """Wager to match + fraction of the pot after the call, down to a unit, within the legal range (7.2)."""
        pot, unit = self.pot_after_call(), self.unit

        def preset(quarters: int) -> int:
            total = (4 * self.wager + quarters * pot) // 4
            return max(low, min(high, total // unit * unit))

        return Presets(preset(2), preset(3), high if self.pot_limit else preset(4))
