"""How Go reads a boolean from a text; any other text is none. Source: Go, strconv.ParseBool."""

TRUE = frozenset(["1", "t", "T", "TRUE", "true", "True"])
FALSE = frozenset(["0", "f", "F", "FALSE", "false", "False"])
