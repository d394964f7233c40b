"""The command line of the flow: `python -m flows.command [STAGE ...]`."""

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from flows import checkout, request
from textmill.base.errors import UserError, as_user_error


def main() -> int:
    """Run the flow; 0 where every stage ended well, 1 where one did not, 2 for wrong use.

    Prefect is imported once the arguments are known to be sound.
    """
    given = _parser().parse_args()
    received: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background has SIGINT switched off
        signal.signal(number, interrupt)
    try:
        code = _run(given)
    except KeyboardInterrupt:
        _say("interrupted; the same command goes on from here")
        code = 1
    return 128 + received[0] if received else code


def _run(given: argparse.Namespace) -> int:
    code = 2
    try:
        request.check(Path(), given.targets, given.cores, given.timeout_minutes)
        checkout.check_free(checkout.LOCK)
        from flows import api  # noqa: PLC0415 - slow
        from flows.reproduce import reproduce  # noqa: PLC0415 - slow

        api.check_named()
        code = 1
        with api.api(), api.sent():
            state: Any = reproduce(
                targets=given.targets or None,
                force=given.force,
                cores=given.cores,
                timeout_minutes=given.timeout_minutes,
                return_state=True,
            )
    except (UserError, OSError) as error:
        _say(f"{as_user_error(error)}")
        return code
    _say(f"{state.name}: {state.message}")
    return 0 if state.is_completed() else 1


def _say(text: str) -> None:
    sys.stderr.write(f"textmill: {text}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m flows.command",
        description="Run the stages of dvc.yaml as a Prefect flow, side by side.",
        epilog="Example: python -m flows.command evaluate_ngram --cores 2",
    )
    parser.add_argument("targets", nargs="*", metavar="STAGE", help="default: every stage")
    parser.add_argument("--force", action="store_true", help="run even where nothing changed")
    parser.add_argument("--cores", type=int, help="default: those of the machine")
    parser.add_argument("--timeout-minutes", type=float, help="end after so long; default: never")
    return parser


if __name__ == "__main__":
    sys.exit(main())
