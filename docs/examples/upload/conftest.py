"""A toolkit that uploads files."""

from pathlib import Path
from typing import Literal

from pytest_browsereval import PlaywrightWindow, ToolContext, Toolkit, ToolkitConfig, tool


@tool
async def upload_file(window: PlaywrightWindow, label: str, name: str, context: ToolContext) -> str:
    """Choose a file for the field with this label."""
    file = context.base_dir / "files" / Path(name).name  # the folder `files` next to the config, and no other
    await window.page.get_by_label(label).set_input_files(file)
    return f"Chose {file.name}."


class UploadConfig(ToolkitConfig):
    """``toolkits: [upload]``."""

    type: Literal["upload"] = "upload"

    def build(self) -> Toolkit:
        """Return the toolkit."""
        return Toolkit(key=self.type, label="Upload", tools=(upload_file,))


def pytest_browsereval_register(registry):
    """Register the toolkit."""
    registry.register(UploadConfig)
