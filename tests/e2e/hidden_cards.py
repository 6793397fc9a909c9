"""What a played session showed and what it did not, and the search for the latter in whatever was written down."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from google.protobuf.message import Message

from cardroom.contracts.events.v1.events_pb2 import TableChanged
from cardroom.contracts.table.v1.view_pb2 import ACTION_KIND_FOLD, TableEvent
from cardroom.engine import cards

Pair = tuple[str, str]

CARD = "[2-9TJQKA][cdhs]"
# In text, cards stand alone or beside each other, whatever is between them: AhKd, Ah Kd, ["Ah", "Kd"].
RUN = re.compile(rf"(?<![\w+/-])(?:{CARD}[\"'\\ ,;|()\[\]]{{0,6}})+{CARD}(?![\w+/-])")
NUMBERS = re.compile(r"[\[(](\d\d?), ?(\d\d?)[,)\]]")
PACKED = re.compile(rf"(?=({CARD})({CARD}))".encode())
ALL_CARDS = re.compile(rf"(?:{CARD})+")
DECK = frozenset(range(52))
CARD_NUMBERS = re.compile(rb"[\x00-\x33]{52,}")


def split(text: str) -> tuple[str, ...]:
    """'AhKd' as ('Ah', 'Kd')."""
    return tuple(re.findall(CARD, text))


def fields_of_cards(message: Message) -> Iterator[tuple[str, ...]]:
    """The cards in each text field, at any depth, that holds nothing else."""
    for descriptor, value in message.ListFields():
        for one in value if descriptor.is_repeated else [value]:
            if isinstance(one, Message):
                yield from fields_of_cards(one)
            elif isinstance(one, str) and ALL_CARDS.fullmatch(one):
                yield split(one)


def messages_of(message: Message, kind: type[TableChanged]) -> Iterator[TableChanged]:
    """Every message of a kind within another, however deep."""
    if isinstance(message, kind):
        yield message
        return
    for descriptor, value in message.ListFields():
        for one in value if descriptor.is_repeated else [value]:
            if isinstance(one, Message):
                yield from messages_of(one, kind)


@dataclass
class Hand:
    """One hand as its public events tell it."""

    board: list[str] = field(default_factory=list)
    shown: dict[int, str] = field(default_factory=dict)
    folded: set[int] = field(default_factory=set)
    mucked: set[int] = field(default_factory=set)
    all_in: set[int] = field(default_factory=set)
    had_showdown: bool = False
    players: dict[int, str] = field(default_factory=dict)
    """Who was dealt in, by seat."""

    @property
    def face_up(self) -> set[str]:
        """Every card that everyone may know by now."""
        return {*self.board, *(card for shown in self.shown.values() for card in split(shown))}

    def apply(self, event: TableEvent) -> None:
        """One event, in order."""
        kind = event.WhichOneof("event")
        if kind == "street_dealt":
            self.board += split(event.street_dealt.cards)
        elif kind == "cards_shown":
            self.shown[event.cards_shown.seat] = event.cards_shown.cards
        elif kind == "cards_mucked":
            self.mucked.add(event.cards_mucked.seat)
        elif kind == "action_taken":
            taken = event.action_taken
            self.folded |= {taken.seat} if taken.kind == ACTION_KIND_FOLD else set()
            self.all_in |= {taken.seat} if taken.is_all_in else set()
        elif kind == "hand_ended":
            self.had_showdown = event.hand_ended.had_showdown
        elif kind == "hand_started":
            self.players = {player.seat: player.player_id for player in event.hand_started.players}


@dataclass(frozen=True)
class Session:
    """A table's hands, and what was face up at each version."""

    hands: dict[int, Hand]
    face_up: dict[int, frozenset[str]]
    own: dict[str, dict[int, str]]
    """Everyone's hole cards, by player and hand, as their own streams gave them."""

    @classmethod
    def of(cls, changes: Iterable[TableChanged], own: dict[str, dict[int, str]]) -> Session:
        """What the changes of one table, in order, tell."""
        hands: dict[int, Hand] = {}
        face_up: dict[int, frozenset[str]] = {0: frozenset()}
        current = Hand()
        for change in changes:
            for event in change.events:
                if event.HasField("hand_started"):
                    current = hands[event.hand_started.hand_number] = Hand()
                current.apply(event)
            face_up[change.version] = frozenset(current.face_up)
        return cls(hands, face_up, own)

    def hidden(self, *, besides: str = "") -> dict[Pair, str]:
        """Hole cards that were never turned face up, each way round, but not those of a player."""
        return {
            pair: f"hand {number} of {player}"
            for player, dealt in self.own.items()
            if player != besides
            for number, text in dealt.items()
            if number in self.hands and text not in self.hands[number].shown.values()
            for pair in ((split(text)[0], split(text)[1]), (split(text)[1], split(text)[0]))
        }

    def public_pairs(self, *, and_of: str = "") -> set[Pair]:
        """Cards that stand beside each other in what was public, or in what was dealt to a player, in any hand."""
        texts = [hand.board for hand in self.hands.values()]
        texts += [list(split(shown)) for hand in self.hands.values() for shown in hand.shown.values()]
        texts += [list(split(text)) for text in self.own.get(and_of, {}).values()]
        return {pair for text in texts for pair in itertools.pairwise(text)}


def in_text(text: str, hidden: dict[Pair, str]) -> list[str]:
    """Where hidden cards are named, in letters or in the engine's numbers; and where half a deck is."""
    found = []
    for run in RUN.finditer(text):
        named = split(run[0])
        pairs = set(itertools.pairwise(named))
        found += [f"{hidden[pair]}: …{around(text, run)}…" for pair in pairs if pair in hidden]
        found += [f"a deck: …{around(text, run)}…"] if len(named) >= 8 else []
    for run in NUMBERS.finditer(text):
        if int(run[1]) in DECK and int(run[2]) in DECK:
            pair = (cards.text([int(run[1])]), cards.text([int(run[2])]))
            found += [f"{hidden[pair]}: …{around(text, run)}…"] if pair in hidden else []
    return found


def any_in_text(text: str) -> list[str]:
    """Where two cards or more are named beside each other, hidden or not."""
    return [around(text, run) for run in RUN.finditer(text)]


def in_bytes(raw: bytes, hidden: dict[Pair, str]) -> list[str]:
    """Where hidden cards stand beside each other in a message or a stored value."""
    pairs = [(found[1].decode(), found[2].decode(), found.start()) for found in PACKED.finditer(raw)]
    return [
        f"{hidden[one, other]}: …{raw[max(0, place - 40) : place + 40]!r}…"
        for one, other, place in pairs
        # A hexadecimal id may look like two low cards.
        if (one, other) in hidden and not set(one + other) <= set("0123456789cd")
    ]


def has_a_deck(raw: bytes) -> bool:
    """Whether 52 neighbouring bytes are the engine's numbers of 52 cards."""
    runs = [run[0] for run in CARD_NUMBERS.finditer(raw)]
    return any(set(run[start : start + 52]) == DECK for run in runs for start in range(len(run) - 51))


def around(text: str, found: re.Match[str]) -> str:
    """What was found, with its surroundings."""
    return text[max(0, found.start() - 60) : found.end() + 60]
