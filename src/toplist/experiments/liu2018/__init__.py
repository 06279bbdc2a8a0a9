"""Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation, COCOON 2018."""
