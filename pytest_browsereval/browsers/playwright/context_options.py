"""Options of windows: those of Playwright's ``new_context``, as the installed Playwright has them."""

from __future__ import annotations

import base64
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict
from zoneinfo import available_timezones

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from pytest_browsereval.browsers.playwright.origins import OriginPattern, origin_of
from pytest_browsereval.errors import nearest
from pytest_browsereval.redaction.names import header_secrets, is_secret_name
from pytest_browsereval.validation_errors import list_problems

ROW_KEYS = ("device", "locale", "timezone_id", "color_scheme", "viewport", "geolocation")
"""What a row may choose: the work of others, so nothing that grants, sends or hides anything."""

HELD = {
    "accept_downloads": "the run takes downloads itself",
    "base_url": "write `sites`, and `{name}/path` as the address",
    "default_browser_type": "the browser is a Chromium",
    "no_viewport": "pictures need a size: write `viewport`",
    "record_har": "write `capture: {har: true}`",
    "record_video": "write `capture: {screenshots: after}`, or `capture: {trace: on}`",
    "service_workers": "the run blocks them where `allowed_origins` or recorded traffic need it",
    "strict_selectors": "the tools say which of several elements they take",
}
"""Beginnings of names that the run sets itself, each with why, or with our key for it."""

_SHORTEST_PASSWORD = 4
_BOUNDS = {"width": (1, 10_000), "height": (1, 10_000), "latitude": (-90, 90), "longitude": (-180, 180)}
_SENTENCE = re.compile(r"^(\w+) : .*\n    ((?:.|\n    )+?\.)(?=\s)", re.MULTILINE)
"""A parameter in a docstring, and the first sentence about it."""
_DEVICE = re.compile(r'^ {2}"([^"]+)": DeviceDescriptor;', re.MULTILINE)
_LOCALE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*")

Places = tuple[tuple[str | int, ...], str]
"""A place in the block, and what is wrong there."""


@cache
def read_signature() -> type[BaseModel]:
    """Return a model of the options, with ``device`` among them."""
    from playwright.async_api import Browser

    hints = {name: kind for name, kind in get_type_hints(Browser.new_context).items() if name != "return"}
    hints |= {"device": str, "storage_state": str | Path}
    fields: dict[str, Any] = {
        name: (_as_model(kind), None) for name, kind in sorted(hints.items()) if not _why_held(name)
    }
    return create_model("Context", __config__=ConfigDict(extra="forbid"), **fields)


def _as_model(kind: Any) -> Any:
    """Return an annotation with models in place of typed dictionaries: pydantic takes those from 3.12 on."""
    if is_typeddict(kind):
        needed: frozenset[str] = kind.__required_keys__
        fields: dict[str, Any] = {
            name: (_as_model(inner), ... if name in needed else None)
            for name, inner in get_type_hints(kind).items()
        }
        return create_model(kind.__name__, __config__=ConfigDict(extra="forbid"), **fields)
    inner = tuple(map(_as_model, get_args(kind))) if get_origin(kind) is not Literal else ()
    if get_origin(kind) in (Union, UnionType):
        return Union[inner]  # noqa: UP007 of types that are known now
    return get_origin(kind)[inner] if inner and isinstance(get_origin(kind), type) else kind


@cache
def list_devices() -> tuple[str, ...]:
    """Return the names of ``playwright.devices``, which only a driver that runs tells; none if not known."""
    import playwright

    try:
        types = Path(playwright.__file__).parent / "driver/package/types/types.d.ts"
        return tuple(_DEVICE.findall(types.read_text(encoding="utf-8")))
    except OSError:
        return ()


class ContextOptions:
    """Checks a block of options; the annotation of the key ``context``."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Have the block checked when it is validated."""
        return core_schema.no_info_before_validator_function(read_options, handler(source))

    def __get_pydantic_json_schema__(
        self, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the options, for editors, with what Playwright says of each."""
        from playwright.async_api import Browser

        said = dict(_SENTENCE.findall(inspect.getdoc(Browser.new_context) or ""))
        keys: dict[str, Any] = {"device": {"description": "A name of `playwright.devices`."}}
        for name, schema in read_signature().model_json_schema()["properties"].items():
            plain = {} if "$ref" in str(schema) else {"anyOf": schema.get("anyOf", [])}
            keys.setdefault(name, {**plain, "description": " ".join(said.get(name, name).split())})
        return {"type": "object", "properties": keys, "additionalProperties": False}


def read_options(block: Any) -> Any:
    """Return a block of options, checked; what is not a block is left to others.

    Raises:
        ValidationError: with a problem for each wrong key.
    """
    if not isinstance(block, Mapping) or not block:  # Playwright takes 0.2 s to import
        return block
    model = read_signature()
    wrong: list[Places] = [((str(name),), _describe_unknown(str(name), model)) for name in block]
    if problems := [(path, why) for path, why in wrong if why]:
        raise _invalid(block, problems)
    try:
        given = model.model_validate(dict(block)).model_dump(exclude_unset=True, mode="json")
    except ValidationError as error:
        found = list_problems(error, model, dict(block))
        raise _invalid(block, [(problem.path, problem.message) for problem in found]) from None
    given = {name: value for name, value in given.items() if value is not None}
    if problems := list(_list_misfits(given)):
        raise _invalid(block, problems)
    return given


def _invalid(block: Any, problems: list[Places]) -> ValidationError:
    lines = [
        InitErrorDetails(
            type=PydanticCustomError("plugged_context", "{error}", {"error": why}), loc=path, input=block
        )
        for path, why in problems
    ]
    return ValidationError.from_exception_data("context", lines)


def _why_held(name: str) -> str:
    return next((why for held, why in HELD.items() if name.startswith(held)), "")


def _describe_unknown(name: str, model: type[BaseModel]) -> str:
    if name in model.model_fields:
        return ""
    if why := _why_held(name):
        return f"cannot be set: {why}."
    known = sorted(model.model_fields)
    hint = nearest(name, known) or f" Allowed: {', '.join(known)}."
    return f"is not an option of Playwright's `new_context`.{hint}"


def _list_misfits(given: Mapping[str, Any]) -> Iterator[Places]:
    """Yield what Playwright or Chromium would refuse only when the first window opens."""
    device, zone = given.get("device"), given.get("timezone_id", "UTC")
    if device is not None and (known := list_devices()) and device not in known:
        yield ("device",), f"{device!r} is not a device of Playwright.{nearest(device, known)}"
    # UTC is known everywhere; the list is read from hundreds of files.
    if zone != "UTC" and (zones := available_timezones()) and zone not in zones:
        yield (
            ("timezone_id",),
            f"{zone!r} is not a time zone.{nearest(zone, zones)} Write one such as 'Europe/Berlin'.",
        )
    if not _LOCALE.fullmatch(locale := given.get("locale", "en-US")):
        yield ("locale",), f"{locale!r} is not a locale. Write one such as 'de-DE'."
    if not 0 < given.get("device_scale_factor", 1) <= 8:
        yield ("device_scale_factor",), "must be more than 0 and not more than 8."
    for key in ("viewport", "screen", "geolocation"):
        for name, value in given.get(key, {}).items():
            low, high = _BOUNDS.get(name, (0, float("inf")))
            if not low <= (value or 0) <= high:
                yield (key, name), f"must be from {low} to {high:g}; it is {value}."
    for number, one in enumerate(list_credentials(given)):
        place = ("http_credentials", *((number,) if isinstance(given["http_credentials"], list) else ()))
        if why := _why_unsafe(one):
            yield place, why


def _why_unsafe(login: Mapping[str, Any]) -> str:
    if not {"username", "password"} <= {name for name, value in login.items() if value is not None}:
        return "needs `username` and `password`."
    if len(login["password"]) < _SHORTEST_PASSWORD:
        return (
            f"the password has fewer than {_SHORTEST_PASSWORD} characters, so it cannot be redacted: it "
            "would be found in any text. Use a longer one."
        )
    origin = login.get("origin") or ""
    if re.fullmatch(r"\{[\w-]+\}", origin):
        return ""
    try:
        is_origin = "*" not in origin and "://" in origin and bool(OriginPattern.parse(origin))
    except ValueError:
        is_origin = False
    return (
        ""
        if is_origin
        else (
            "needs an `origin`, so that no other server gets the password. Write `origin: "
            '"https://shop.example"`, or `origin: "{shop}"` for a site of the config.'
        )
    )


def list_credentials(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the logins for basic auth."""
    given = options.get("http_credentials") or []
    return [given] if isinstance(given, dict) else given


def list_secret_headers(options: Mapping[str, Any]) -> dict[str, str]:
    """Return those of the extra headers that are secret by their names."""
    headers = options.get("extra_http_headers") or {}
    return {name: value for name, value in headers.items() if is_secret_name(name, "field")}


def list_secrets(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield what lets anybody in: passwords, keys in headers."""
    for one in list_credentials(options):
        yield one["password"]
        # A page may show the header that it gets.
        yield base64.b64encode(f"{one['username']}:{one['password']}".encode()).decode()
    others = [(options.get("proxy") or {}).get("password") or ""]
    others += [one.get("passphrase") or "" for one in options.get("client_certificates") or ()]
    yield from header_secrets(list_secret_headers(options).values(), "", *others)


def merge_options(
    options: Mapping[str, Any],
    of_row: Mapping[str, Any],
    devices: Mapping[str, Mapping[str, Any]],
    site_urls: Mapping[str, str],
) -> dict[str, Any]:
    """Return the keyword arguments for ``new_context``.

    Args:
        options: of the config.
        of_row: of the row; its device goes before each key of the config that a device sets.
        devices: those of Playwright, by name.
        site_urls: base URLs of the sites that the row uses; a login at another site is left out.
    """
    merged: dict[str, Any] = {}
    for layer in (options, of_row):
        device = layer.get("device")
        if device is not None and (layer is of_row or "device" not in of_row):
            descriptor = {**devices[device]}
            descriptor.pop("default_browser_type", None)
            merged |= descriptor
        merged |= {name: value for name, value in layer.items() if name != "device"}
    if logins := list_credentials(options):
        found = ({**one, "origin": _find_origin(one["origin"], site_urls)} for one in logins)
        merged["http_credentials"] = [one for one in found if one["origin"]]
    return merged


def _find_origin(origin: str, site_urls: Mapping[str, str]) -> str:
    is_site = origin.startswith("{")
    return origin_of(site_urls.get(origin[1:-1], "")).removesuffix("://") if is_site else origin.rstrip("/")


def describe_options(options: Mapping[str, Any], of_row: Mapping[str, Any]) -> Iterator[str]:
    """Yield what defines a task's conditions, as the record has it: ``device=iPhone 15``."""
    known = {**options, **of_row}
    if "device" in of_row and "viewport" not in of_row:
        known.pop("viewport", None)  # the device has its own
    for name in ROW_KEYS:
        if (value := known.get(name)) is not None:
            text = "x".join(f"{one:g}" for one in value.values()) if isinstance(value, dict) else value
            yield f"{name}={text}"


Reader = Callable[[Mapping[str, Mapping[str, Any]]], dict[str, Any]]
"""Makes the arguments for ``new_context`` of Playwright's devices."""
