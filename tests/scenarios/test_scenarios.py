"""Every scenario is a test, and every rule of §2 to §8 that a table can show has a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.button_scenario import ButtonScenario
from tests.scenarios.hand_scenario import HandScenario

HERE = Path(__file__).parent
# Rules of §2 to §8 that no scenario of cards and seats can show, and the test that proves each instead.
PROVED_ELSEWHERE = {
    "2.1": "tests/unit/engine/test_shuffle.py",
    "8.8": "high-low games are not dealt yet: issue for the other games (rule 14.1)",
}
ALL_RULES = {
    **{f"2.{n}": 2 for n in range(1, 7)},
    **{f"3.{n}": 3 for n in range(1, 9)},
    **{f"4.{n}": 4 for n in range(1, 5)},
    **{f"5.{n}": 5 for n in range(1, 10)},
    **{f"6.{n}": 6 for n in range(1, 3)},
    **{f"7.{n}": 7 for n in range(1, 3)},
    **{f"8.{n}": 8 for n in range(1, 9)},
}


def _all() -> list[tuple[str, dict[str, Any]]]:
    return [(path.stem, told) for path in sorted(HERE.glob("*.yaml")) for told in yaml.safe_load(path.read_text())]


@pytest.mark.parametrize(
    "told", [pytest.param(told, id=f"{'+'.join(told['rules'])}: {told['title']}") for _, told in _all()]
)
def test_scenario(told: dict[str, Any]) -> None:
    scenario = ButtonScenario(told) if "hands" in told else HandScenario(told)
    scenario.run()


def test_every_rule_of_the_table_has_a_scenario() -> None:
    shown = {rule for _, told in _all() for rule in told["rules"]}
    missing = set(ALL_RULES) - shown - set(PROVED_ELSEWHERE)
    assert not missing, f"no scenario for the rules {sorted(missing)}"


def test_scenarios_name_rules_by_their_numbers() -> None:
    for file, told in _all():
        for rule in told["rules"]:
            assert isinstance(rule, str), f"{file}: quote the rule number in {told['title']!r}"
