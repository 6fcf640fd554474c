"""pytest-html: columns and details of attempts."""
