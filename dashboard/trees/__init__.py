"""Trees as the pages show them: nodes with amounts, and their picture. Values in, values out."""
