"""What the cleaning did to a corpus, as a table to plot and as a page."""
