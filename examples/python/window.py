"""A window with a question, an answer that grows, and a Stop button.

    python window.py [PROVIDER/MODEL]

Tk may be used by one thread only, and must never wait. So a worker thread asks, and only puts
events into a queue; the window's thread looks into it several times a second.
"""

from __future__ import annotations

import queue
import sys
import threading
import tkinter
from typing import Any, List, Optional

import jpq

POLL_MS = 30


class Worker:
    """Asks on a thread of its own. ``events`` is read by the window's thread."""

    def __init__(self, session: jpq.Session) -> None:
        self.events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._session = session
        self._thread: Optional[threading.Thread] = None

    def ask(self, question: str) -> None:
        self._thread = threading.Thread(target=self._run, args=(question,))
        self._thread.start()

    def stop(self) -> None:
        """From the window's thread, in the middle of an answer."""
        self._session.cancel()

    def close(self) -> None:
        self._session.close()
        if self._thread is not None:
            self._thread.join()

    def _run(self, question: str) -> None:
        try:
            for event in self._session.stream(question):
                self.events.put(event)
        except jpq.JpqError as error:
            self.events.put(error)


class Window:
    """The window. ``tk`` is the module, so that a test can do without a screen."""

    def __init__(self, worker: Worker, tk: Any = tkinter) -> None:
        self.worker = worker
        self.root = tk.Tk()
        self.root.title("jpq")
        self.question = tk.Entry(self.root, width=70)
        self.question.bind("<Return>", lambda event: self.ask())
        self.stop = tk.Button(self.root, text="Stop", command=worker.stop, state="disabled")
        self.answer = tk.Text(self.root, wrap="word", state="disabled")
        for widget in (self.question, self.stop, self.answer):
            widget.pack(fill="x")
        self.root.protocol("WM_DELETE_WINDOW", self.close)
        self.root.after(POLL_MS, self.poll)

    def ask(self) -> None:
        question = self.question.get()
        self.question.delete(0, "end")
        self.question.config(state="disabled")
        self.stop.config(state="normal")
        self.show(f"> {question}\n")
        self.worker.ask(question)

    def poll(self) -> None:
        """Show what has come; never wait."""
        try:
            while True:
                self.take(self.worker.events.get_nowait())
        except queue.Empty:
            self.root.after(POLL_MS, self.poll)

    def take(self, event: Any) -> None:
        if isinstance(event, jpq.TextChunk):
            self.show(event.text)
        elif isinstance(event, (jpq.Error, jpq.JpqError)):
            self.show(f"\n[{event.message}]")
        if isinstance(event, (jpq.Result, jpq.JpqError)):
            status = "" if getattr(event, "status", "complete") == "complete" else " [stopped]"
            self.show(f"{status}\n\n")
            self.stop.config(state="disabled")
            self.question.config(state="normal")

    def show(self, text: str) -> None:
        self.answer.config(state="normal")
        self.answer.insert("end", text)
        self.answer.see("end")
        self.answer.config(state="disabled")

    def close(self) -> None:
        self.worker.close()
        self.root.destroy()


def main(arguments: List[str]) -> int:
    model = arguments[0] if arguments else None
    try:
        session = jpq.Session(model, store="default")
    except jpq.JpqError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        return 1
    Window(Worker(session)).root.mainloop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
