"""The service over HTTP: one table of routes, from which requests are answered and described."""
