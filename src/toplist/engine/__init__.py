"""How a simulation is run."""
