"""Tokenizers: how a line of text becomes ids and comes back, and the vocabulary of the ids."""
