"""Shards: token columns as memory-mapped Arrow files, with a manifest that checks itself."""
