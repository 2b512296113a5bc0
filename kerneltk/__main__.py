"""``python -m kerneltk``: the command line."""

from kerneltk.cli import main

if __name__ == "__main__":
    main()
