"""Sums in a fixed order, threads, compilation and numbers as text: used by all other folders."""
