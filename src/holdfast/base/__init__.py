"""What every floor stands on: blocks of work, checks of inputs, files, text."""
