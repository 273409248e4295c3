"""Everything that is stored, judged again: its findings by the root of their tree, and the reports that say so."""
