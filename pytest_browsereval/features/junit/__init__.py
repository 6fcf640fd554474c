"""JUnit XML: verdicts, figures and pictures of attempts."""
