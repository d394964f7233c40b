"""textmill: from raw text to language models that can be compared."""


def __getattr__(name: str) -> str:
    """`__version__`, of what is installed; looked up when it is asked for, as it takes a while."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415

    return version(__name__)
