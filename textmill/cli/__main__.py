"""`python -m textmill.cli`: the `textmill` command."""

from textmill.cli import main

if __name__ == "__main__":
    main()
