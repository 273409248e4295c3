"""From the version before to this one and back, on a real API server."""
