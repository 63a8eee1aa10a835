"""Moves that change the answer, searched where a certificate leaves room; each is checked by the model's predict."""
