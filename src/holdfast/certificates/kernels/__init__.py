"""Compiled code only: loops over points, rows and search nodes; their state is in NamedTuples with named fields."""
