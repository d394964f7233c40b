"""How every page of this room is made, and the style that all of them wear."""
