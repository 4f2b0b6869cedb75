import pytest

from subscape.exploration.journal import Journal


def test_decisions_survive_and_are_not_made_twice(tmp_path):
    path = tmp_path / "decisions.jsonl"
    assert Journal(path).decide("go", lambda: True) is True
    again = Journal(path)
    assert "go" in again and "stop" not in again
    assert again.decide("go", lambda: pytest.fail("made twice")) is True
    assert again.decide("roots", lambda: ("a", "b")) == ["a", "b"]
    assert Journal(path).decide("roots", list) == ["a", "b"]


def test_a_line_that_was_being_written_never_happened(tmp_path):
    path = tmp_path / "decisions.jsonl"
    Journal(path).decide("go", lambda: 1)
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole + whole[:cut])
        journal = Journal(path)
        assert journal.decide("go", lambda: 2) == 1
        assert path.read_bytes() == whole
    path.write_bytes(b"nonsense\n" + whole)
    with pytest.raises(ValueError, match="line 1 of"):
        Journal(path)
