"""Arrow columns as arrays: ids as codes, texts as numbers, lists as offsets and values, bad values as masks."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from toplist.core.item_id import INTEGER_MARK
from toplist.core.problem import refuse
from toplist.core.slate import Bools, Floats, Ints
from toplist.logs.arrow import arrow
from toplist.logs.id_table import Codes, Id, IdTable

MISSING = -1  # code of a missing id
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"


DATE = (
    r"^(?P<day>\d{4}-\d\d-\d\d)(?:[T ](?P<clock>\d\d:\d\d(?::\d\d)?)(?P<fraction>\.\d+)?)?"
    r"\s?(?:Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?$"
)


class ListColumn(NamedTuple):
    """A column of lists: where each begins among the values, and all values."""

    start: Ints
    values: Any

    @classmethod
    def of(cls, column: Any, separator: str, what: str) -> ListColumn:
        """Lists of a list column, or of texts with a separator, where an empty text is an empty list."""
        kind, compute = column.type, arrow.compute
        types = arrow.lib.types
        if is_text(kind):
            column = compute.split_pattern(plain_text(column), separator)
            empty = compute.and_(
                compute.equal(compute.list_value_length(column), 1),
                compute.equal(compute.list_element(column, 0), "")
            ) if len(column) else None  # fmt: skip
            if empty is not None and compute.any(empty).as_py():
                column = compute.if_else(empty, arrow.lib.scalar([], column.type), column)
        elif not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
            accepted = f"lists, or texts that separate values by {separator!r}"
            raise refuse(f"The column of {what}", str(kind), accepted, "name another column with columns={...}")
        sizes = compute.fill_null(compute.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        return cls(offsets(sizes), column.flatten())


def offsets(sizes: Any) -> Ints:
    """Where each of several lists of these sizes begins, and where the last ends."""
    start = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=start[1:])
    return start


def is_text(kind: Any) -> bool:
    """Whether values of an Arrow type are texts."""
    types = arrow.lib.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def plain_text(column: Any) -> Any:
    """A column of texts in Arrow's usual type."""
    text = arrow.lib.string()
    return column if column.type == text else column.cast(text)


def id_codes(column: Any, table: IdTable, what: str, has_marks: bool = False) -> Codes:
    """The codes of a column of ids, MISSING for null; new ids are added to the table.

    With marks, a text that begins with one is an integer.
    """
    types = arrow.lib.types
    if types.is_floating(column.type):  # pandas, where some ids are missing
        with suppress(arrow.lib.ArrowInvalid):
            column = column.cast(arrow.lib.int64())
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (is_text(kind) or types.is_integer(kind) or types.is_null(kind)):
        advice = "name another column with columns={...}, or convert it"
        raise refuse(f"The column of {what}", str(kind), "texts or whole numbers", advice)
    if types.is_null(kind):
        return np.full(len(column), MISSING, dtype=np.int32)
    encoded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    indices = encoded.indices
    if indices.null_count:
        indices = arrow.compute.fill_null(indices.cast(arrow.lib.int64()), len(encoded.dictionary))
    places = indices.to_numpy(zero_copy_only=False)
    used = np.zeros(len(encoded.dictionary) + 1, dtype=np.bool_)  # one more, for null
    used[places] = True
    codes = np.full(len(used), MISSING, dtype=np.int32)
    known = np.flatnonzero(used[:-1])
    ids = encoded.dictionary
    if len(known) < len(ids):
        ids = ids.take(arrow.lib.array(known))
    valid = np.array(ids.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)
    texts = ids.drop_null().to_pylist()
    codes[known[valid]] = table.encode(list(map(_without_mark, texts)) if has_marks else texts)
    found: Codes = codes[places]
    return found


def _without_mark(text: str) -> Id:
    return int(text[1:]) if text.startswith(INTEGER_MARK) else text


def numbers(column: Any, what: str) -> tuple[Floats, Bools]:
    """A column as numbers, NaN for null; and which values are no numbers."""
    types, compute = arrow.lib.types, arrow.compute
    wrong = np.zeros(len(column), dtype=np.bool_)
    if types.is_null(column.type):
        return np.full(len(column), np.nan), wrong
    if is_text(column.type):
        column = plain_text(column)
        column = compute.if_else(compute.equal(column, ""), None, column)
        try:
            column = column.cast(arrow.lib.float64())
        except arrow.lib.ArrowInvalid:
            fits = compute.fill_null(compute.match_substring_regex(column, NUMBER), True)
            wrong = ~fits.to_numpy(zero_copy_only=False)
            column = compute.utf8_trim_whitespace(compute.if_else(fits, column, None)).cast(arrow.lib.float64())
    elif types.is_boolean(column.type):
        column = column.cast(arrow.lib.uint8())
    elif not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_decimal(column.type)):
        advice = "name another column with columns={...}, or convert it"
        raise refuse(f"The column of {what}", str(column.type), "numbers", advice)
    if column.null_count:
        column = compute.fill_null(column.cast(arrow.lib.float64()), np.nan)
    return column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False), wrong


def times(column: Any) -> tuple[Floats, Bools]:
    """A column of times as seconds: numbers are seconds, timestamps and ISO 8601 texts seconds since 1970."""
    lib, types = arrow.lib, arrow.lib.types
    if is_text(column.type):
        values, wrong = numbers(column, "time")
        if not wrong.any():
            return values, wrong
        for zone in ("UTC", None):  # quicker, if all are dates of one form
            with suppress(lib.ArrowInvalid):
                return times(plain_text(column).cast(lib.timestamp("us", zone)))
        return _dates(plain_text(column), values, wrong)
    if types.is_date(column.type):
        column = column.cast(lib.timestamp("us"))
    if types.is_timestamp(column.type):
        values, wrong = numbers(column.cast(lib.timestamp("us", column.type.tz)).cast(lib.int64()), "time")
        return values / 1e6, wrong
    return numbers(column, "time")


def _dates(column: Any, values: Floats, wrong: Bools) -> tuple[Floats, Bools]:
    """Texts of which some are no numbers: those that are dates in ISO 8601 become seconds since 1970."""
    lib, compute = arrow.lib, arrow.compute
    parts = compute.extract_regex(column, DATE)
    day, clock, fraction, sign, hours, minutes = (
        compute.if_else(compute.equal(part, ""), missing, part)
        for part, missing in zip(parts.flatten(), (None, "00:00:00", "0", "+", "0", "0"), strict=True)
    )
    clock = compute.if_else(
        compute.equal(compute.utf8_length(clock), 5), compute.binary_join_element_wise(clock, "00", ":"), clock
    )
    moment = compute.strptime(
        compute.binary_join_element_wise(day, clock, " "), format="%Y-%m-%d %H:%M:%S", unit="s", error_is_null=True
    )
    same_day = compute.equal(compute.strftime(moment, "%Y-%m-%d"), day)  # the 30th of February would be in March
    moment = compute.if_else(same_day, moment, None)
    seconds, offset, of_hours, of_minutes = (
        numbers(part.cast(kind), "time")[0]
        for part, kind in (
            (moment, lib.int64()),
            (fraction, lib.float64()),
            (hours, lib.int64()),
            (minutes, lib.int64()),
        )
    )
    east = np.where(compute.equal(sign, "-").to_numpy(zero_copy_only=False), -1.0, 1.0)
    found = seconds + offset - east * (3600.0 * of_hours + 60.0 * of_minutes)
    is_date = wrong & ~np.isnan(found)
    return np.where(is_date, found, values), wrong & ~is_date
