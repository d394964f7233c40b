"""`textmill`: every command, and what ends it."""

import sys

from textmill.base.environment import switch_telemetry_off
from textmill.base.errors import UserError, as_user_error
from textmill.cli.app import app

# Importing them adds their commands, which --help lists in this order.
from textmill.cli import ranking, corpus, asking, tracking, lineage  # noqa: F401  # isort: skip


def main() -> None:
    """Run the command; what a user can mend is one message and exit code 2."""
    switch_telemetry_off()
    try:
        app()
    except (UserError, OSError) as error:
        print(f"textmill: {as_user_error(error)}", file=sys.stderr)
        sys.exit(2)
