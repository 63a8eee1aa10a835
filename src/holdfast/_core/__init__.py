"""Compiled kernels: what runs for each row and each pair."""
