"""The version that `quotree --version` prints; a constant, since asking the package for it takes longer."""

VERSION = "0.1.0.dev0"
