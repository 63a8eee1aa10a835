"""Certified bounds on the smallest move of an input that changes a prediction: one file each, one signature."""
