"""Names in configs that become parts of node ids, folders and placeholders."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

VARIANT_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
SITE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"


def _check_name(pattern: str, rule: str) -> AfterValidator:
    def check(name: str) -> str:
        if not re.match(pattern, name):
            raise ValueError(f"names are made of letters, digits{rule}; it is {name!r}.")
        return name

    return AfterValidator(check)


VariantName = Annotated[
    str,
    _check_name(VARIANT_NAME, ", '.', '_' and '-', and begin with a letter or digit"),
    Field(max_length=60),
]
"""Part of node ids and folders."""

VariableName = Annotated[str, _check_name(SITE_NAME, " and underscores, and do not begin with a digit")]
"""What solutions type as ``${NAME}``."""

SiteName = Annotated[
    str, _check_name(SITE_NAME, " and underscores, and do not begin with a digit"), Field(max_length=60)
]
"""What rows write in braces, ``{shop}``."""
