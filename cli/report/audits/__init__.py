"""An audit in each of its formats."""
