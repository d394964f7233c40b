"""Scoring: one interface for every model, and what its numbers mean."""
