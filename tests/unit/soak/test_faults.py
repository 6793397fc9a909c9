"""The order in which a soak ends processes."""

from __future__ import annotations

from itertools import islice

from tests.soak.faults import OTHERS, Fault, in_turn

REPLICAS = ["table-0", "table-1"]


def test_table_replicas_and_the_others_alternate_and_everybody_has_a_turn() -> None:
    order = list(islice(in_turn(REPLICAS), 2 * len(OTHERS)))
    assert [fault.name in REPLICAS for fault in order] == [True, False] * len(OTHERS)
    assert {fault.name for fault in order} == {*REPLICAS, *OTHERS}


def test_each_process_is_stopped_one_time_and_killed_the_next() -> None:
    order = list(islice(in_turn(REPLICAS), 4 * len(OTHERS)))
    for name in (*REPLICAS, *OTHERS):
        ways = [fault.is_killed for fault in order if fault.name == name]
        assert ways == [ways[0] if number % 2 == 0 else not ways[0] for number in range(len(ways))]


def test_a_replica_is_stopped_and_one_killed_among_the_first_of_a_short_soak() -> None:
    assert list(islice(in_turn(REPLICAS), 0, 4, 2)) == [Fault("table-0", False), Fault("table-1", True)]
