"""How every page is made: a template beside the code that fills it, and no script, font or picture
from elsewhere. All fill one frame, `page.html`, and wear one style. Whatever comes from a
configuration or a text is escaped; a name that the template asks for and nobody gave is an error.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_OWN = "textmill.reports.page"
_STYLE = Path(__file__).with_name("style.css")


def render(
    package: str, template: str, filters: Mapping[str, Callable[..., Any]], context: dict[str, Any]
) -> str:
    """The page of a template that lies in a package of this room."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, package_path="") for name in (package, _OWN)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= filters
    style = Markup(_STYLE.read_text(encoding="utf-8"))  # noqa: S704  # our own
    return environment.get_template(template).render(context | {"style": style})
