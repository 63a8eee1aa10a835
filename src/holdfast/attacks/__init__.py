"""Upper bounds: moves that change an answer."""
