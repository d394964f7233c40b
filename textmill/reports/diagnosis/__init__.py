"""Why networks behave as they do, on one page."""
