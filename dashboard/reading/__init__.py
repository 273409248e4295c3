"""What pages are made of, read with the rights of who looks, and kept for a moment."""
