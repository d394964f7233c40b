"""N-gram models: count, smooth, query, store."""
