"""Simulations: played, compared, tuned, summarised and saved."""
