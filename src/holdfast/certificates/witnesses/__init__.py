"""Witnesses: moved rows with another answer, searched where a bound leaves room and checked by the model's predict."""
