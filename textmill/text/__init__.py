"""From raw files to cleaned documents: catalogue, sources, pins, cleaning rules, splits."""
