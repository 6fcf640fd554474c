"""What of a config is not shown."""

from __future__ import annotations

from pytest_browsereval.redaction.config import hide_secrets, is_secret_path, names_secrets, redact_config


def test_redaction_keeps_the_shape() -> None:
    """Secrets are replaced wherever they stand; names of variables, numbers and short texts stay."""
    value = {
        "api_key": "sk-1",
        "apiKey": "OPENAI_API_KEY",
        "max_tokens": 5,
        "cookies": [{"value": "c"}, "raw"],
        "url": "https://user:pw@host/?q=a@b",
        "text": "before hunter22 after",
        "none": None,
        "empty": {"password": ""},
    }
    assert redact_config(value, ["hunter22"]) == {
        "api_key": "***",
        "apiKey": "OPENAI_API_KEY",
        "max_tokens": 5,
        "cookies": [{"value": "c"}, "***"],
        "url": "https://***@host/?q=a@b",
        "text": "before *** after",
        "none": None,
        "empty": {"password": ""},
    }


def test_variables_in_an_env_are_judged_as_such() -> None:
    """What stands directly in it are names of variables; what stands elsewhere are keys."""
    assert is_secret_path(("sites", "shop", "env", "STRIPE_KEY"))
    assert is_secret_path(("variants", "a", "api_key"))
    assert is_secret_path(("judge", "api_key", 0))
    assert not is_secret_path(("sites", "shop", "env", "PWD"))
    assert not is_secret_path(("env", "x", "stripe_key"))
    assert not is_secret_path(("tools", "press_key"))
    assert not is_secret_path((0, "lanes"))


def test_blocks_of_another_shape_are_secret_as_a_whole() -> None:
    """Other tools write them as lists and texts, in which nothing has a name."""
    assert is_secret_path(("browser", "env"))
    assert is_secret_path((0, "env", 0))
    assert is_secret_path(("browser", "headers", "X-Shop"))
    assert hide_secrets(["A_TOKEN=x", "PORT=1", {"env": ["y"]}]) == ["A_TOKEN=***", "PORT=1", {"env": "***"}]
    assert names_secrets("{env: [x]}")
    assert names_secrets('[{"api_key": "x"}]')
    assert not names_secrets("{max_steps: 2, max_tokens: 3}")
