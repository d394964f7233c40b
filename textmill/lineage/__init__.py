"""What people ask of a repository: its standings and the text behind them."""
