"""PHH documents in and out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cardroom.cli import main
from cardroom.engine import Hand, codec, phh
from cardroom.engine.errors import PhhError
from cardroom.engine.events import HoleCardsGiven

HEAD = """variant = 'NT'
ante_trimming_status = true
antes = [0, 0, 0]
blinds_or_straddles = [10, 20, 0]
min_bet = 20
starting_stacks = [1000, 1000, 1000]
"""
DEAL = ["d dh p1 AsAh", "d dh p2 KsKh", "d dh p3 QsQh"]
CHECKED = ["p3 cc", "p1 cc", "p2 cc", "d db 2c7d9h", "p1 cc", "p2 cc", "p3 cc", "d db Js", "p1 cc", "p2 cc", "p3 cc"]
RIVER = ["d db 3c", "p1 cc", "p2 cc", "p3 cc"]
RECORDED = Path(__file__).parent / "recorded"


def record(actions: list[str], head: str = HEAD, **fields: str) -> phh.PhhHand:
    ((_, found),) = phh.loads(document(actions, head, **fields))
    assert isinstance(found, phh.PhhHand), found
    return found


def document(actions: list[str], head: str = HEAD, **fields: str) -> str:
    return head + f"actions = {actions}\n" + "".join(f"{name} = {value}\n" for name, value in fields.items())


def test_a_complete_hand_has_the_promised_shape() -> None:
    told = phh.replay(record([*DEAL, *CHECKED, *RIVER], finishing_stacks="[1040, 980, 980]", hand="7")).as_json()
    assert json.loads(json.dumps(told)) == told
    decisions = told.pop("decisions")
    assert told == {
        "hand": 7,
        "ok": True,
        "complete": True,
        "error": None,
        "at": None,
        "finishing_stacks": [1040, 980, 980],
        "expected": [1040, 980, 980],
        "matches": True,
        "pots": [{"amount": 60, "eligible": ["p1", "p2", "p3"], "wins": {"p1": 60}}],
        "returned": {},
        "shown": ["p1"],
        "mucked": ["p2", "p3"],
    }
    assert decisions[0] == {
        "at": 3, "player": "p3", "fold": True, "check": False, "call": 20, "raise_min": 40, "raise_max": 1000
    }  # fmt: skip
    assert len(decisions) == 12


def test_a_hand_that_stops_early_is_incomplete_and_tells_the_turn_it_stops_at() -> None:
    told = phh.replay(record([*DEAL, "p3 cbr 60"], finishing_stacks="[1, 2, 3]")).as_json()
    assert (told["ok"], told["complete"], told["matches"], told["finishing_stacks"]) == (True, False, None, None)
    assert [decision["player"] for decision in told["decisions"]] == ["p3", "p1"]
    assert told["decisions"][-1]["at"] == 4


def test_a_hand_that_stops_before_the_board_is_incomplete() -> None:
    told = phh.replay(record([*DEAL, "p3 cbr 1000", "p1 cc", "p2 f", "p1 sm AsAh"])).as_json()
    assert (told["ok"], told["complete"]) == (True, False)


@pytest.mark.parametrize(
    ("actions", "at", "reason"),
    [
        ([*DEAL, "p3 cc", "p2 cc"], 4, "NOT_YOUR_TURN"),
        ([*DEAL, "p3 cbr 30"], 3, "AMOUNT_TOO_SMALL"),
        ([*DEAL, "p3 cbr 1001"], 3, "AMOUNT_TOO_LARGE"),
        ([*DEAL, "p3 f", "p1 f", "p2 f"], 5, "HAND_IS_OVER"),
        ([*DEAL, "p3 cc", "d db 2c3c4c"], 4, "BAD_CARDS"),
        ([*DEAL, *CHECKED[:3], "p1 cc"], 6, "NOT_YOUR_TURN"),
        ([*DEAL, *CHECKED[:3], "d db 2c3cAs"], 6, "BAD_CARDS"),
        (["d dh p1 AsAh", "d dh p9 2c2d"], 1, "BAD_CARDS"),
        ([*DEAL, "p3 dances"], 3, "BAD_PHH"),
        ([*DEAL, "p3 sd"], 3, "PHH_UNSUPPORTED"),
        ([*DEAL, "p3 cbr 50.5"], 3, "PHH_HALF_CHIPS"),
        ([*DEAL, "p3 cc", "p3 sm"], 4, "BAD_SHOWDOWN"),
    ],
)
def test_an_illegal_action_stops_the_hand_with_its_index_and_reason(actions: list[str], at: int, reason: str) -> None:
    told = phh.replay(record(actions)).as_json()
    assert (told["ok"], told["complete"], told["at"]) == (False, False, at)
    assert str(told["error"]).startswith(reason + ": ")


def test_shows_and_mucks_of_the_record_are_followed() -> None:
    told = phh.replay(record([*DEAL, *CHECKED, *RIVER, "p1 sm", "p2 sm KsKh", "p3 sm QsQh"])).as_json()
    assert (told["shown"], told["mucked"]) == (["p2", "p3"], ["p1"])
    assert told["pots"][0]["wins"] == {"p2": 60}


def test_unknown_cards_are_fine_where_they_are_not_needed() -> None:
    deal = ["d dh p1 AsAh", "d dh p2 ????", "d dh p3 ????"]
    mucked = phh.replay(record([*deal, *CHECKED, *RIVER, "p1 sm AsAh", "p2 sm", "p3 sm"]))
    assert mucked.finishing_stacks == (1040, 980, 980)
    shown = phh.replay(record([*deal, *CHECKED, *RIVER, "p1 sm AsAh", "p2 sm 2s2h", "p3 sm"]))
    assert shown.finishing_stacks == (980, 1040, 980)
    needed = phh.replay(record([*deal, *CHECKED, *RIVER]))
    assert str(needed.error).startswith("UNKNOWN_CARD_NEEDED")


def test_a_winner_may_show_after_everyone_folded() -> None:
    told = phh.replay(record([*DEAL, "p3 f", "p1 f", "p2 sm KsKh"])).as_json()
    assert (told["ok"], told["complete"], told["shown"], told["returned"]) == (True, True, ["p2"], {"p2": 10})


def test_comments_and_empty_actions_do_nothing() -> None:
    assert phh.replay(record([*DEAL, "", "# a pause", "p3 f # sighs", "p1 f"])).complete


def test_heads_up_the_second_player_has_the_small_blind() -> None:
    head = (
        HEAD.replace("[0, 0, 0]", "[0, 0]")
        .replace("[10, 20, 0]", "[10, 20]")
        .replace("[1000, 1000, 1000]", "[1000, 500]")
    )
    result = phh.replay(record(["d dh p1 AsAh", "d dh p2 KsKh", "p2 f"], head))
    assert result.finishing_stacks == (1010, 490)


def test_a_big_blind_ante_is_main_pot_money() -> None:
    head = (
        HEAD.replace("true", "false")
        .replace("antes = [0, 0, 0]", "antes = [0, 20, 0]")
        .replace("1000, 1000]", "1000, 30]")
    )
    told = phh.replay(
        record([*DEAL[:2], "d dh p3 AcAd", "p3 cbr 30", "p1 f", "p2 cc", "d db 2c7d9h", "d db Js", "d db 3c"], head)
    )
    assert told.finishing_stacks == (990, 950, 90)


def test_straddles_raise_the_price_and_move_the_first_turn() -> None:
    head = HEAD.replace("[10, 20, 0]", "[10, 20, 40]")
    legal = phh.replay(record(DEAL, head)).decisions[0].legal
    assert (legal.seat, legal.call_amount, legal.raise_min) == (1, 30, 60)


def test_half_chips_are_told_apart_and_not_rounded() -> None:
    ((label, found),) = phh.loads(document(DEAL, finishing_stacks="[1040.5, 979.5, 980]"))
    assert label is None
    assert isinstance(found, PhhError)
    assert found.reason == "PHH_HALF_CHIPS"


@pytest.mark.parametrize(
    "text",
    [
        "variant = 'F2L3D'\n",
        "variant = 'NT'\n",
        document([]).replace("[]", "[1]"),
        HEAD.replace("[10, 20, 0]", "[10, 20]") + "actions = []\n",
        HEAD.replace("[1000, 1000,", "[inf, 1000,") + "actions = []\n",
        HEAD.replace("min_bet = 20", "min_bet = nan") + "actions = []\n",
    ],
)
def test_a_hand_that_cannot_be_read_is_told_and_not_raised(text: str) -> None:
    ((_, found),) = phh.loads(text)
    assert isinstance(found, PhhError)


@pytest.mark.parametrize("amount", ["inf", "-inf", "nan", "1e400", "ten"])
def test_an_amount_that_is_no_number_of_chips_stops_the_hand_and_not_the_run(amount: str) -> None:
    result = phh.replay(record([*DEAL, f"p3 cbr {amount}"]))
    assert (result.ok, result.at) == (False, 3)
    assert result.error == f"BAD_PHH: {amount!r} is not an amount of chips"


def test_a_document_that_is_no_toml_is_refused() -> None:
    with pytest.raises(PhhError):
        list(phh.loads("variant = "))


@pytest.mark.parametrize("noise", ["# a comment\n", 'author = "J. \\"X\\" Doe"\n', "year = 2_024\n", "event.x = 'y'\n"])
def test_the_quick_reader_and_the_toml_reader_agree(noise: str) -> None:
    plain = f"[1]\n{document(DEAL)}\n[2]\n{document(CHECKED)}"
    assert list(phh.loads(plain)) == list(phh.loads(plain.replace("[2]\n", "[2]\n" + noise)))


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.phhs")), ids=lambda path: path.stem)
def test_hands_that_others_recorded_end_with_the_same_stacks(path: Path) -> None:
    for label, found in phh.read(path):
        assert isinstance(found, phh.PhhHand)
        result = phh.replay(found, decisions=False)
        assert result.matches, f"hand {label}: {result.error or result.finishing_stacks}"


def test_a_recorded_stream_of_an_earlier_release_still_reads() -> None:
    for path in sorted(RECORDED.glob("*.jsonl")):
        with path.open() as lines:
            for events in codec.load_lines(lines):
                assert Hand.from_events(events).is_over
                assert [codec.decode(codec.encode(event)) for event in events] == events


def test_an_export_shows_only_the_cards_that_it_is_given() -> None:
    with (RECORDED / "release_0_1.jsonl").open() as lines:
        events = next(iter(codec.load_lines(lines)))
    text = phh.export([event for event in events if not isinstance(event, HoleCardsGiven)])
    assert "d dh p1 ????" in text
    ((_, found),) = phh.loads(text)
    assert isinstance(found, phh.PhhHand)
    assert phh.replay(found).error is None


def test_the_command_replays_exports_and_tells_by_its_exit_code(tmp_path: Path) -> None:
    runner, out, bad = CliRunner(), tmp_path / "hands.phhs", tmp_path / "bad.phh"
    assert runner.invoke(main, ["export", str(RECORDED / "release_0_1.jsonl"), "-o", str(out)]).exit_code == 0
    told = runner.invoke(main, ["replay", "--json", str(out)])
    assert told.exit_code == 0, told.output
    assert all(json.loads(line)["matches"] for line in told.output.splitlines())
    bad.write_text(document([*DEAL, "p3 cbr 30"]))
    told = runner.invoke(main, ["replay", str(out), str(bad), "--summary"])
    assert told.exit_code == 1
    assert "refused at action 3: AMOUNT_TOO_SMALL" in told.output
    assert "1 refused" in told.output
    bad.write_text(document([*DEAL, "p3 f", "p1 f"], finishing_stacks="[0, 0, 0]"))
    assert runner.invoke(main, ["replay", str(bad)]).exit_code == 1
