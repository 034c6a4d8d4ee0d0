"""``isthmus`` and ``python -m isthmus``: the command, from its first moment on."""

import os
import sys

from isthmus._lazy import defer


def main() -> None:
    """Ctrl-C while the command is still being loaded ends it as quietly as later."""
    defer("scipy.stats")
    try:
        from isthmus.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.stderr.flush()
        os._exit(130)  # half-loaded modules are not worth a second look
    run()


if __name__ == "__main__":
    main()
