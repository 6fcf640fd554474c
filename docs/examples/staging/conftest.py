"""Opens a site behind basic auth."""

import base64
import os


def pytest_browsereval_prepare_window(site_urls):
    """Return what adds the password to each request to the site."""
    password = f"ada:{os.environ['STAGING_PASSWORD']}"
    headers = {"authorization": f"Basic {base64.b64encode(password.encode()).decode()}"}

    async def add_password(route):
        await route.continue_(headers={**route.request.headers, **headers})

    async def prepare(window):
        await window.page.context.route(f"{site_urls['todo']}/**", add_password)

    return prepare
