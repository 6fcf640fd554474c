from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.function_agent.callables import load_callable


def write(folder: Path, name: str, code: str = "def solve(context): ...\n") -> Path:
    file = folder / f"{name}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dedent(code), encoding="utf-8")
    return file


def refusal(reference: str, folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_callable(reference, folder)
    return str(caught.value)


def test_modules_beside_the_config_are_found(tmp_path: Path) -> None:
    """Modules and packages in the config's folder are imported under their plain names."""
    write(tmp_path, "cb_plain")
    write(tmp_path / "cb_package", "__init__", "")
    write(tmp_path / "cb_package", "inner")
    assert load_callable("cb_plain:solve", tmp_path).__module__ == "cb_plain"
    assert load_callable("cb_package.inner:solve", tmp_path).__module__ == "cb_package.inner"


def test_the_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module beside the config is taken before one of the same name elsewhere."""
    write(tmp_path / "elsewhere", "cb_first", "def solve(context): return 'elsewhere'\n")
    write(tmp_path / "here", "cb_first", "def solve(context): return 'here'\n")
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    assert load_callable("cb_first:solve", tmp_path / "here")(None) == "here"


def test_the_same_name_in_two_folders_is_refused(tmp_path: Path) -> None:
    """Python would give the second config the first one's module; both files are told."""
    first, second = write(tmp_path / "a", "cb_same"), write(tmp_path / "b", "cb_same")
    load_callable("cb_same:solve", tmp_path / "a")
    told = refusal("cb_same:solve", tmp_path / "b")
    assert str(first) in told
    assert str(second) in told


def test_a_module_of_another_config_is_not_found_by_chance(tmp_path: Path) -> None:
    """What only the first config's folder has is not there for the second config."""
    write(tmp_path / "a", "cb_only_here")
    load_callable("cb_only_here:solve", tmp_path / "a")
    (tmp_path / "b").mkdir()
    assert "nowhere in" in refusal("cb_only_here:solve", tmp_path / "b")


def test_neighbours_of_two_configs_are_not_mixed_up(tmp_path: Path) -> None:
    """A helper that both folders have is refused, though the agents' own names differ."""
    for folder in ("a", "b"):
        write(tmp_path / folder, "cb_helper", f"WHO = {folder!r}\n")
        code = "from cb_helper import WHO\ndef solve(context): return WHO\n"
        write(tmp_path / folder, f"cb_agent_{folder}", code)
    assert load_callable("cb_agent_a:solve", tmp_path / "a")(None) == "a"
    assert "'cb_helper' is taken" in refusal("cb_agent_b:solve", tmp_path / "b")


def test_a_module_that_cannot_be_imported_is_told_with_the_line(tmp_path: Path) -> None:
    """Errors of the module, missing packages included, have their file and line."""
    write(tmp_path, "cb_broken", "x = 1\ny = x / 0\n")
    write(tmp_path, "cb_needs", "import cb_no_such_package\n")
    write(tmp_path, "cb_syntax", "def solve(:\n")
    assert "raised ZeroDivisionError: division by zero, at cb_broken.py:2" in refusal("cb_broken:x", tmp_path)
    assert "No module named 'cb_no_such_package', at cb_needs.py:1" in refusal("cb_needs:solve", tmp_path)
    told = refusal("cb_syntax:solve", tmp_path)
    assert "raised SyntaxError" in told
    assert "at cb_syntax.py:1." in told


def test_a_missing_callable_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    """A slip of the pen is found out."""
    write(tmp_path, "cb_names", "def solve(context): ...\n")
    assert "has no 'slove'. Did you mean 'solve'?" in refusal("cb_names:slove", tmp_path)


def test_what_takes_no_context_is_refused(tmp_path: Path) -> None:
    """A value, a callable without parameters and one with too many are told before anything runs."""
    write(tmp_path, "cb_shapes", "value = 3\ndef none(): ...\ndef two(a, b): ...\ndef more(a, b=1): ...\n")
    assert "cannot be called" in refusal("cb_shapes:value", tmp_path)
    for name in ("none", "two"):
        assert f"Write `def {name}(context)" in refusal(f"cb_shapes:{name}", tmp_path)
    assert callable(load_callable("cb_shapes:more", tmp_path))
