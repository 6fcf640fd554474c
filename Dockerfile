# An image in which evals run: Python, Debian's headless Chromium with fonts, and this checkout, as a user without root.
#
#     docker build -t browsereval .
#     docker run --rm --init -v "$PWD/evals:/project/evals" browsereval pytest evals
#
# The dev container (.devcontainer) is its first stage.

FROM python:3.13-slim-bookworm AS browser
# What `browsereval install-browser` would install here, and git, which the manifest of a run asks for the commit.
# Versions are not pinned: Debian takes old ones away when it mends a browser.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends chromium-headless-shell libatomic1 fonts-liberation git \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 --shell /bin/bash dev \
    && mkdir /project \
    && chown dev /project

FROM browser
COPY . /opt/pytest-browsereval
RUN pip install --no-cache-dir '/opt/pytest-browsereval[mcp]'
USER dev
WORKDIR /project
# The image is only made if its browser starts and draws text.
RUN browsereval doctor
CMD ["pytest"]
