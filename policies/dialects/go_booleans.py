"""How Go reads a boolean from a string; other strings are not booleans. Source: Go, strconv.ParseBool."""

TRUE = frozenset(["1", "t", "T", "TRUE", "true", "True"])
FALSE = frozenset(["0", "f", "F", "FALSE", "false", "False"])
