"""Plans of a take-over from Kueue's manager, of the way back, and of the removal: what is missing, and each step."""
