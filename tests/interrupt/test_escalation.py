"""Escalation: what a press asks for, given those before it."""

from __future__ import annotations

from jpq.interrupt.escalation import AT_ONCE, END, MENU, Escalation


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_three_presses_in_a_row() -> None:
    escalation = Escalation(2.0, Clock())
    assert [escalation.press() for _ in range(4)] == [MENU, END, AT_ONCE, AT_ONCE]


def test_a_later_press_is_a_first_one_again() -> None:
    clock = Clock()
    escalation = Escalation(2.0, clock)
    for _ in range(3):
        assert escalation.press() == MENU
        escalation.attended()
        clock.now += 2.0


def test_within_the_cooldown_it_asks_for_the_end() -> None:
    clock = Clock()
    escalation = Escalation(2.0, clock)
    escalation.press()
    escalation.attended()
    clock.now += 1.9
    assert escalation.press() == END


def test_in_a_menu_it_asks_for_the_end_however_late() -> None:
    clock = Clock()
    escalation = Escalation(2.0, clock)
    escalation.press()
    escalation.attended()
    escalation.in_menu = True
    clock.now += 60.0
    assert [escalation.press(), escalation.press()] == [END, AT_ONCE]


def test_a_press_that_nobody_attended_to_is_not_forgotten() -> None:
    clock = Clock()
    escalation = Escalation(2.0, clock)
    escalation.press()
    clock.now += 60.0
    assert escalation.press() == END


def test_after_a_choice_to_go_on_the_next_press_opens_the_menu() -> None:
    escalation = Escalation(2.0, Clock())
    escalation.press()
    escalation.attended()
    escalation.reset()
    assert escalation.press() == MENU


def test_a_choice_takes_back_no_end() -> None:
    escalation = Escalation(2.0, Clock())
    escalation.end()
    escalation.reset()
    assert escalation.press() == AT_ONCE


def test_without_a_cooldown_every_press_is_a_first_one() -> None:
    escalation = Escalation(0.0, Clock())
    for _ in range(3):
        assert escalation.press() == MENU
        escalation.attended()
