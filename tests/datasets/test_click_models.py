"""Click models of a file: everything is read, and every error says what is wrong."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import InvalidInput, Problem
from toplist.core.randomness import branch
from toplist.core.slate import empty_page
from toplist.datasets.click_models import PARAMETERS, read

DOCUMENTS = 4


def content_of(queries: int = 3, documents: int = DOCUMENTS, seed: int = 0) -> dict[str, Any]:
    """Valid content of a file."""
    rng = np.random.default_rng(seed)
    return {
        str(query): {
            model: {name: rng.uniform(size=(documents,) * size).tolist() for name, size in parameters.items()}
            for model, parameters in PARAMETERS.items()
        }
        for query in range(queries)
    }


def write(folder: Path, content: Any, name: str = "models.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_everything_in_the_file_is_read(tmp_path: Path) -> None:
    content = content_of()
    path = write(tmp_path, content)
    for given in (path, str(path), tmp_path):
        found = read(given)
        assert found.documents == DOCUMENTS
        assert list(found.queries) == ["0", "1", "2"]
        for query, models in found.queries.items():
            for model, parameters in models.items():
                for name, numbers in parameters.items():
                    assert numbers.tolist() == content[query][model][name]
    assert {query: own.tolist() for query, own in found.attraction().items()} == {
        query: models["CM"]["attr"] for query, models in content.items()
    }
    assert found.attraction("DCM")["1"].tolist() == content["1"]["DCM"]["attr"]
    assert str(found) == f"{path}: 3 queries of 4 documents each, models CM, PBM, DCM, DBN, CCM, UBM"


def test_a_compressed_file_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "models.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content_of()).encode()))
    assert str(read(tmp_path)) == f"{path}: 3 queries of 4 documents each, models CM, PBM, DCM, DBN, CCM, UBM"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInput, match=r"models.json.gz is truncated or damaged"):
        read(path)


def test_common_models_exclude_missing_and_unknown_ones(tmp_path: Path) -> None:
    content = content_of()
    del content["1"]["DBN"]
    content["2"]["XYZ"] = {"attr": "whatever"}
    found = read(write(tmp_path, content))
    assert found.models == ("CM", "PBM", "DCM", "CCM", "UBM")
    assert "DBN" in found.queries["0"]
    with pytest.raises(InvalidInput, match=r"The model is 'DBN', but must be one that all queries of .* have: CM, PBM"):
        found.attraction("DBN")


@pytest.mark.parametrize("model", PARAMETERS)
@pytest.mark.parametrize("positions", [1, 3, 4])
def test_users_of_a_model_click_as_often_as_its_formula_says(model: str, positions: int, tmp_path: Path) -> None:
    """The probability of a click at each position, computed from the file; 10,000 visitors, 4.5 standard errors."""
    content = content_of(queries=1)
    world, users = read(write(tmp_path, content)).people(model, positions)["0"]
    own = content["0"][model]
    assert world.checked().problem() == Problem(DOCUMENTS, positions)
    assert np.array(world.attraction).tolist() == own["attr"]
    wanted, here, last = np.zeros(positions), 1.0, {-1: 1.0}  # last: the probability of each position of the last click
    for place in range(positions):
        likes = own["attr"][place]
        if model == "PBM":
            wanted[place] = likes * own["exam"][place]
        elif model == "UBM":
            looks = {above: own["exam"][place][above] for above in last}  # -1 is the last column
            wanted[place] = likes * sum(last[above] * looks[above] for above in last)
            last = {above: chance * (1 - likes * looks[above]) for above, chance in last.items()}
            last[place] = wanted[place]
        else:
            wanted[place] = here * likes
            if model == "CM":
                here *= 1 - likes
            elif model == "DCM":
                here *= 1 - likes * own["stop"][place]
            elif model == "DBN":
                here *= (1 - likes * own["sat"][place]) * (1 - own["abandon"])
            else:
                clicked = own["cont_click_nonrel"] * (1 - likes) + own["cont_click_rel"] * likes
                here *= likes * clicked + (1 - likes) * own["cont_noclick"]
    ready, items, page = users.prepare(Problem(DOCUMENTS, positions)), np.arange(positions), empty_page(positions)
    total = np.zeros(positions)
    for visitor in range(10_000):
        ready.click(None, items, world.attraction[:positions], np.arange(DOCUMENTS), branch(9, visitor), page)
        total += page.clicks
    assert np.all(np.abs(total / 10_000 - wanted) < 4.5 * np.sqrt(wanted * (1 - wanted) / 10_000) + 1e-9)


def test_users_can_be_simulated_on_at_most_as_many_positions_as_documents(tmp_path: Path) -> None:
    found = read(write(tmp_path, content_of(queries=2)))
    for world, users in found.people("UBM", 3).values():
        result = toplist.simulate(["best"], world, users, steps=10, runs=1)
        assert result.mean("best")[-1] == 0.0
    for wrong in (5, 0, 2.5, True):
        with pytest.raises(InvalidInput, match="The number of positions is"):
            found.people("UBM", wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"The model is 'UBN', but must be .*; perhaps you mean 'UBM'"):
        found.people("UBN", 3)


def changed(query: str, model: str, parameter: str, value: Any) -> dict[str, Any]:
    content = content_of()
    content[query][model][parameter] = value
    return content


def without(query: str, model: str, parameter: str) -> dict[str, Any]:
    content = content_of()
    del content[query][model][parameter]
    return content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (json.dumps(content_of())[:500], "is truncated or not JSON"),
        ("", "is truncated or not JSON"),
        ("attr,0.5", "is truncated or not JSON"),
        ({}, "holds no queries"),
        ([1, 2], "holds no queries"),
        ({"17": {"XYZ": {}}}, "Query '17' of .* has none of the models CM, PBM, DCM, DBN, CCM, UBM"),
        ({"17": 5}, "has none of the models"),
        ({"17": {"CM": 5}}, "The attr of the CM of query '17' in .* is missing"),
        (without("1", "DCM", "stop"), "The stop of the DCM of query '1' in .* is missing"),
        (changed("1", "DCM", "stop", [0.5] * 3), "The stop of the DCM of query '1' in .* must be 4 numbers in"),
        (changed("1", "CM", "attr", [0.5, 0.5, 0.5, 1.5]), "must be 4 numbers in"),
        (changed("1", "CM", "attr", [0.5, 0.5, 0.5, float("nan")]), "must be 4 numbers in"),
        (changed("1", "CM", "attr", ["a"] * 4), "must be 4 numbers in"),
        (changed("1", "CM", "attr", []), "must be 1 numbers in"),
        (changed("1", "DBN", "abandon", [0.5]), "must be one numbers in"),
        (changed("1", "UBM", "exam", [[0.5] * 4] * 3), "must be 4 x 4 numbers in"),
        (content_of(1) | {"x": content_of(1, 5)["0"]}, "has 4 documents for query '0' and 5 for 'x'"),
    ],
)
def test_wrong_files_give_a_clear_error(content: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        read(write(tmp_path, content))
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).endswith((".", ")."))


def test_wrong_paths_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", 5):
        with pytest.raises(InvalidInput, match="give a file that exists"):
            read(place)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="this folder holds 0; give the file itself"):
        read(tmp_path)
    write(tmp_path, content_of(), "a.json")
    write(tmp_path, content_of(), "b.json")
    with pytest.raises(InvalidInput, match="this folder holds 2; give the file itself"):
        read(tmp_path)
    (tmp_path / "c.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="is truncated or not JSON"):
        read(tmp_path / "c.json")
