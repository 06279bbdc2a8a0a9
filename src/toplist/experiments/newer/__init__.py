"""Claims of papers beside the five, each on the nearest problem that can be built."""
