"""The `textmill` command. It reads the repository that it stands in.

Exit codes: 0 done, 1 the answer is no, 2 wrong use. A module each for what is asked of the ranked
models, of the corpus, of one model, of MLflow, of a model's lineage.
"""
