"""What each page shows, worked out before it is drawn: one module for each, which returns the names of its template."""
