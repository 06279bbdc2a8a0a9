"""The regret bounds that the five papers prove, as plain functions of a problem and its number of steps.

Where a theorem sums over items, its function takes their attraction probabilities, in any order; where it is stated for
the problem with K items at p and the others at p - D, it takes those numbers instead. The theorems assume no tie at the
K-th best item. Here a suboptimal item that ties is compared with the weakest of the best K that beats it, and adds
nothing if there is none: the proofs still hold.

Every function raises `InvalidInput` for an argument outside its range.
"""

from toplist.bounds.common import bernoulli_kl, vacuous
from toplist.bounds.hiranandani2019 import hiranandani2019_alpha, hiranandani2019_theorem1, hiranandani2019_theorem2
from toplist.bounds.katariya2016 import katariya2016_theorem1, katariya2016_theorem2, katariya2016_theorem3
from toplist.bounds.kveton2015 import kveton2015_theorem1, kveton2015_theorem2, kveton2015_theorem3, kveton2015_theorem4
from toplist.bounds.li2019 import li2019_gaps, li2019_theorem1, li2019_theorem2, li2019_theorem3
from toplist.bounds.liu2018 import liu2018_theorem1

__all__ = [
    "bernoulli_kl",
    "vacuous",
    "kveton2015_theorem1",
    "kveton2015_theorem2",
    "kveton2015_theorem3",
    "kveton2015_theorem4",
    "katariya2016_theorem1",
    "katariya2016_theorem2",
    "katariya2016_theorem3",
    "hiranandani2019_theorem1",
    "hiranandani2019_alpha",
    "hiranandani2019_theorem2",
    "liu2018_theorem1",
    "li2019_gaps",
    "li2019_theorem1",
    "li2019_theorem2",
    "li2019_theorem3",
]
