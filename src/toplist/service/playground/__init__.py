"""Simulations that are asked for on the page of the service, each in a process of its own."""
