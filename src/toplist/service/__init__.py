"""How a live page is ranked: lists, clicks and what was learned from them, kept through every crash."""
