"""What-if: tries changes on a cluster that was read once."""
