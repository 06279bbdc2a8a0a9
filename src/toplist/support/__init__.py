"""Helpers for people: files, tables, catalogues of names and a progress bar."""
