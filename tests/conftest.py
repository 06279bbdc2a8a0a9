"""Settings for all tests."""

from hypothesis import settings

# Compiling a part for the first time takes seconds, so single examples have no deadline; runs repeat exactly.
settings.register_profile("toplist", deadline=None, derandomize=True)
settings.load_profile("toplist")
