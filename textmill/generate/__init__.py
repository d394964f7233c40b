"""Text from a model, whatever the model: how the next token is chosen."""
