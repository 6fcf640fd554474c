"""The columns of the tables: what a file of ours promises to its readers."""

from __future__ import annotations

from typing import Any, Literal

VERSION = "1"
"""In each file. Columns are only ever added, at the end; raise it if one means something else."""

TableName = Literal["attempts", "grades", "steps", "messages"]

Kind = Literal["word", "text", "prose", "texts", "bool", "int32", "int64", "float", "time"]
"""``word`` is a text that many rows share, ``prose`` one of any length; ``time`` is in milliseconds since
1970, in UTC."""

Row = tuple[Any, ...]
"""The values of one row in the order of its table's columns; None is unknown."""

_KEY: dict[str, Kind] = {
    "run_id": "word",
    "eval": "word",
    "task_id": "text",
    "variant": "word",
    "trial": "int32",
    "attempt": "int32",
}
"""How each table begins: tables are joined by these."""

COLUMNS: dict[TableName, dict[str, Kind]] = {
    "attempts": {
        **_KEY,
        "counts": "bool",
        "verdict": "word",
        "reason": "prose",
        "error_source": "word",
        "termination_reason": "word",
        "final_answer": "prose",
        "website": "word",
        "dataset": "word",
        "tags": "texts",
        "row_hash": "text",
        "agent_type": "word",
        "model": "word",
        "started_at": "time",
        "completed_at": "time",
        "total_duration_ms": "float",
        "agent_duration_ms": "float",
        "grading_duration_ms": "float",
        "steps": "int32",
        "screenshots": "int32",
        "warnings": "int32",
        "input_tokens": "int64",
        "output_tokens": "int64",
        "cache_read_tokens": "int64",
        "requests": "int32",
        "cost_usd": "float",
        "node_id": "text",
        "git_commit": "word",
        "config_hash": "word",
        "folder": "text",
        "protected": "bool",
        "attack": "word",
        "attack_outcome": "word",
    },
    "grades": {
        **_KEY,
        "grader": "word",
        "verdict": "word",
        "score": "float",
        "advisory": "bool",
        "reasoning": "prose",
        "criteria": "int32",
        "criteria_passed": "int32",
        "fingerprint": "word",
        "cost_usd": "float",
        "duration_ms": "float",
        "attack": "word",
    },
    "steps": {
        **_KEY,
        "step": "int32",
        "call_id": "text",
        "parent_id": "text",
        "tool": "word",
        "target": "prose",
        "is_error": "bool",
        "started_at": "time",
        "duration_ms": "float",
        "url": "prose",
        "screenshot": "int32",
    },
    "messages": {
        **_KEY,
        "line": "int32",
        "type": "word",
        "timestamp": "time",
        "span_id": "text",
        "parent_id": "text",
        "tool": "word",
        "content": "prose",
        "duration_ms": "float",
        "input_tokens": "int64",
        "output_tokens": "int64",
        "cost_usd": "float",
    },
}
