"""Which tables a player asks to see, in which order, and page by page."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final
from uuid import UUID

from cardroom.lobby.domain import refusals
from cardroom.lobby.domain.tables import Offer
from cardroom.lobby.errors import Refused

PAGE_DEFAULT: Final = 50
PAGE_MAX: Final = 100
PAGE_TOKEN_CHARS_MAX: Final = 1000
ORDER_CHARS_MAX: Final = 300

Value = int | str

# What the list can be sorted by: the paths of fields in the contract's `Table`.
SORTABLE: Final[Mapping[str, Callable[[Offer], Value]]] = MappingProxyType(
    {
        "name": lambda offer: offer.table.name,
        "stakes.game": lambda offer: offer.table.stakes.game,
        "stakes.small_blind": lambda offer: offer.table.stakes.small_blind,
        "stakes.big_blind": lambda offer: offer.table.stakes.big_blind,
        "stakes.ante": lambda offer: offer.table.stakes.ante,
        "stakes.min_buy_in": lambda offer: offer.table.stakes.min_buy_in,
        "stakes.max_buy_in": lambda offer: offer.table.stakes.max_buy_in,
        "stakes.seats": lambda offer: offer.table.stakes.seats,
        "seats_taken": lambda offer: len(offer.taken_seats),
        "average_pot": lambda offer: offer.average_pot,
        "hands_per_hour": lambda offer: offer.hands_per_hour,
        "waiting": lambda offer: offer.waiting,
    }
)
USUAL: Final = ("stakes.small_blind", "name")


@dataclass(frozen=True, slots=True)
class Span:
    """Whole numbers from `least` to `most`; None: no limit on that side."""

    least: int | None = None
    most: int | None = None

    def __contains__(self, number: int) -> bool:
        """Whether the number is one of them."""
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)


ANY: Final = Span()


@dataclass(frozen=True, slots=True)
class TableFilter:
    """Which tables are meant: those for which all of it holds. Two filters that are equal mean the same tables."""

    games: frozenset[int] = frozenset()
    small_blind: Span = ANY
    seats: Span = ANY
    players: Span = ANY
    free_seats: Span = ANY

    def lets_through(self, offer: Offer) -> bool:
        """Whether the table is one of those that are meant."""
        stakes, taken = offer.table.stakes, len(offer.taken_seats)
        return (
            (not self.games or stakes.game in self.games)
            and stakes.small_blind in self.small_blind
            and stakes.seats in self.seats
            and taken in self.players
            and stakes.seats - taken in self.free_seats
        )


EVERY_TABLE: Final = TableFilter()


def checked_filter(wanted: TableFilter, games: frozenset[int]) -> TableFilter:
    """Return the filter if it makes sense. Raises Refused, naming the field that does not."""
    strange = sorted(wanted.games - games)
    if strange:
        raise Refused(refusals.invalid_filter("games", f"game {strange[0]} is none: choose from {sorted(games)}"))
    for name in ("small_blind", "seats", "players", "free_seats"):
        span: Span = getattr(wanted, name)
        for end, number in (("min", span.least), ("max", span.most)):
            if number is not None and number < 0:
                raise Refused(refusals.invalid_filter(f"{name}_{end}", f"{name}_{end} is {number}: 0 or more"))
        if span.least is not None and span.most is not None and span.least > span.most:
            why = f"{name}_min is {span.least} and {name}_max {span.most}: the least must not be above the most"
            raise Refused(refusals.invalid_filter(f"{name}_min", why))
    return wanted


@dataclass(frozen=True, slots=True)
class Order:
    """How tables are sorted: by these fields, the biggest first where that is said; then as usual, then by id."""

    fields: tuple[tuple[str, bool], ...] = ()

    @property
    def whole(self) -> tuple[tuple[str, bool], ...]:
        """The fields with those that decide between equals."""
        named = {field for field, _ in self.fields}
        return self.fields + tuple((field, False) for field in USUAL if field not in named)

    def sorted(self, offers: Iterable[Offer]) -> list[Offer]:
        """Return the tables in this order, which is the same every time."""
        found = sorted(offers, key=lambda offer: offer.table.table_id)
        for field, is_descending in reversed(self.whole):
            found.sort(key=SORTABLE[field], reverse=is_descending)
        return found

    def place(self, offer: Offer) -> list[Value]:
        """Return what decides where the table stands."""
        return [SORTABLE[field](offer) for field, _ in self.whole] + [offer.table.table_id]

    def is_after(self, offer: Offer, place: list[Value]) -> bool:
        """Whether the table stands behind that place."""
        descending = [*(is_descending for _, is_descending in self.whole), False]
        for own, other, is_descending in zip(self.place(offer), place, descending, strict=True):
            if own != other:
                return (own > other) != is_descending  # type: ignore[operator]  # alike: `read_token` has checked it
        return False


def read_order(text: str) -> Order:
    """Return the order that the text asks for. Raises Refused with what can be asked for."""
    if not text.strip():
        return Order()
    if len(text) > ORDER_CHARS_MAX:
        raise Refused(refusals.invalid_order_by(f"order_by has {len(text)} characters: {ORDER_CHARS_MAX} at most"))
    fields: dict[str, bool] = {}
    for part in text.split(","):
        words = part.split()
        if not 1 <= len(words) <= 2 or words[1:] not in ([], ["asc"], ["desc"]):
            why = f"{part.strip()!r} in order_by is not a field, or a field and `desc`"
            raise Refused(refusals.invalid_order_by(f"{why}: write it like `stakes.small_blind desc, seats_taken`"))
        field = words[0]
        if field not in SORTABLE:
            why = f"order_by names {field!r}, by which tables cannot be sorted: choose from {', '.join(SORTABLE)}"
            raise Refused(refusals.invalid_order_by(why, field))
        if field in fields:
            raise Refused(refusals.invalid_order_by(f"order_by names {field!r} twice: once is enough", field))
        fields[field] = words[1:] == ["desc"]
    return Order(tuple(fields.items()))


@dataclass(frozen=True, slots=True)
class Query:
    """A page of the list, as asked for. Size 0: the usual one; more than the largest: that one (AIP-158)."""

    wanted: TableFilter = EVERY_TABLE
    order: Order = Order()
    size: int = 0
    token: str = ""

    def page(self, offers: Iterable[Offer]) -> tuple[list[Offer], str]:
        """Return the page of these tables, and the token of the next one. Raises Refused."""
        if self.size < 0:
            raise Refused(refusals.invalid_page_size(self.size))
        found = self.order.sorted(offer for offer in offers if self.wanted.lets_through(offer))
        if self.token:
            place = read_token(self.token, self)
            found = [offer for offer in found if self.order.is_after(offer, place)]
        limit = min(self.size, PAGE_MAX) or PAGE_DEFAULT
        more = len(found) > limit
        return found[:limit], write_token(found[limit - 1], self) if more else ""

    @property
    def fingerprint(self) -> str:
        """Tells lists apart, so that a page token of one is not taken for that of another."""
        text = repr((sorted(self.wanted.games), *_spans(self.wanted), self.order.whole))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _spans(wanted: TableFilter) -> tuple[Span, ...]:
    return wanted.small_blind, wanted.seats, wanted.players, wanted.free_seats


def write_token(last: Offer, query: Query) -> str:
    """Return the token for the page after this table."""
    return base64.urlsafe_b64encode(json.dumps([query.fingerprint, *query.order.place(last)]).encode()).decode()


def read_token(token: str, query: Query) -> list[Value]:
    """Return the place that a token stands for. Raises Refused."""
    if len(token) > PAGE_TOKEN_CHARS_MAX:
        raise Refused(refusals.invalid_page_token())
    try:
        fingerprint, *place = json.loads(base64.b64decode(token, altchars=b"-_", validate=True))
        table_id = str(UUID(place[-1]))
    except (ValueError, TypeError, AttributeError, IndexError, binascii.Error, RecursionError):
        raise Refused(refusals.invalid_page_token()) from None
    if fingerprint != query.fingerprint:
        raise Refused(refusals.page_token_of_another_list())
    kinds = [str if field == "name" else int for field, _ in query.order.whole]
    values = place[:-1]
    if len(values) != len(kinds) or any(type(v) is not k for v, k in zip(values, kinds, strict=True)):
        raise Refused(refusals.invalid_page_token())
    return [*values, table_id]
