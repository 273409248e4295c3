"""Trees as the pages show them: nodes with amounts, and their drawing. Pure functions on values."""
