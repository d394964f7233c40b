"""How every page is made: a template beside the code that fills it, and no script, font or picture
from elsewhere. Whatever comes from a configuration or a text is escaped; a name that the template
asks for and nobody gave is an error.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(
    package: str, template: str, filters: Mapping[str, Callable[..., Any]], context: dict[str, Any]
) -> str:
    """The page of a template that lies in a package of this room."""
    environment = Environment(
        loader=PackageLoader(package, package_path=""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= filters
    return environment.get_template(template).render(context)
