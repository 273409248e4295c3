"""Results as values, as text and as JSON."""
