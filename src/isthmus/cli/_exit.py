"""What the command can say before anything else has loaded: talk on standard error, and how it ends when stopped."""

import sys

STOPPED = 130
STOPPED_SENTENCE = "Stopped; no file was left half-written."


def say(text: str = "") -> None:
    """Talk goes to standard error, and nowhere when that is closed."""
    if sys.stderr is None:
        return
    print(text, file=sys.stderr, flush=True)


def one_line(text: str) -> str:
    """A sentence for the terminal: line breaks and control characters of hostile data made harmless."""
    return "".join(char if char.isprintable() else " " for char in " ".join(text.split()))
