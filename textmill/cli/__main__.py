"""`python -m textmill.cli`: the `textmill` command."""

from textmill.cli.main import main

if __name__ == "__main__":
    main()
