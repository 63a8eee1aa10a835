"""Verdicts of k nearest neighbours in L∞, and individual fairness, beside those of kNAVe and OptCert."""
