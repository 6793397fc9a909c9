"""What a soak reads out of metrics and logs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.soak.readings import buckets_of, errors_logged, quantile, worst

METRICS = """
# TYPE cardroom_clock_lateness_seconds histogram
cardroom_clock_lateness_seconds_bucket{le="0.01"} 90.0
cardroom_clock_lateness_seconds_bucket{le="0.05"} 100.0
cardroom_clock_lateness_seconds_bucket{le="1.0"} 100.0
cardroom_clock_lateness_seconds_bucket{le="+Inf"} 100.0
cardroom_clock_lateness_seconds_count 100.0
cardroom_clock_calls 3.0
"""


def test_the_clocks_histogram_is_read() -> None:
    assert buckets_of(METRICS) == {0.01: 90.0, 0.05: 100.0, 1.0: 100.0, math.inf: 100.0}


def test_a_quantile_lies_evenly_within_its_bucket_and_the_worst_is_its_bound() -> None:
    buckets = buckets_of(METRICS)
    assert quantile(buckets, 0.5) == pytest.approx(0.01 * 50 / 90)
    assert quantile(buckets, 0.95) == pytest.approx(0.03)
    assert quantile(buckets, 0.99) == pytest.approx(0.046)
    assert worst(buckets) == 0.05


def test_what_is_beyond_the_last_bound_is_said_to_be_so() -> None:
    buckets = {1.0: 1.0, 30.0: 1.0, math.inf: 2.0}
    assert quantile(buckets, 0.99) == 30.0
    assert worst(buckets) == math.inf


def test_without_a_sample_there_is_no_quantile() -> None:
    assert math.isnan(quantile({}, 0.99))
    assert math.isnan(worst({0.01: 0.0, math.inf: 0.0}))


def test_error_lines_are_counted_by_process_and_event(tmp_path: Path) -> None:
    lines = [
        json.dumps({"event": "a table has stopped", "level": "error"}),
        json.dumps({"event": "trying again", "level": "warning"}),
        json.dumps({"event": "a table has stopped", "level": "error"}),
        "Traceback (most recent call last):",
    ]
    (tmp_path / "table-0.log").write_text("\n".join(lines))
    assert errors_logged(tmp_path) == {"table-0: a table has stopped": 2, "table-0: a bare traceback": 1}
