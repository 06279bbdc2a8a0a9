"""The five papers, by the keys used in code and documents, and the chapter of the others."""

from __future__ import annotations

from typing import NamedTuple


class Paper(NamedTuple):
    """Authors, title and venue of a paper."""

    authors: str
    title: str
    venue: str

    def __str__(self) -> str:
        return f"{self.authors}, {self.title}, {self.venue}"


PAPERS = {
    "kveton2015": Paper(
        "Kveton, Szepesvari, Wen and Ashkan",
        "Cascading Bandits: Learning to Rank in the Cascade Model",
        "ICML 2015",
    ),
    "katariya2016": Paper(
        "Katariya, Kveton, Szepesvari and Wen",
        "DCM Bandits: Learning to Rank with Multiple Clicks",
        "ICML 2016",
    ),
    "liu2018": Paper(
        "Liu, Li and Zhang",
        "Contextual Dependent Click Bandit Algorithm for Web Recommendation",
        "COCOON 2018",
    ),
    "hiranandani2019": Paper(
        "Hiranandani, Singh, Gupta, Burhanuddin, Wen and Kveton",
        "Cascading Linear Submodular Bandits: Accounting for Position Bias and Diversity in Online Learning to Rank",
        "UAI 2019",
    ),
    "li2019": Paper(
        "Li and de Rijke",
        "Cascading Non-stationary Bandits: Online Learning to Rank in the Non-stationary Cascade Model",
        "IJCAI 2019",
    ),
}

NEWER = "newer"  # the folder of the claims of other papers
CHAPTERS = {**PAPERS, NEWER: Paper("Several authors", "Algorithms beside the five papers", "2016 to 2022")}
