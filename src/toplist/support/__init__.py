"""Support for all other packages: files, tables, catalogues of names and a progress bar for terminals."""
