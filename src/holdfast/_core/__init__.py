"""Compiled functions and their state: arrays in, arrays out."""
