"""``python -m pgmx``: the command line."""

from pgmx.cli import main

if __name__ == "__main__":
    main()
