"""OpenAI's Responses API: ``api: responses``, which keeps a model's reasoning between its turns."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(apis={"responses": "api:Responses"})
