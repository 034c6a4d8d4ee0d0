"""``python -m isthmus`` is the command."""

from isthmus.cli import main

if __name__ == "__main__":
    main()
