"""The policy of a ranker or a ranking for which none is named: the outcome of `toplist.experiments.default_policy`."""

DEFAULT_POLICY = "dcm-ts"
