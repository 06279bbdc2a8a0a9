"""The event log: what happened, and learners as a function of it."""
