"""What Prefect logs, without what tells nothing."""

import logging

NOTHING = (None, None, None)


def drop_empty_tracebacks() -> None:
    """Log no `NoneType: None` below a state that a task returned.

    Prefect asks for the traceback of the exception behind a failure; a state has none.
    """
    for name in ("prefect.task_runs", "prefect.flow_runs"):
        logging.getLogger(name).addFilter(_without_empty_traceback)


def drop_addresses() -> None:
    """Log no address of a run's page: the server that would show it ends with the run."""
    logging.getLogger("prefect.flow_runs").addFilter(_is_no_address)


def _is_no_address(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("View at ")


def _without_empty_traceback(record: logging.LogRecord) -> bool:
    if record.exc_info == NOTHING:
        record.exc_info = None
    return True
