"""What `validate` found, as a value, as text and as JSON."""
