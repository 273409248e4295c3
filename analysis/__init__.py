"""What the command line and the dashboard ask: what the rules say of a change, and what it does."""
