"""What can be chosen for a local run."""

from __future__ import annotations

import pytest

from cardroom.local import SettingInvalid, settings


def test_the_defaults_are_the_public_images() -> None:
    choices = settings.load({})
    assert (choices.docker, choices.postgres_image, choices.rabbitmq_image) == (
        "auto",
        "postgres:15-bookworm",
        "rabbitmq:3.10-management",
    )


def test_image_names_are_settings() -> None:
    choices = settings.load({"CARDROOM_LOCAL_POSTGRES_IMAGE": "mirror/postgres:16"})
    assert choices.postgres_image == "mirror/postgres:16"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CARDROOM_LOCAL_DOCKER", "maybe", "CARDROOM_LOCAL_DOCKER is 'maybe'; allowed are auto, never, always"),
        ("CARDROOM_LOCAL_FOLDER", "runs", "CARDROOM_LOCAL_FOLDER is 'runs'; it must be an absolute path"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(name: str, value: str, words: str) -> None:
    with pytest.raises(SettingInvalid, match=words):
        settings.load({name: value})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("CARDROOM_LOCAL_DOKCER", "CARDROOM_LOCAL_DOKCER is not a setting: did you mean CARDROOM_LOCAL_DOCKER?"),
        ("CARDROOM_LOCAL_X", "CARDROOM_LOCAL_X is not a setting: there are CARDROOM_LOCAL_DOCKER, "),
    ],
)
def test_a_name_that_is_no_setting_is_refused_with_the_nearest_that_is(name: str, words: str) -> None:
    with pytest.raises(SettingInvalid) as refused:
        settings.load({name: "hunter2", "CARDROOM_TABLE_TURM_MS": "1"})
    assert str(refused.value).startswith(words)
    assert "hunter2" not in str(refused.value)
