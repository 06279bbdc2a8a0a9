"""What the papers found, and whether it comes out again."""
