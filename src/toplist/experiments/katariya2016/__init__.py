"""Katariya, Kveton, Szepesvari and Wen, DCM Bandits: Learning to Rank with Multiple Clicks, ICML 2016."""
