"""``isthmus`` and ``python -m isthmus``: the command, from its first moment on."""

import os
import sys


def main() -> None:
    """Ctrl-C while the command is still being loaded ends it as quietly as later."""
    try:
        from isthmus.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.stderr.flush()
        os._exit(130)  # half-loaded modules are not worth a second look
    run()


if __name__ == "__main__":
    main()
