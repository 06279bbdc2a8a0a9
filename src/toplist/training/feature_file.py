"""Features of items from a file: CSV whose first column is the item, or a JSON object."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput, refuse
from toplist.support.files import AnyPath


def read_features(path: AnyPath) -> dict[ItemId, list[float]]:
    """Features by item.

    Parameters
    ----------
    path : str or path-like
        A CSV file with a header, whose first column is the item and whose others are numbers; or a JSON file with an
        object from items to lists of numbers. An item that is a whole number stands for the text and for the number:
        the log says which of them it has.

    Returns
    -------
    dict of str or int to list of float
        The features.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or a row is not made of numbers.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise refuse("The file of features", str(path), "a file that can be read", str(problem)) from problem
    rows = _json_rows(path, text) if text.lstrip().startswith("{") else _csv_rows(path, text)
    found: dict[ItemId, list[float]] = {}
    for item, values in rows.items():
        try:
            found[item] = [float(value) for value in values]
        except (TypeError, ValueError):
            raise refuse(f"The features of {item!r} in {path}", values, "numbers", "correct them") from None
        if item.lstrip("-").isdigit() and str(int(item)) == item:
            found[int(item)] = found[item]
    return found


def _json_rows(path: AnyPath, text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as problem:
        raise InvalidInput(f"{path} is not a JSON object from items to rows of numbers: {problem}.") from problem
    return found


def _csv_rows(path: AnyPath, text: str) -> dict[str, Any]:
    header, *lines = list(csv.reader(text.splitlines())) or [[]]
    if len(header) < 2:
        raise refuse(f"The header of {path}", header, "the item and at least one feature", "write item,first,second")
    found: dict[str, Any] = {}
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        if len(line) != len(header):
            raise refuse(f"Line {number} of {path}", line, f"{len(header)} columns, as the header has", "correct it")
        if line[0] in found:
            raise InvalidInput(f"Line {number} of {path} names {line[0]!r} once more; name each item once.")
        found[line[0]] = line[1:]
    return found
