"""Plans a take-over from Kueue's manager, its reversal, and the removal of Quotree: the refusals, and each step."""
