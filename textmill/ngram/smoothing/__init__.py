"""Smoothing methods, one a file: each turns counts into probabilities and backoff weights."""
