"""How fast, against whom, and how far from the floor."""
