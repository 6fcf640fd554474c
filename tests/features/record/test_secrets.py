"""Secrets that are typed into fields which do not look like it, and what pages make of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_browsereval.features.record.row import Heading, format_row, make_row, propose_names
from pytest_browsereval.features.record.steps import ANY_KIND, Item, ItemList, find_leak, holds_secret
from tests.features.record.conftest import Record
from tests.features.record.hands import FINISH, Hands

SECRET = "hunter-two-22"
REPLACE = """const made = document.createElement('input'); made.id = 'new';
  made.value = this.value; this.replaceWith(made); made.focus();
  made.setSelectionRange(99, 99)"""
MAKE = "p.innerHTML = '<input type=password>'; p.firstChild.type = 'text'"
FIELDS = {
    "masked": "<input style='-webkit-text-security: disc'>",
    "key": "<label>API key <input></label>",
    "shown on the first key": "<input type=password onkeydown=\"this.type = 'text'\">",
    "shown before": "<input type=password id=pw><button onclick=\"pw.type = 'text'\">Show</button>",
    "replaced on the first key": f'<p><input type=password oninput="{REPLACE}"></p>',
    "in a shadow tree": """<p id=host></p><script>host.attachShadow({mode: "open"}).innerHTML =
      "<input type=password onfocus=\\"this.type = 'text'\\">"</script>""",
    "made later": f'<p id=p></p><button onclick="{MAKE}">Show</button>',
}


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_a_field_of_a_secret(record: Record, field: str) -> None:
    """A field is known as one by what it is named, by its dots, and by what it was before."""

    async def act(hands: Hands) -> None:
        for button in await hands.page.locator("button").all():
            await button.click()
        await hands.page.locator("input:not([type=password][id=pw])").click()
        for letter in SECRET:
            await hands.page.keyboard.press(letter)

    items = record(field, act)
    typed = [item.typed for item in items if item.kind == "fill"]
    assert (typed[-1], all(typed)) == (SECRET, True)


def test_a_field_of_none(record: Record) -> None:
    """What only looks like such a name is a plain field."""
    names = ("Keyword", "Monkey", "Turkey", "Keyboard")

    async def act(hands: Hands) -> None:
        for name in names:
            await hands.page.get_by_label(name).click()
            await hands.page.keyboard.type("text")

    items = record("".join(f"<input aria-label={name}>" for name in names) + "<input type=password>", act)
    assert [item.secret for item in items] == [""] * 4


def test_a_secret_is_one_in_each_field(record: Record) -> None:
    """What is typed into a plain field is hidden if a config or a password is the same."""

    async def act(hands: Hands) -> None:
        page = hands.page
        for label, text in (("Note", "of the config"), ("Copy", SECRET), ("Word", SECRET), ("Town", "Ulm")):
            await page.get_by_label(label).click()
            await page.keyboard.type(text)
        await hands.press("Check value")
        await page.get_by_label("Note").click()
        assert await hands.said() == "The page shows a secret there. It is not recorded."
        assert "of the config" not in str(await hands.read_list())
        assert SECRET not in str(await hands.read_list())

    html = """<label>Note <input></label><label>Copy <input></label>
        <label>Word <input type=password></label><label>Town <input></label>"""
    items = record(html, act, known=("of the config",))
    names = propose_names(items, {"of the config": "OWN"}, {})
    line = format_row(make_row(Heading("a", "Do it.", "https://x.test/"), items, names, {}))
    assert [line.count(text) for text in ("${OWN}", "${PASSWORD}", "Ulm", SECRET)] == [1, 2, 1, 0]
    assert "of the config" not in line


def test_characters_of_a_third_level(record: Record) -> None:
    """What AltGr and Option give is typed; in a field of a secret no character is a key of its own."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_label("Note").click()
        for key in ("Alt+q", "Control+Alt+e", "AltGraph+@"):
            await page.keyboard.press(key)
        await page.get_by_label("Word").click()
        for key in ("Alt+q", "Control+Alt+e", "Control+k", "Meta+k"):
            await page.keyboard.press(key)
        await page.keyboard.press("Enter")

    items = record("<label>Note <input></label><label>Word <input type=password></label>", act)
    assert [item.content["key"] for item in items if item.kind == "key"] == ["Enter"]


def test_undo_keeps_what_is_secret(record: Record) -> None:
    """A check with a secret is refused also when the step that typed it is forgotten."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_label("Word").click()
        await page.keyboard.type("hunter-two-22")
        await page.get_by_role("button", name="Tell").click()
        for _ in range(2):
            await hands.press("Undo")
        await hands.press("Check text")
        await page.get_by_text("You said").click()
        assert await hands.said() == "The page shows a secret there. It is not recorded."

    html = """<label>Word <input type=password id=pw></label><p id=said></p>
        <button onclick="said.textContent = 'You said ' + pw.value.toUpperCase()">Tell</button>"""
    assert record(html, act) == []


def test_a_short_secret_is_told_at_once(record: Record) -> None:
    """The bar says that no row with it holds, until a fourth character is typed."""
    hint = "Use a password of at least 4 characters; a shorter one cannot be hidden."

    async def act(hands: Hands) -> None:
        await hands.page.get_by_label("Word").click()
        await hands.page.keyboard.type("123")
        assert (await hands.said()).endswith(hint)
        await hands.page.keyboard.type("4")
        assert hint not in await hands.said()

    record("<label>Word <input type=password></label>", act)


# -- the list


def fill(text: str, kind: str = ANY_KIND, key: str = "1", target: str = "a") -> Item:
    return Item("fill", {"tool": "fill", "target": target, "text": text}, key, kind)


def test_what_was_typed_is_kept() -> None:
    """Whole secrets are: neither the begins of what is typed, nor what is left while it is deleted."""
    made = ItemList(["of the config"])
    for text in ("h", "hu", "hut", "hu", "h", "", "o", "ot", "oth"):
        made.add(fill(text))
    assert made.secrets == ["of the config", "hut", "oth"]
    made.remove(-1)
    assert made.secrets == ["of the config", "hut", "oth"]


def test_echoes() -> None:
    """Letters may be small or large; of a short secret a whole word counts."""
    secrets = ["123", "hunter-two"]
    for text in ("PIN 123.", "#123", "HUNTER-TWO", "x%20hunter-twofold"):
        assert holds_secret(text, secrets), text
    for text in ("no. 1234", "a123", "hunter two"):
        assert not holds_secret(text, secrets), text


def test_words_of_the_recorder_are_no_leak() -> None:
    """A password may be called as a tool is; what a page has named counts."""
    click = Item("click", {"tool": "click_at", "x": 1234, "y": 1})
    assert find_leak([click], ["click", "1234"]) is None
    named = replace(click, content={"tool": "click", "target": "text=1234"})
    assert find_leak([named], ["1234"]) is named


def test_secrets_are_not_shown(record: Record) -> None:
    """What is typed into a field of a secret is hidden in the list, also once the field shows it."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_label("Word").click()
        await page.keyboard.type("hunter22")
        await page.get_by_role("button", name="Show").click()
        await page.get_by_label("Word").click()
        await page.keyboard.press("End")
        await page.keyboard.type("!")
        await page.locator("[autocomplete~=one-time-code]").click()
        await page.keyboard.type("123456")
        await page.get_by_label("Card PIN").click()
        await page.keyboard.type("9876")
        await hands.press("Check value")
        await page.get_by_label("Word").click()
        assert await hands.said() == "The value of a secret field is not checked."
        texts = await hands.read_list()
        assert not any(part in text for text in texts for part in ("hunter", "1234", "987"))

    html = """<label>Word <input type=password id=pw></label><button onclick="pw.type = 'text'">Show</button>
        <input autocomplete="section-x one-time-code"><label>Card PIN <input></label>"""
    items = record(html, act)
    assert [(item.secret, item.typed) for item in items if item.kind == "fill"] == [
        ("password", "hunter22"),
        ("password", "hunter22!"),
        ("one-time-code", "123456"),
        ("password", "9876"),
    ]
    assert "hunter" not in repr(items)


def test_a_page_that_repeats_a_secret(record: Record) -> None:
    """A check with it is refused, and so is a row where an element is named by it."""

    async def act(hands: Hands) -> None:
        page = hands.page
        await page.get_by_label("Password").click()
        await page.keyboard.type("hunter22")
        await page.get_by_role("button", name="Tell").click()
        await hands.press("Check text")
        await page.get_by_text("You said hunter22").click()
        assert await hands.said() == "The page shows a secret there. It is not recorded."
        assert not hands.recorder.list.checks
        await page.get_by_role("button", name="named hunter22").click()
        await hands.press("Check address")
        await hands.press(FINISH)
        assert await hands.said() == "Secret found in: click. Remove it."
        for _ in range(2):
            await hands.press("Undo")
        await hands.press("Check address")
        await hands.press(FINISH)

    html = """<label>Password <input type=password id=pw></label><p id=said></p>
        <button onclick="said.textContent = 'You said ' + pw.value;
        document.body.append(document.createElement('button')); document.body.lastChild.textContent =
        'named ' + pw.value">Tell</button>"""
    items = record(html, act, finishes=True)
    assert [item.content.get("tool", "check") for item in items or ()] == ["fill", "click", "check"]
