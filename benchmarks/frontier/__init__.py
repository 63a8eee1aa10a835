"""What models certify and get right, side by side: see README.md."""
