"""Tally: what the cycles of a turn add up to."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, Optional

from jpq.conversation.event import TurnEnd
from jpq.events.transcript import ChatResponse
from jpq.events.usage import Usage, total_usage
from jpq.turn.ending import COMPLETE, Ending, TurnOutcome, of_response, or_whole

if TYPE_CHECKING:
    from jpq.turn.demand import Demand


class Tally:
    """Texts, usage, model and finish reason of a turn's attempts. Main thread."""

    def __init__(self) -> None:
        self._texts: List[str] = []
        self._is_whole = False
        self.goes_on_from = ""  # the stored text that the attempt goes on with
        self.usages: List[Usage] = []  # of each attempt
        self.served: Optional[str] = None
        self.finish_reason: Optional[str] = None
        self.asked_again = False  # because an answer was empty

    def add(self, response: ChatResponse, continues: bool) -> None:
        """Count an attempt; with ``continues`` its text goes on where the last one was cut."""
        if continues and self._texts:
            self._texts[-1] += response.text
        else:
            self._texts.append(response.text)
        self.usages.append(response.usage)
        self.served = response.model
        self.finish_reason = response.stop_reason
        may_be_whole = response.is_complete and not response.tool_calls
        reached = of_response(response, self.last_text) if may_be_whole else None
        self._is_whole = reached is not None and reached.status == COMPLETE

    @property
    def text(self) -> str:
        """The turn's answer; the texts of several cycles are a blank line apart, and blank
        ones, which are asked for again, are no part of it."""
        return "\n\n".join(text for text in self._texts if text.strip())

    @property
    def last_text(self) -> str:
        """The last cycle's answer, with what earlier attempts showed of it, or earlier runs."""
        text = self._texts[-1] if self._texts else ""
        return text if text.strip() else self.goes_on_from + text

    @property
    def usage(self) -> Usage:
        """The turn's tokens."""
        return total_usage(self.usages)

    @property
    def last_usage(self) -> Usage:
        """The last attempt's tokens."""
        return self.usages[-1] if self.usages else Usage()

    def settled(self, ending: Optional[Ending], demand: Optional[Demand]) -> Ending:
        """``ending``, unless that stopped a turn whose answer the provider had called whole.

        An answer of which something is demanded is not whole before it has been judged.
        """
        assert ending is not None
        return or_whole(ending) if self._is_whole and demand is None else ending

    def turn_end(self, status: str) -> TurnEnd:
        """The turn's end as it is stored."""
        return TurnEnd(status, self.finish_reason, self.usage.to_json(), self.served)

    def outcome(
        self, ending: Ending, signum: Optional[int], demand: Optional[Demand] = None
    ) -> TurnOutcome:
        """The turn as it ended; ``signum`` is the signal that ended it.

        Where something was demanded of the answer, its text is only the one judged last.
        """
        judged = None if demand is None else demand.text
        return TurnOutcome(
            ending=ending,
            finish_reason=self.finish_reason,
            text=self.text if judged is None else judged,
            usage=self.usage,
            model=self.served,
            signum=signum,
            extra={} if demand is None else demand.fields,
        )
