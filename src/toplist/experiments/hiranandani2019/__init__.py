"""Hiranandani et al., Cascading Linear Submodular Bandits, UAI 2019."""
