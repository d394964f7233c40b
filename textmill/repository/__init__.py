"""The repository as a step sees it: paths, stage graph, what a stage read, facts of runs."""
