"""The figures that docs/performance.md quotes: `make bench`. No test judges them; a person does."""
