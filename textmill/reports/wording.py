"""Numbers as people read them: one function a quantity, used by every form of a report.

The precision is what the quantity deserves: a thousandth of a bit per byte is about what 50
speeches can tell apart, three digits of a perplexity are what the literature prints.
"""

ABSENT = "\N{EN DASH}"
LARGE = 1000.0
"""Bits of a byte from here on are no score, and their digits no news."""


def bits(value: float | None) -> str:
    """`1.493`; `1.4e+28` of a model that came apart."""
    return ABSENT if value is None else _thousandths(value)


def bits_more(value: float) -> str:
    """`0.056`, `-0.003`; what rounds to zero carries no sign."""
    return _thousandths(value).replace("-0.000", "0.000")


def bits_range(low: float, high: float) -> str:
    """`[0.041, 0.071]`."""
    return f"[{bits_more(low)}, {bits_more(high)}]"


def perplexity(value: float | None) -> str:
    """`3.80`, `57.3`, `1,234`, `2.04e+11`: three digits at least."""
    if value is None:
        return ABSENT
    if value >= 1e7:
        return f"{value:.2e}"
    return f"{value:,.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def percent(share: float) -> str:
    """`0`, `0.02 %`, `4.1 %`, `37 %`; a share that is not zero never reads as zero."""
    value = 100 * share
    if value == 0:
        return "0"
    if value < 0.01:
        return "< 0.01 %"
    return f"{value:.2f} %" if value < 1 else f"{value:.1f} %" if value < 10 else f"{value:.0f} %"


def amount(value: int | None) -> str:
    """`812`, `34.5 k`, `1.20 M`."""
    if value is None:
        return ABSENT
    return _scaled(value, ("", " k", " M", " G"))


def size(value: int | None) -> str:
    """`812 B`, `34.5 kB`, `1.20 MB`, in powers of 1000."""
    if value is None:
        return ABSENT
    return _scaled(value, (" B", " kB", " MB", " GB"))


def whole(value: int) -> str:
    """`3,221`."""
    return f"{value:,}"


def duration(seconds: float | None) -> str:
    """`0.4 s`, `48 s`, `3 min 20 s`, `1 h 04 min`."""
    if seconds is None:
        return ABSENT
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 1:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def _thousandths(value: float) -> str:
    return f"{value:.3f}" if abs(value) < LARGE else f"{value:.1e}"


def _scaled(value: int, units: tuple[str, ...]) -> str:
    scaled, step = float(value), 0
    while scaled >= 999.5 and step < len(units) - 1:
        scaled, step = scaled / 1000, step + 1
    if step == 0:
        return f"{value}{units[0]}"
    digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0
    return f"{scaled:.{digits}f}{units[step]}"
