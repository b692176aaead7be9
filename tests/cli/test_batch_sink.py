"""The file that a batch goes on with, and the lines that it reads."""

from __future__ import annotations

import io
import json
import os
import stat
from typing import Any, List

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jpq.cli.batch import lines as batch_lines
from jpq.cli.batch.lines import Line, count_lines, id_of, parse_line, read_lines, record_line
from jpq.cli.batch.sink import Answered, OutputBusyError, open_sink
from jpq.errors import BadInputError, WriteError


def record(number: int, code: int = 0, id: Any = None, text: str = "x") -> bytes:
    return record_line(Line(number, b""), id, {"text": text, "exit_code": code})


def opened(path: Any, again: bool = False, told: Any = None) -> Any:
    return open_sink(str(path), again, (told if told is not None else []).append)


def test_a_new_file_is_made_and_lines_are_added(tmp_path: Any) -> None:
    path = tmp_path / "out.jsonl"
    sink = opened(path)
    sink.write(record(1))
    sink.write(record(2, 65))
    sink.close()
    sink = opened(path)
    assert sink.answered.count == 2 and sink.answered.first_failure() == (2, 65)
    assert sink.answered.has(Line(1, b'"a"')) and not sink.answered.has(Line(3, b'"a"'))
    sink.write(record(3))
    sink.close()
    assert path.read_bytes() == record(1) + record(2, 65) + record(3)


@given(st.lists(st.text(max_size=20), max_size=5), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_was_cut_the_whole_lines_are_kept(
    tmp_path: Any, texts: List[str], data: Any
) -> None:
    lines = [record(number, text=text) for number, text in enumerate(texts, 1)]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    path = tmp_path / "out.jsonl"
    path.write_bytes(whole[:cut])
    kept = whole[: whole.rfind(b"\n", 0, cut) + 1]
    told: List[str] = []
    sink = opened(path, told=told)
    sink.close()
    assert path.read_bytes() == kept
    assert sink.answered.count == kept.count(b"\n")
    assert len(told) == (cut != len(kept))


def test_lines_of_others_are_kept_and_count_for_nothing(tmp_path: Any) -> None:
    path = tmp_path / "out.jsonl"
    others = b'not json\n{"line": "1"}\n{"line": 1, "exit_code": true}\n[1]\n\xff\n'
    path.write_bytes(others + record(4))
    sink = opened(path)
    sink.close()
    assert sink.answered.count == 1 and path.read_bytes() == others + record(4)


def test_failures_are_taken_out_for_another_attempt(tmp_path: Any) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(record(1) + record(2, 75) + b"comment\n" + record(3) + record(4, 69))
    path.chmod(0o640)
    sink = opened(path, again=True)
    assert [n for n in range(1, 5) if sink.answered.has(Line(n, b'"x"'))] == [1, 3]
    sink.write(record(2))
    sink.close()
    assert path.read_bytes() == record(1) + b"comment\n" + record(3) + record(2)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out.jsonl"]


@pytest.mark.parametrize("again", [False, True])
def test_one_run_at_a_time(tmp_path: Any, again: bool) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(record(1, 75))
    sink = opened(path, again=again)
    with pytest.raises(OutputBusyError) as caught:
        opened(path)
    assert int(caught.value.exit_code) == 75
    sink.close()
    opened(path).close()


def test_a_file_that_cannot_be_written(tmp_path: Any) -> None:
    with pytest.raises(WriteError):
        opened(tmp_path / "no" / "out.jsonl")
    with pytest.raises(WriteError):
        opened(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_what_does_not_fit_is_taken_back(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl"
    sink = opened(path)
    sink.write(record(1))
    write = os.write

    def full(descriptor: int, data: Any) -> int:
        if len(data) < 10:
            raise OSError(28, "No space left on device")
        return write(descriptor, bytes(data)[: len(data) // 2])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError):
        sink.write(record(2))
    monkeypatch.undo()
    assert path.read_bytes() == record(1)
    sink.write(record(3))
    sink.close()
    assert path.read_bytes() == record(1) + record(3)


def test_an_answer_of_another_batch_is_noticed() -> None:
    answered = Answered()
    answered.add(1, 0, "a")
    answered.add(2, 0, None)
    assert answered.has(Line(1, b'{"id": "a", "prompt": "x"}'))
    assert answered.has(Line(2, b'"x"'))
    for line in (Line(1, b'{"id": "b", "prompt": "x"}'), Line(2, b'{"id": 1}'), Line(1, b'"x"')):
        with pytest.raises(BadInputError, match="a different id"):
            answered.has(line)


@given(st.dictionaries(st.integers(1, 300), st.integers(0, 255), max_size=30))
def test_answered_remembers_lines_and_the_first_failure(codes: Any) -> None:
    answered = Answered()
    for number, code in codes.items():
        answered.add(number, code, None)
    assert answered.count == len(codes)
    assert {n for n in range(1, 310) if answered.has(Line(n, b'"x"'))} == set(codes)
    failures = {n: min(c, 254) for n, c in codes.items() if c}
    first = min(failures, default=None)
    assert answered.first_failure() == (None if first is None else (first, failures[first]))


@given(st.integers(1, 7), st.lists(st.sampled_from(["", " ", "a", "b c"]), max_size=30))
def test_shards_part_the_lines_and_leave_none_out(parts: int, texts: List[str]) -> None:
    data = "".join(text + "\n" for text in texts).encode()
    whole = list(read_lines(io.BytesIO(data), None))
    shards = [list(read_lines(io.BytesIO(data), (part, parts))) for part in range(1, parts + 1)]
    assert sorted(line for shard in shards for line in shard) == whole
    assert [line.number for line in whole] == [n for n, text in enumerate(texts, 1) if text.strip()]


def test_a_file_without_a_last_line_end_and_its_count(tmp_path: Any) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'\xef\xbb\xbf"a"\r\n\r\n"b"')
    lines = list(read_lines(io.BytesIO(path.read_bytes()), None))
    assert [parse_line(line).prompt for line in lines] == ["a", "b"]
    assert count_lines(str(path), None) == 2 and count_lines(str(path), (1, 2)) == 1


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_lines, "_LONGEST_BYTES", 1 << 20)
    with open("/dev/zero", "rb") as zero, pytest.raises(BadInputError, match="longer than 1 MiB"):
        next(read_lines(zero, None))


def job(**fields: Any) -> Any:
    return parse_line(Line(3, json.dumps(fields).encode()))


def test_all_fields_of_a_line() -> None:
    assert job(prompt="p", id=4) == job(prompt="p")
    full = job(
        id="a",
        prompt="p",
        system="s",
        model="x/y",
        options={"temperature": 0},
        attach="a.txt",
        schema={"type": "object"},
    )
    assert (full.system, full.model, full.options) == ("s", "x/y", {"temperature": 0})
    assert (full.attach, full.schema) == (("a.txt",), {"type": "object"})
    assert job(prompt="p", system=None).system is None
    assert job(attach=["a", "b"]).attach == ("a", "b")
    assert id_of(Line(1, b'{"id": "a"}')) == "a" and id_of(Line(1, b'{"id": true}')) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense", "neither a JSON string"),
        ("3", "neither a JSON string"),
        ('"  "', "no prompt"),
        ("{}", "no prompt"),
        ('{"prompt": 3}', "'prompt' has the wrong type"),
        ('{"prompt": "x", "id": true}', "'id' has the wrong type"),
        ('{"prompt": "x", "promt": "y"}', "no field 'promt'"),
        ('{"prompt": "x", "attach": ["-"]}', "paths and URLs"),
        ('{"prompt": "x", "attach": [3]}', "paths and URLs"),
        ('{"prompt": "x", "schema": "a", "schema_multi": "a"}', "exclude"),
        ('{"prompt": NaN}', "neither a JSON string"),
        ("[" * 100_000, "neither a JSON string"),
    ],
)
def test_what_is_wrong_with_a_line(text: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words) as caught:
        parse_line(Line(12, text.encode()))
    assert caught.value.where == "line 12"


@given(st.binary(max_size=40))
def test_any_bytes_are_a_job_or_an_error(data: bytes) -> None:
    try:
        parse_line(Line(1, data))
    except BadInputError:
        pass
    id_of(Line(1, data))


def test_a_record_is_one_line_of_ascii_that_begins_with_its_number() -> None:
    line = record_line(Line(7, b""), "ü", {"text": "a\nb\u2028", "n": float("nan")})
    assert line.startswith(b'{"line": 7, "id": "\\u00fc"') and line.count(b"\n") == 1
    assert json.loads(line)["text"] == "a\nb\u2028" and json.loads(line)["n"] is None


@pytest.mark.parametrize("rest", [b"a note", b'{"name": 1', b"\0\0note"])
def test_what_is_somebodys_is_not_dropped(rest: bytes, tmp_path: Any) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(record(1) + rest)
    with pytest.raises(BadInputError, match="not an answer of a batch"):
        opened(path)
    assert path.read_bytes() == record(1) + rest


@pytest.mark.parametrize("rest", [b"\0" * 100, b'{"line": 2, "id"\0\0\0', b"{", b'{"line": 2'])
def test_what_a_power_cut_leaves_is_dropped(rest: bytes, tmp_path: Any) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(record(1) + rest)
    opened(path).close()
    assert path.read_bytes() == record(1)


def test_a_number_that_no_line_has_takes_no_memory(tmp_path: Any) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(record(10**11) + record(1))
    sink = opened(path)
    sink.close()
    assert sink.answered.count == 1
