"""What every floor stands on: exact neighbour search, collections of rows."""
