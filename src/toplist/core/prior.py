"""What is known of a probability beforehand."""

from __future__ import annotations

import math
from typing import NamedTuple

from toplist.core.problem import number


class Prior(NamedTuple):
    """A beta prior of a probability, as imagined observations.

    Of an item of a `Ranker`, it says what is known before its first list: the item counts as examined `strength` times
    with this mean. Of a parameter of a click model, whose coin fell heads h times in n tosses, the estimate is
    `(h + strength * mean) / (n + strength)`: the mean of the posterior, which is its mode on the logit scale.

    Parameters
    ----------
    mean : float
        Mean of the beta distribution: of an item, the share of those who look at it who click.
    strength : float
        Number of imagined looks or tosses; 0 for no prior. Of an item it counts up to 100, and less where the item is
        thought bad: see Notes.

    Notes
    -----
    A wrong prior must not keep a good item away for ever. Let m be the mean of an item, and r the K-th largest of all
    items' expected rates, each (1 + clicks) / (2 + looks). If m is below r, the strength counts up to
    log(5) / kl(m, r), where kl is the divergence of two Bernoulli variables: the prior then sets odds of about 5
    to 1 at most against the item being as good as the K-th best.

    Examples
    --------
    >>> from toplist import Prior, Ranker
    >>> ranker = Ranker(["tea", "milk"], 1, "cascade-ucb1", priors={"tea": Prior(0.3, 15)}, compiled=False)
    >>> ranker.estimates()["tea"]["mean"], ranker.estimates()["tea"]["examined"]
    (0.3, 15.0)
    """

    mean: float
    strength: float

    def checked(self, kind: str) -> Prior:
        """Check the numbers.

        Parameters
        ----------
        kind : str
            What it is the prior of, for the error.

        Returns
        -------
        Prior
            The same, as floats.

        Raises
        ------
        InvalidInput
            If the mean is no probability, or the strength is negative.
        """
        mean = number(f"The prior mean of {kind}", self.mean, 0.0, 1.0, "give a probability")
        strength = number(f"The prior strength of {kind}", self.strength, 0.0, math.inf, "give a number of tosses")
        return Prior(mean, strength)
