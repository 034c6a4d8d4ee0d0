"""How the command ends when it is stopped; apart, because it is needed before anything else has loaded."""

STOPPED = 130
STOPPED_SENTENCE = "Stopped; no file was left half-written."
