"""Kveton, Szepesvari, Wen and Ashkan, Cascading Bandits: Learning to Rank in the Cascade Model, ICML 2015."""
