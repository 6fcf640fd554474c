from __future__ import annotations

import pytest

from tests.config.conftest import Load, Refused

SMALL = "agent: scripted\ndataset: rows.jsonl\n"


def test_variables_are_filled_in(load: Load) -> None:
    """``${NAME}`` is replaced in any text, once; ``$${`` is a plain ``${``, other dollar signs stay."""
    environ = {"STAGE": "dev", "STEPS": "7", "EMPTY": ""}
    config = load(SMALL + "name: shop-${STAGE}${EMPTY}\nlimits: {max_steps: '${STEPS}'}\n", environ=environ)
    assert (config.name, config.limits.max_steps) == ("shop-dev", 7)
    assert load(SMALL + "name: a $${X} $Y $ {Z}\n").name == "a ${X} $Y $ {Z}"
    assert load(SMALL + "name: ${A}\n", environ={"A": "${B}", "B": "b"}).name == "${B}"


def test_all_unset_variables_are_reported(refused: Refused) -> None:
    """Each unset variable is reported with its line and the nearest one that is set."""
    text = "agent: noop\ndataset: ${DATE}.jsonl\nname: ${NOWHERE}\ntools: {x: '${A B}'}\n"
    lines = refused(text, environ={"DATA": "x"})
    unset = "the environment variable"
    way_out = "Set it, or write `$${` for a plain `${`."
    assert lines == [
        f"evals/shop.yaml:2: dataset: {unset} 'DATE' is not set. Did you mean 'DATA'? {way_out}",
        f"evals/shop.yaml:3: name: {unset} 'NOWHERE' is not set. {way_out}",
        "evals/shop.yaml:4: tools.x: '${A B}' is not a variable. Write `${NAME}`, or `$${` for a plain `${`.",
    ]


def test_secret_variables_are_remembered(load: Load, subtests: pytest.Subtests) -> None:
    """The value of a variable with a secret name is redacted, and never dumped."""
    names = ["SHOP_TOKEN", "DB_PASSWORD", "STRIPE_KEY", "MY_SECRET", "SHOP_PW", "CARD_PIN_2"]
    for name in (*names, "GPG_PASSPHRASE", "Otp"):
        with subtests.test(name=name):
            text = "agent: noop\ndataset: a.jsonl\nsites: {shop: {command: [serve, '--key=${%s}']}}\n" % name  # noqa: UP031
            config = load(text, environ={name: "hunter22"})
            assert config.sites["shop"].command == ("serve", "--key=hunter22")
            assert config.secrets() == ("hunter22",)
            assert "hunter22" not in str(config.public_dump())
            assert config.public_dump()["sites"]["shop"]["command"] == ["serve", "--key=***"]


def test_names_of_other_variables_are_remembered(load: Load) -> None:
    """The header names variables that are not redacted; not the empty ones."""
    environ = {"STAGE": "dev", "SHOP_PIN": "12345", "EMPTY": "", "SHOP_PW": "hunter22", "SPIN": "123456"}
    text = SMALL + "name: ${STAGE}${EMPTY}${SHOP_PIN}${SHOP_PW}${SPIN}${STAGE}\n"
    config = load(text, environ=environ)
    assert config.secrets() == ("hunter22",)
    assert config.names_in_clear() == ("STAGE", "SHOP_PIN", "SPIN")


def test_messages_have_no_secrets(refused: Refused) -> None:
    """A wrong value from a secret variable is not part of the message."""
    lines = refused(SMALL + "trials: ${SHOP_TOKEN}\n", environ={"SHOP_TOKEN": "hunter22"})
    wrong = "expected a whole number, not '***'. Or: expected a block of keys, not '***'."
    assert lines == [f"evals/shop.yaml:3: trials: {wrong}"]
