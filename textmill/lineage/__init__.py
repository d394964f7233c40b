"""The one room that knows the repository: its paths, its stage graph, and what a stage read."""
