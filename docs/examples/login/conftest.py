"""Logs in before each row."""

import json
import os

from pytest_browsereval import Task

LOGIN = """(async () => {
    const answer = await fetch('/login', {method: 'POST', body: new URLSearchParams(%s)});
    if (!answer.ok) throw new Error(`the log-in answered ${answer.status}`);
    location.reload();
})()"""


def pytest_browsereval_modify_task(task: Task) -> Task:
    """Return the row with a script that logs in."""
    account = {"user": "ada", "password": os.environ["TODO_PASSWORD"]}
    return task.model_copy(update={"setup_script": LOGIN % json.dumps(account)})
