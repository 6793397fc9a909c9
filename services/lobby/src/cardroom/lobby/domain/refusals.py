"""Every "no" of the lobby, with its status, its stable reason and a sentence that says what would be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Refusal:
    """A definite no. `code` is the name of a gRPC status; `metadata` is for programs."""

    code: str
    reason: str
    message: str
    metadata: Mapping[str, str] = field(default_factory=dict)


def table_unknown(table_id: str) -> Refusal:
    """There is no such table on offer."""
    return Refusal(
        "NOT_FOUND", "TABLE_UNKNOWN", f"no table {table_id!r} is on offer: list the tables for those that are"
    )


def invalid_table_id(table_id: str) -> Refusal:
    """A table's id that is no UUID names no table."""
    return Refusal("NOT_FOUND", "TABLE_UNKNOWN", f"{table_id[:80]!r} is no table's id: a UUID would be")


def table_full(table_id: str, seats: int) -> Refusal:
    """Every seat is taken, or kept for somebody who waits for it."""
    return Refusal(
        "FAILED_PRECONDITION",
        "TABLE_FULL",
        f"all {seats} seats of table {table_id} are taken or kept for players who wait: join its waiting list, or try "
        "another table",
    )


def seat_taken(table_id: str, seat: int) -> Refusal:
    """Somebody has this seat, or it is kept for somebody who waits for it."""
    return Refusal(
        "FAILED_PRECONDITION",
        "SEAT_TAKEN",
        f"seat {seat} of table {table_id} is taken: choose a free one, or 0 for any",
    )


def already_seated(table_id: str, seat: int, *, is_leaving: bool) -> Refusal:
    """One table at a time (rule 10.5); says where the player sits and how to go back there."""
    if is_leaving:
        text = (
            f"you are still leaving table {table_id}, seat {seat}: sit down elsewhere once your chips are back and "
            "GetMySeat (GET /v1/me/seat) shows no seat"
        )
    else:
        text = (
            f"you sit at table {table_id}, seat {seat}: go back there with TableService.Play "
            f"(GET /v1/tables/{table_id}/play), or leave it before you sit down elsewhere"
        )
    return Refusal("FAILED_PRECONDITION", "ALREADY_SEATED", text, {"table_id": table_id, "seat": str(seat)})


def invalid_seat(seat: int, seats: int) -> Refusal:
    """The table has no seat of this number."""
    return Refusal(
        "INVALID_ARGUMENT", "INVALID_SEAT", f"seat {seat} does not exist: 1 to {seats}, or 0 for any free one"
    )


def buy_in_out_of_range(buy_in: int, least: int, most: int) -> Refusal:
    """The chips to bring are outside the table's limits."""
    return Refusal(
        "INVALID_ARGUMENT",
        "BUY_IN_OUT_OF_RANGE",
        f"a buy-in of {buy_in} is not allowed here: {least} to {most}",
        {"min": str(least), "max": str(most)},
    )


def too_few_chips(available: str, buy_in: int) -> Refusal:
    """The player's Play Chips do not cover the buy-in."""
    return Refusal(
        "FAILED_PRECONDITION",
        "TOO_FEW_CHIPS",
        f"{buy_in} is more than the {available} Play Chips available",
        {"available": available},
    )


def request_id_missing(request_id: str) -> Refusal:
    """A write without a UUID cannot be repeated safely."""
    shown = request_id[:80]
    return Refusal(
        "INVALID_ARGUMENT", "REQUEST_ID_MISSING", f"request_id is {shown!r}: send a UUID, the same one for a repeat"
    )


def request_id_reused(request_id: str) -> Refusal:
    """The same request id came with other content."""
    return Refusal(
        "ALREADY_EXISTS",
        "REQUEST_ID_REUSED",
        f"request_id {request_id} was used with other content: send a new UUID for a new request",
    )


def not_seated(table_id: str, *, or_leaves: bool = False) -> Refusal:
    """The player does not sit at this table, or, where that counts as well, is leaving it."""
    text = f"you do not sit at table {table_id[:80]!r}" + (", or are leaving it" if or_leaves else "")
    return Refusal("FAILED_PRECONDITION", "NOT_SEATED", text)


def left_before_seated() -> Refusal:
    """The player asked to leave while the seat was only reserved."""
    return Refusal("ABORTED", "LEFT_BEFORE_SEATED", "you left before you were seated; your chips are back")


def seating_expired(seconds: int) -> Refusal:
    """The chips could not be brought to the table in time."""
    return Refusal(
        "ABORTED",
        "SEATING_EXPIRED",
        f"you could not be seated within {seconds} s and the seat was given up; your chips are back: try again",
    )


def seat_refused_by_table(reason: str) -> Refusal:
    """The table service refused the seat for a reason that players cannot mend."""
    return Refusal("ABORTED", "SEAT_REFUSED", f"the table refused the seat ({reason}); your chips are back: try again")


def hold_refused_by_wallet(reason: str) -> Refusal:
    """The wallet refused to set the chips aside for a reason other than their number."""
    return Refusal(
        "FAILED_PRECONDITION", "CHIPS_REFUSED", f"the wallet does not release the chips ({reason})", {"reason": reason}
    )


def invalid_name(name: str, longest: int) -> Refusal:
    """A table's name is empty, too long or not printable."""
    return Refusal(
        "INVALID_ARGUMENT",
        "INVALID_NAME",
        f"{name[:80]!r} is no table's name: 1 to {longest} printable characters, no space at either end",
    )


def invalid_stakes(why: str) -> Refusal:
    """The stakes contradict the rules."""
    return Refusal("INVALID_ARGUMENT", "INVALID_STAKES", why)


def table_occupied(table_id: str) -> Refusal:
    """Only an empty table is closed."""
    return Refusal(
        "FAILED_PRECONDITION", "TABLE_OCCUPIED", f"table {table_id} has players: it is closed when they have left"
    )


def invalid_page_token() -> Refusal:
    """Not a token that this lobby gave."""
    return Refusal(
        "INVALID_ARGUMENT", "INVALID_PAGE_TOKEN", "page_token is not one from a next_page_token: start without one"
    )


def invalid_page_size(size: int) -> Refusal:
    """The page is smaller than nothing."""
    return Refusal(
        "INVALID_ARGUMENT", "INVALID_PAGE_SIZE", f"page_size {size} is not allowed: 1 or more, or 0 for the default"
    )


def page_token_of_another_list() -> Refusal:
    """A page token came with another filter or order than the page that gave it."""
    return Refusal(
        "INVALID_ARGUMENT",
        "INVALID_PAGE_TOKEN",
        "page_token is from a list with another filter or order_by: send those that the first page was asked with",
    )


def invalid_filter(field: str, why: str) -> Refusal:
    """No table can be meant by this field of a filter."""
    return Refusal("INVALID_ARGUMENT", "INVALID_FILTER", f"the filter makes no sense: {why}", {"field": field})


def invalid_order_by(why: str, field: str = "") -> Refusal:
    """Nothing can be sorted like this."""
    return Refusal("INVALID_ARGUMENT", "INVALID_ORDER_BY", why, {"field": field[:80]} if field else {})


def chips_refused(by: Refusal, amount: int) -> Refusal:
    """The wallet does not set the chips aside."""
    if by.reason == "INSUFFICIENT_CHIPS":
        return too_few_chips(by.metadata.get("available", "0"), amount)
    return hold_refused_by_wallet(by.reason)


def is_posted(by: Refusal) -> bool:
    """Whether the wallet refused because the hold's chips have moved."""
    return by.metadata.get("state", "").removeprefix("HOLD_STATE_") == "POSTED"


def top_up_out_of_range(amount: int, most: int | None) -> Refusal:
    """No top-up can bring that many chips; `most` is known where the player sits."""
    no = f"a top-up of {amount} is not allowed: ask for 1"
    if most is None:
        return Refusal(
            "INVALID_ARGUMENT", "TOP_UP_OUT_OF_RANGE", f"{no} or more, at a table where you sit", {"min": "1"}
        )
    text = f"{no} to {most}, of which as many are added as your stack is short of {most}, the biggest buy-in here"
    return Refusal("INVALID_ARGUMENT", "TOP_UP_OUT_OF_RANGE", text, {"min": "1", "max": str(most)})


def top_up_pending(amount: int) -> Refusal:
    """One top-up at a time."""
    return Refusal(
        "FAILED_PRECONDITION",
        "TOP_UP_PENDING",
        f"a top-up of {amount} chips is on its way: ask again when it has come",
        {"amount": str(amount)},
    )


def stakes_unknown(shown: str) -> Refusal:
    """No table with these stakes is open."""
    return Refusal(
        "NOT_FOUND", "STAKES_UNKNOWN", f"no table at {shown} is on offer: list the tables for those that are"
    )


def stakes_full(shown: str) -> Refusal:
    """No table with these stakes has a seat for the player."""
    return Refusal(
        "FAILED_PRECONDITION",
        "STAKES_FULL",
        f"no seat at {shown} is free: join the waiting list of these stakes, and one will be kept for you",
    )


def waiting_list_missing() -> Refusal:
    """A request to wait names no list."""
    return Refusal(
        "INVALID_ARGUMENT", "WAITING_LIST_MISSING", "the request names no list: set table_id, or stakes for any table"
    )


def waiting_list_full(most: int) -> Refusal:
    """Too many players are on the list."""
    return Refusal(
        "FAILED_PRECONDITION",
        "WAITING_LIST_FULL",
        f"{most} players are on this list, and that is the most: choose other stakes or another table",
        {"max": str(most)},
    )


def too_many_waiting_lists(most: int) -> Refusal:
    """The player is on too many lists."""
    return Refusal(
        "FAILED_PRECONDITION",
        "TOO_MANY_WAITING_LISTS",
        f"you are on {most} waiting lists, and that is the most: leave one before you join another",
        {"max": str(most)},
    )


def waiting_entry_unknown(entry_id: str) -> Refusal:
    """The player has no such place on a list."""
    return Refusal(
        "NOT_FOUND", "WAITING_ENTRY_UNKNOWN", f"you have no waiting entry {entry_id[:80]!r}: GetMyWaiting names yours"
    )
