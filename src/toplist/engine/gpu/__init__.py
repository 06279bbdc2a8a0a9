"""How runs are played on a GPU: the same loop, one thread per run."""
