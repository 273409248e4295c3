"""What servers of JSON to callers with tokens share: connections, refusals, who asks and what they may do."""
