"""Start the command for ``isthmus`` and ``python -m isthmus``."""

import os
import sys


def main() -> None:
    """Load and run the command; exit with one line if Ctrl-C arrives while it loads."""
    try:
        from isthmus.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.stderr.flush()
        os._exit(130)  # a normal exit would run handlers of half-loaded modules
    run()


if __name__ == "__main__":
    main()
