"""What every folder uses: blocks of work, checks of inputs, files, text."""
