"""Neural language models: the network, its training, its files, and the model they become."""
