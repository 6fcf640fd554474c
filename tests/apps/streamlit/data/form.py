# mypy: ignore-errors
"""A form with 200 cities, a spinner, and files."""

from __future__ import annotations

import os
import time
from pathlib import Path

import streamlit as st

STORE = Path(os.environ["STORE"])
CITIES = [f"City {number:03}" for number in range(200)]

st.title("Shop")
with st.form("order"):
    name = st.text_input("Name")
    city = st.selectbox("City", CITIES, index=None, placeholder="Choose a city")
    days = st.multiselect("Days", ["Monday", "Tuesday", "Wednesday"])
    amount = st.number_input("Amount", 1, 20)
    if st.form_submit_button("Order"):
        line = f"{amount} for {name} in {city} on {' and '.join(days)}"
        with (STORE / "orders.txt").open("a") as orders:
            orders.write(line + "\n")
        st.success(f"Ordered {line}")

if st.button("Compute"):
    with st.spinner("Computing..."):
        time.sleep(3)
    st.write("The result is 4711.")

file = st.file_uploader("Text file")
if file is not None:
    lines = file.getvalue().decode().splitlines()
    st.write(f"The file has {len(lines)} lines.")
    st.download_button("Report", "lines,first\n" + f"{len(lines)},{lines[0]}\n", "report.csv")

orders = STORE / "orders.txt"
st.write(f"Orders so far: {len(orders.read_text().splitlines()) if orders.exists() else 0}")
