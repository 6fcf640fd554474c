"""Why attempts did not pass: the first wrong step, and groups of attempts with one cause."""
