"""Records of the spool: what was written is read, what was cut off or changed is not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.click.spool_format import HEADER, MAX_BODY_BYTES, SpooledClick, decode, encode

CLICKS = st.lists(
    st.builds(SpooledClick, st.integers(-(2**63), 2**63 - 1), st.binary(max_size=70), st.binary(max_size=200)),
    min_size=1,
    max_size=5,
)


def _read(data: bytes) -> list[SpooledClick]:
    return [click for _, click in decode(data)]


@given(CLICKS)
def test_what_was_written_is_read_in_order(clicks: list[SpooledClick]) -> None:
    data = b"".join(map(encode, clicks))
    found = list(decode(data))
    assert [click for _, click in found] == clicks
    assert found[-1][0] == len(data)


@given(CLICKS, st.data())
def test_a_torn_tail_ends_at_the_last_whole_record(clicks: list[SpooledClick], data: st.DataObject) -> None:
    """R6: whatever byte it was cut at, every record before it is there and none is made up."""
    records = [encode(click) for click in clicks]
    whole = b"".join(records)
    cut = data.draw(st.integers(0, len(whole) - 1))
    ends = [sum(map(len, records[: n + 1])) for n in range(len(records))]
    assert _read(whole[:cut]) == clicks[: sum(end <= cut for end in ends)]


@given(CLICKS, st.data())
def test_a_changed_bit_is_seen(clicks: list[SpooledClick], data: st.DataObject) -> None:
    first = encode(clicks[0])
    at, bit = data.draw(st.integers(0, len(first) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(b"".join(map(encode, clicks)))
    changed[at] ^= 1 << bit
    assert _read(bytes(changed)) == []


def test_a_length_beyond_any_click_is_no_length() -> None:
    record = HEADER.pack(MAX_BODY_BYTES + 1, 0, 0, 0)
    assert _read(record + bytes(MAX_BODY_BYTES + 1)) == []


def test_zeros_are_no_record() -> None:
    """What a file system leaves of a block that it had not written."""
    assert _read(bytes(4096)) == []
