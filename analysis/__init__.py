"""The answers that the command line and the dashboard share: the findings for a change, and its effect."""
