"""Counterfactuals beside those of DiCE and NICE: validity, distance, broken limits, time."""
