"""Small pieces every room stands on: errors that teach, atomic files, progress."""
