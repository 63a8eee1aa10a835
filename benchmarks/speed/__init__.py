"""Speed of training and certifying: against peers, and against a lower limit of the work."""
