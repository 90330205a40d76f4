"""The progress of long work: a line in a terminal, a line that changes in a notebook, nothing in a pipe."""

from __future__ import annotations

import html
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from ._figures import probability

Event = dict[str, Any]
#: The events that show how far a step is.
_CHANGING = ("reading", "minibatch", "progress")
#: What takes less time, in seconds, shows no progress.
_SOON = 1.0


def for_people(wanted: bool | Callable[[Event], object] | None) -> Callable[[Event], object] | None:
    """What shows the events: the caller's own function, or one that suits where this runs."""
    if callable(wanted):
        return wanted
    if wanted is False:
        return None
    if _in_notebook():
        return Notebook()
    return Terminal() if wanted or sys.stderr.isatty() else None


class Watch:
    """What is called with the events of a function: it shows progress, and makes warnings Python's."""

    def __init__(self, wanted: bool | Callable[[Event], object] | None) -> None:
        self._show = for_people(wanted)

    def __call__(self, event: Event) -> None:
        if event["event"] == "warning":
            # To the caller of the public function.
            warnings.warn(event["text"], stacklevel=3)
        elif self._show is not None:
            self._show(event)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._show, Terminal | Notebook):
            self._show.close()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def line(event: Event) -> str | None:
    """An event that is worth a line of its own."""
    match event["event"]:
        case "note":
            return str(event["text"])
        case "log":
            text = f"{event['pairs']:,} pairs, {event['trigrams']:,} trigrams, {event['parameters']:,} weights"
            left_out = event["skipped"] + event["without_words"]
            return text + (f"; {left_out:,} left out" if left_out else "")
        case "held_out" if event["queries"]:
            return f"held out for evaluation: {event['queries']:,} of {event['of_queries']:,} queries"
        case "resumed":
            return f"resumed in epoch {event['epoch']}"
        case "epoch":
            text = f"epoch {event['epoch']}/{event['epochs']}  loss {event['loss']:.4f}  {event['seconds']:.1f} s"
            if "validation" in event:
                ndcg = " ".join(f"{event['validation'][f'ndcg@{k}']:.3f}" for k in (1, 3, 10))
                text += f"  NDCG@1/3/10 {ndcg}"
            elif "held_out" in event:
                text += f"  held out: NDCG@10 {event['held_out']['ndcg@10']:.3f}"
            return text
        case "stopped":
            return f"stopped early; the best epoch is {event['best']}"
        case "judged":
            return "\n".join(
                f"{test['a']} − {test['b']}: NDCG@10 {test['difference']:+.3f}, p {probability(test['holm'])}"
                for test in event["tests"]
            )
        case "all_clicks":
            number = event["epochs"]
            shown = f"{number} epoch{'' if number == 1 else 's'}"
            return f"learning all clicks now, also those held out, for {shown} (the best number)"
    return None


def _share(event: Event) -> tuple[str, float | None]:
    """How far it is: in words, and as a share if the end is known."""
    if event["event"] == "reading":
        return f"reading: {event['pairs']:,} pairs", None
    if event["event"] == "progress":
        of = "" if event["of"] is None else f" of {event['of']:,}"
        return f"{event['step']}: {event['done']:,}{of} {event['unit']}", event["done"] / event["of"] if event["of"] else None
    share = event["minibatch"] / event["minibatches"]
    return f"epoch {event['epoch']}/{event['epochs']}  {share:4.0%}  loss {event['loss']:.4f}", share


class Terminal:
    """Lines on standard error, the last of which changes."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def __call__(self, event: Event) -> None:
        if event["event"] in _CHANGING:
            if time.monotonic() - self._begun > _SOON:
                sys.stderr.write(f"\r\x1b[K{_share(event)[0]}")
        elif (text := line(event)) is not None:
            sys.stderr.write(f"\r\x1b[K{text}\n")
        sys.stderr.flush()


    def close(self) -> None:
        """Removes the line that changes."""
        if time.monotonic() - self._begun > _SOON:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Notebook:
    """A part of a notebook's output that changes. It is there from the first line on, or as soon as the work takes long."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._lines: list[str] = []
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        bar = ""
        if event["event"] in _CHANGING:
            if self._handle is None and time.monotonic() - self._begun <= _SOON:
                return
            text, share = _share(event)
            value = "" if share is None else f' value="{share:.4f}"'
            bar = f"<br><progress{value}></progress> {html.escape(text)}"
        elif (text_or_none := line(event)) is not None:
            self._lines.append(html.escape(text_or_none))
        else:
            return
        self._show(bar)

    def close(self) -> None:
        """Removes the bar."""
        if self._handle is not None:
            self._show("")

    def _show(self, bar: str) -> None:
        from IPython.display import HTML, display

        shown: Callable[[str], Any] = HTML
        part = shown(f"<pre style='margin:0'>{'<br>'.join(self._lines)}</pre>{bar}")
        if self._handle is None:
            self._handle = display(part, display_id=True)
        else:
            self._handle.update(part)
