"""The content of each page: a module for each page returns the variables for its template."""
