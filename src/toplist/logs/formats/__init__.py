"""Formats of files and frames: Parquet, delimited text, JSON lines, Arrow tables; each gives pieces of a table."""
