"""The service over HTTP: routes, handlers, authorization, limits, logs and metrics."""
