"""Sizes as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidtest.errors import BadInput
from acidtest.experiment.sizes import UNITS, bytes_of


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("9.04 GB", 9_040_000_000),
        ("1.8TB", 1_800_000_000_000),
        ("512 MB", 512_000_000),
        ("16 GiB", 16 * 2**30),
        ("16gib", 16 * 2**30),
        ("  .5 kB ", 500),
        ("30. KiB", 30 * 1024),
        ("9040000000", 9_040_000_000),
        ("4096 bytes", 4096),
        ("1 B", 1),
        ("0.1 GB", 100_000_000),  # exactly: not by way of a binary fraction
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "GB", "9,04 GB", "-1 GB", "+1 GB", "1e9", "nan", "inf GB", "0 GB", "0.2 B", "9 GBit", "2x memory", "9 G B",
     "40 warehouses", "2000 PB", "1" * 41, "٣ GB", "9 GB\n9"],
)  # fmt: skip
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(BadInput) as said:
        bytes_of(text)
    assert "GB" in said.value.remedy


@given(st.decimals(0, 10**6, places=3, allow_nan=False), st.sampled_from(sorted(UNITS)), st.booleans())
def test_a_size_is_its_number_times_its_unit(number: object, unit: str, spaced: bool) -> None:
    text = f"{number}{' ' if spaced else ''}{unit}"
    try:
        size = bytes_of(text)
    except BadInput:
        assert "least a byte" in str(_said(text))
    else:
        assert abs(size - float(str(number)) * UNITS[unit]) <= 1 + size * 1e-12


@given(st.text(max_size=30))
def test_any_text_is_a_size_or_one_plain_line(text: str) -> None:
    try:
        assert bytes_of(text) >= 1
    except BadInput as said:
        assert said.remedy


def _said(text: str) -> BadInput:
    with pytest.raises(BadInput) as said:
        bytes_of(text)
    return said.value
