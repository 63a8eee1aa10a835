"""Attacks on certificates, one file a family; ``python -m tests.adversary`` runs them at full size."""
