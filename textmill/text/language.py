"""Keep documents of wanted languages, as an installed library tells them.

The library is optional: py3langid (BSD), which knows 97 languages, needs no network and answers
the same each time. Where it is not installed the stage says how to get it.
"""

from dataclasses import dataclass
from typing import Any

from textmill.base.errors import UserError
from textmill.text.rules import Cleaned, Rule

_LIBRARY = "py3langid"
_READ = 10_000
"""Characters of a document that are looked at; more changes no answer and takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Documents in none of the languages `keep` (ISO 639-1, such as en) are dropped.

    min_probability: how sure the library must be of the language.
    """

    keep: tuple[str, ...]
    min_probability: float = 0.5

    def __post_init__(self) -> None:
        if not self.keep:
            raise ValueError("keep: name at least one language, such as en")
        if not 0 <= self.min_probability <= 1:
            raise ValueError(f"min_probability: {self.min_probability} does not lie in 0 to 1")

    def start(self) -> Rule:
        """A rule with the library's model read. Raises UserError where it cannot be."""
        identifier = _identifier()
        if unknown := sorted(set(self.keep) - set(identifier.labels)):
            known = ", ".join(sorted(identifier.labels))
            raise UserError(
                f'{_LIBRARY} knows no language "{unknown[0]}"',
                where="cleaning: language",
                next_step=f"it knows: {known}",
            )

        def rule(text: str) -> Cleaned:
            language, probability = identifier.classify(text[:_READ])
            if language not in self.keep:
                return Cleaned(text, drop=f"language {language}", example=_first(text))
            if probability < self.min_probability:
                return Cleaned(text, drop="language not certain", example=_first(text))
            return Cleaned(text)

        return rule


def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415
    except ImportError:
        raise UserError(
            f"the rule needs the library {_LIBRARY}, which is not installed",
            where="cleaning: language",
            next_step=f"pip install {_LIBRARY}",
        ) from None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def _first(text: str) -> str:
    return text[:60].replace("\n", " ")
