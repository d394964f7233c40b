"""Pictures of a leaderboard as SVG, each laid out for a wide page and for a phone."""
