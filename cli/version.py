"""The version that `quotree --version` prints; a constant, since reading the package metadata is slower."""

VERSION = "0.1.0.dev0"
