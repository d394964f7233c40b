"""What people look at: the leaderboard, and its five forms from one view."""
