"""Who looks: by a token, by what a trusted proxy says, or by the key of one's own process."""
