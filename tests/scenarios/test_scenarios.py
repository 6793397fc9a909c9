"""Every scenario is a test, and every rule of §2 to §10 and 14.4 that a table can show has a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.button_scenario import ButtonScenario
from tests.scenarios.hand_scenario import HandScenario
from tests.scenarios.table_story import TableStory
from tests.scenarios.waiting_line import WaitingLine

HERE = Path(__file__).parent
# Rules of §2 to §10 that no scenario of cards and seats can show, and the test that proves each instead.
PROVED_ELSEWHERE = {
    "2.1": "tests/unit/engine/test_properties.py",
    "10.6": "tests/integration/spectator/test_watch.py",
}
NOT_DEALT_YET = {"8.8"}
"""High-low games (rule 14.1)."""
LAST_RULES = {2: 6, 3: 8, 4: 4, 5: 9, 6: 2, 7: 2, 8: 8, 9: 7, 10: 6}
# Of §14 a table can show what happens to a hand that cannot be completed.
ALL_RULES = {"14.4"} | {f"{section}.{rule}" for section, last in LAST_RULES.items() for rule in range(1, last + 1)}


def _all() -> list[tuple[str, dict[str, Any]]]:
    return [(path.stem, told) for path in sorted(HERE.glob("*.yaml")) for told in yaml.safe_load(path.read_text())]


@pytest.mark.parametrize(
    "told", [pytest.param(told, id=f"{'+'.join(told['rules'])}: {told['title']}") for _, told in _all()]
)
def test_scenario(told: dict[str, Any]) -> None:
    kinds: dict[str, Any] = {"hands": ButtonScenario, "story": TableStory, "line": WaitingLine, "play": HandScenario}
    next(kind for key, kind in kinds.items() if key in told)(told).run()


def test_every_rule_of_the_table_has_a_scenario() -> None:
    shown = {rule for _, told in _all() for rule in told["rules"]}
    missing = ALL_RULES - shown - set(PROVED_ELSEWHERE) - NOT_DEALT_YET
    assert not missing, f"no scenario for the rules {sorted(missing)}"


@pytest.mark.parametrize(("rule", "path"), PROVED_ELSEWHERE.items())
def test_what_no_scenario_can_show_has_a_test_named_by_its_rule(rule: str, path: str) -> None:
    assert f"test_{rule.replace('.', '_')}_" in (HERE.parent.parent / path).read_text()


def test_scenarios_name_rules_by_their_numbers() -> None:
    for file, told in _all():
        for rule in told["rules"]:
            assert isinstance(rule, str), f"{file}: quote the rule number in {told['title']!r}"
