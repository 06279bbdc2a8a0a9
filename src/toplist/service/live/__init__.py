"""The state of the service in memory: what it knows now, and how requests change it."""
