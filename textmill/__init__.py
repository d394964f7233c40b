"""textmill: from raw text to language models that can be compared."""
