"""The socket behind ``jpq ask``: who may ask, and what comes back."""

from __future__ import annotations

import multiprocessing.connection
import os
from typing import Iterator, List, Tuple

import pytest

from jpq.tools.definition import Question, QuestionFailed
from jpq.tools.inquiry import InquiryServer, put_question

seen: List[Tuple[str, Question]] = []


def echo(call: str, question: Question) -> str:
    seen.append((call, question))
    if question.text == "fail":
        raise QuestionFailed("nobody is here", late=True)
    return question.text.upper()


@pytest.fixture
def server() -> Iterator[InquiryServer]:
    seen.clear()
    opened = InquiryServer(echo)
    yield opened
    opened.close()


def test_an_answer_comes_back_to_the_call_that_asked(server: InquiryServer) -> None:
    question = Question("who?", "choice", ("a", "b"), 5.0)
    assert put_question(server.address("call-1"), question) == "WHO?"
    assert seen == [("call-1", question)]


def test_a_failure_comes_back_as_one(server: InquiryServer) -> None:
    with pytest.raises(QuestionFailed, match="nobody is here") as failed:
        put_question(server.address("call-1"), Question("fail"))
    assert failed.value.late


def test_a_wrong_secret_or_call_is_no_way_in(server: InquiryServer) -> None:
    secret, word, path = server.address("call-1").split(":", 2)
    for address in (f"{'0' * 32}:{word}:{path}", f"{secret}:0000:{path}", "nonsense"):
        with pytest.raises(QuestionFailed):
            put_question(address, Question("who?"))
    assert not seen
    assert put_question(server.address("call-2"), Question("still there")) == "STILL THERE"


def test_each_call_has_a_word_that_the_others_cannot_guess(server: InquiryServer) -> None:
    words = {server.address(f"call-{n}").split(":")[1] for n in range(9)}
    assert len(words) == 9
    other = InquiryServer(echo)
    assert other.address("call-1").split(":")[1] not in words
    other.close()


def test_nothing_that_is_sent_is_unpickled(server: InquiryServer) -> None:
    secret, _, path = server.address("call-1").split(":", 2)
    with multiprocessing.connection.Client(path, authkey=bytes.fromhex(secret)) as client:
        client.send({"call": "x"})  # pickled
        assert b"cannot be understood" in client.recv_bytes()


def test_only_this_user_can_reach_it_and_nothing_is_left() -> None:
    server = InquiryServer(echo)
    path = server.address("call-1").split(":", 2)[2]
    folder = os.path.dirname(path)
    assert os.stat(folder).st_mode & 0o777 == 0o700
    server.close()
    assert not os.path.exists(folder)
    with pytest.raises(QuestionFailed, match="no longer waits"):
        put_question(f"{'0' * 32}:word:{path}", Question("late"))
