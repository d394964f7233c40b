"""The repository as a step sees it: its paths, its stage graph, what a stage read, facts of runs."""
