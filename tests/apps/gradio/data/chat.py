# mypy: ignore-errors
"""A chat that streams, and a form."""

from __future__ import annotations

import os
import time
from pathlib import Path

import gradio as gr

CITIES = [f"City {number:03}" for number in range(200)]
STORE = Path(os.environ["STORE"])


def stream(message, history):
    """Answer word by word."""
    words = f"You said {message} and that was message {len(history) // 2 + 1}.".split()
    for count in range(1, len(words) + 1):
        time.sleep(0.2)
        yield " ".join(words[:count])


def order(city, amount, gift):
    """Store an order, which takes a while."""
    time.sleep(1.5)
    line = f"{amount} to {city}{' as a gift' if gift else ''}"
    with (STORE / "orders.txt").open("a") as orders:
        orders.write(line + "\n")
    return f"Ordered {line}"


def count_rows(file):
    """Return how many lines a file has, and a report to download."""
    lines = Path(file).read_text().splitlines()
    report = STORE / "report.csv"
    report.write_text("lines,first\n" + f"{len(lines)},{lines[0]}\n")
    return f"{len(lines)} lines", str(report)


with gr.Blocks(title="Shop") as page:
    with gr.Tab("Chat"):
        gr.ChatInterface(stream)
    with gr.Tab("Order"):
        city = gr.Dropdown(CITIES, value=None, label="City")
        amount = gr.Slider(1, 20, value=1, step=1, label="Amount")
        gift = gr.Checkbox(label="Gift")
        ordered = gr.Textbox(label="Status", interactive=False)
        gr.Button("Order").click(order, [city, amount, gift], ordered)
    with gr.Tab("Count"):
        file = gr.File(label="Text file")
        counted = gr.Textbox(label="Result", interactive=False)
        made = gr.File(label="Report")
        gr.Button("Count").click(count_rows, file, [counted, made])

page.queue().launch(server_name="127.0.0.1", server_port=int(os.environ["PORT"]), allowed_paths=[str(STORE)])
