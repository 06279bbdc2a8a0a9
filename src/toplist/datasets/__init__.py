"""Which public data can be loaded."""
