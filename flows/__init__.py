"""Prefect: when and where DVC's stages run. The stages and their order are DVC's.

This runs before Prefect is imported, which reads its settings then: nothing phones home, and
Prefect's database is the checkout's own, in `.textmill/prefect`, unless PREFECT_HOME is set.
"""

import os

from textmill.base.environment import switch_telemetry_off
from textmill.repository import layout

switch_telemetry_off()
os.environ.setdefault("PREFECT_HOME", str((layout.PRIVATE / "prefect").resolve()))
