"""What if: a cluster that was read once, and changes tried out on it."""
