"""What happens in one run, as events for its journal: told by opencode's events, by OpenHub's frames, and by looking.

Text is taken part by part with its place in the part, so that looking again after a gap adds exactly what is missing.
opencode's deltas name no place: they count only for parts that began on the same connection; other parts are taken when
they are told as a whole. Knows neither database nor clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pageai.panel import tool_drafts
from pageai.panel.drafts import Draft, short
from pageai.panel.frames import Frame
from pageai.panel.opencode import QuestionRequest, Request, info_of, question_request_of, request_of, turn_of
from pageai.panel.scrubbing import Scrub

#: So much text makes an event of its own; less waits for the next flush.
TEXT_PIECE = 600
_MAX_PIECE, _MAX_KNOWN, _MAX_RETRIES = 2_000, 20_000, 20
_ABORTED = "MessageAbortedError"
_REPLIES = {"once": "allowed", "always": "allowed", "reject": "declined"}


@dataclass(slots=True)
class _Text:
    """The text of one part: `taken` characters are in the journal, `rest` is known beyond them."""

    message_id: str
    taken: int = 0
    rest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What opencode has of a session: its messages, what of it waits for the person, whether its agent works."""

    messages: Sequence[Mapping[str, Any]] = ()
    requests: Sequence[Request] = ()
    questions: Sequence[QuestionRequest] = ()
    is_busy: bool = False


class Scribe:
    """Keeps one run's place. `anchor` is opencode's message of the question, "" until it is known; `open_requests` what
    waits for the person, by id its kind; `dropped` how many events were too many."""

    def __init__(self, scrub: Scrub, *, session_id: str, directory: str, anchor: str = "") -> None:
        self.anchor = anchor
        self.error = ""
        self.dropped = 0
        self.was_aborted = self.is_idle = self.is_finished = False
        self.open_requests: dict[str, str] = {}
        self._scrub = scrub
        self._session_id = session_id
        self._directory = directory
        self._texts: dict[str, _Text] = {}
        self._roles: dict[str, str] = {}
        self._streamed: set[str] = set()
        self._told: set[str] = set()

    def restore(self, *, taken: Mapping[str, tuple[str, int]], told: Sequence[str]) -> None:
        """Go on with a journal that was written before: by part, its message and the characters taken; and keys."""
        self._texts = {part: _Text(message_id=message, taken=count) for part, (message, count) in taken.items()}
        self._told = set(told)
        for kind, asked, answered in _REQUESTS:
            named = {key.removeprefix(asked) for key in told if key.startswith(asked)}
            gone = {key.removeprefix(answered) for key in told if key.startswith(answered)}
            self.open_requests |= dict.fromkeys(named - gone, kind)

    def reconnected(self) -> None:
        """The events had a gap."""
        self._streamed.clear()

    def hear(self, event: Frame) -> Iterator[Draft]:
        """Take one of opencode's events."""
        facts = event.data.get("properties")
        if isinstance(facts, dict) and facts.get("sessionID") == self._session_id:
            yield from self._once(self._heard(event.type, facts))

    def read(self, frame: Frame) -> Iterator[Draft]:
        """Take one of OpenHub's frames. What the agent says and does, opencode tells better."""
        match frame.type:
            case "aborted":
                self.was_aborted = True
            case "error":
                self.error = self.error or self._scrub.text(short(frame.text("error"), 300)) or "openhub"
            case "model_failover":
                facts = {name: frame.data.get(name) for name in ("original_model", "fallback_model")}
                yield Draft(kind="session.info.updated", payload={"state": "model"} | facts, source="openhub")

    def look(self, snapshot: Snapshot) -> Iterator[Draft]:
        """Take everything that opencode has of this turn now: what the journal lacks of it follows."""
        turn = turn_of(snapshot.messages, self.anchor)
        for message in turn:
            self._meet(info_of(message))
        yield from self._once(self._looked(turn, snapshot))

    def flush(self, *, is_all: bool = False) -> Iterator[Draft]:
        """Give the text that waits; `is_all` when no more can follow it."""
        for part_id in list(self._texts):
            yield from self._pieces(part_id, is_all=is_all)

    @property
    def waiting_text(self) -> int:
        """How many characters wait for the next flush."""
        return sum(len(each.rest) for each in self._texts.values())

    def _heard(self, kind: str, facts: Mapping[str, Any]) -> Iterator[Draft]:
        match kind:
            case "message.updated" | "message.part.updated" | "message.part.delta":
                yield from self._told_of_message(kind, facts)
            case "permission.asked":
                yield from self._asked(request_of(facts))
            case "question.asked":
                yield from self._questioned(question_request_of(facts))
            case "permission.replied" | "question.replied" | "question.rejected":
                yield self._answered(kind, facts)
            case "todo.updated":
                yield Draft(kind="plan.updated", payload={"items": self._scrub.value(_todos(facts.get("todos")))})
            case "session.error":
                yield from self._failed(_mapping(facts.get("error")))
            case "session.idle":
                self.is_idle = True
            case "session.status":
                yield from self._status(_mapping(facts.get("status")))

    def _told_of_message(self, kind: str, facts: Mapping[str, Any]) -> Iterator[Draft]:
        if kind == "message.updated":
            self._meet(_mapping(facts.get("info")))
        elif kind == "message.part.updated":
            yield from self._part(_mapping(facts.get("part")), is_live=True)
        else:
            yield from self._delta(facts)

    def _meet(self, info: Mapping[str, Any]) -> None:
        """Note who wrote a message, and how the newest answer stands."""
        message_id, role = info.get("id"), info.get("role")
        if not isinstance(message_id, str) or not isinstance(role, str):
            return
        self._roles[message_id] = role
        if role == "user":
            self.anchor = self.anchor or message_id
            return
        self.is_finished = bool(_mapping(info.get("time")).get("completed")) and info.get("finish") != "tool-calls"
        if error := _mapping(info.get("error")):
            self._note_error(error)

    def _part(self, part: Mapping[str, Any], *, is_live: bool) -> Iterator[Draft]:
        if part.get("type") == "tool":
            found = tool_drafts.drafts_of(part, self._directory)
            yield from self.flush()  # what was said before it
            yield from (_cleaned(each, self._scrub) for each in found)
        elif part.get("type") == "text" and self._roles.get(str(part.get("messageID"))) == "assistant":
            yield from self._whole(part, is_live=is_live)

    def _whole(self, part: Mapping[str, Any], *, is_live: bool) -> Iterator[Draft]:
        part_id, text = str(part.get("id", "")), part.get("text")
        if not part_id or not isinstance(text, str) or part.get("synthetic") is True:
            return
        known = self._text_of(part_id, str(part["messageID"]))
        have = known.taken + len(known.rest)
        known.rest += text[have:]
        if is_live:
            self._streamed.add(part_id)
        if known.rest:
            yield from self._pieces(part_id, is_all=bool(_mapping(part.get("time")).get("end")))

    def _delta(self, facts: Mapping[str, Any]) -> Iterator[Draft]:
        part_id, delta = str(facts.get("partID", "")), facts.get("delta")
        if part_id in self._streamed and facts.get("field") == "text" and isinstance(delta, str):
            known = self._texts[part_id]
            known.rest += delta
            if len(known.rest) >= TEXT_PIECE:
                yield from self._pieces(part_id)

    def _text_of(self, part_id: str, message_id: str) -> _Text:
        return self._texts.setdefault(part_id, _Text(message_id=message_id))

    def _pieces(self, part_id: str, *, is_all: bool = False) -> Iterator[Draft]:
        known = self._texts[part_id]
        sure = len(known.rest) if is_all else self._scrub.cut(known.rest)
        while sure > 0:
            piece = known.rest[: min(sure, _MAX_PIECE)]
            length = len(piece) if len(piece) == sure else (self._scrub.cut(piece) or len(piece))
            yield self._said(part_id, known, piece[:length])
            known.taken, known.rest, sure = known.taken + length, known.rest[length:], sure - length

    def _said(self, part_id: str, known: _Text, piece: str) -> Draft:
        payload = {"messageId": known.message_id, "partId": part_id, "offset": known.taken, "length": len(piece)}
        key = f"text:{part_id}:{known.taken}"[:200]
        return Draft(kind="message.delta", payload=payload | {"text": self._scrub.text(piece)}, key=key)

    def _asked(self, request: Request) -> Iterator[Draft]:
        if not request.id or request.session_id != self._session_id:
            return
        payload = {
            "requestId": request.id,
            "permission": short(request.permission, 80),
            "path": short(self._scrub.text(request.path), 500),
            "about": short(self._scrub.text(request.command or ", ".join(request.patterns[:10])), 500),
        }
        yield Draft(kind="permission.requested", payload=payload, key=f"permission.requested:{request.id}")

    def _questioned(self, request: QuestionRequest) -> Iterator[Draft]:
        if not request.id or request.session_id != self._session_id:
            return
        listed = [
            {
                "text": short(each.text or each.header, 500),
                "choices": [short(one.label, 100) for one in each.choices[:20]],
            }
            for each in request.questions[:10]
        ]
        payload = {"requestId": request.id, "questions": self._scrub.value(listed)}
        yield Draft(kind="question.asked", payload=payload, key=f"question.asked:{request.id}")

    def _answered(self, kind: str, facts: Mapping[str, Any]) -> Draft:
        wanted = short(facts.get("requestID"), 150)
        if kind == "permission.replied":
            return answer("permission", wanted, _REPLIES.get(str(facts.get("reply")), "answered"))
        is_dismissed = kind == "question.rejected" or facts.get("reply") == "reject"
        return answer("question", wanted, "dismissed" if is_dismissed else "answered")

    def _failed(self, error: Mapping[str, Any]) -> Iterator[Draft]:
        self._note_error(error)
        if not self.was_aborted:
            payload = {"name": short(error.get("name"), 80), "message": self.error}
            yield Draft(kind="error", payload=payload, key=f"error:{payload['name']}:{self.error[:80]}")

    def _note_error(self, error: Mapping[str, Any]) -> None:
        if error.get("name") == _ABORTED:
            self.was_aborted = True
        else:
            said = short(_mapping(error.get("data")).get("message"), 300) or short(error.get("name"), 80)
            self.error = self.error or self._scrub.text(said) or "error"

    def _status(self, status: Mapping[str, Any]) -> Iterator[Draft]:
        if status.get("type") == "busy":
            self.is_idle = False
        attempt = status.get("attempt")
        if status.get("type") != "retry" or not isinstance(attempt, int) or attempt > _MAX_RETRIES:
            return
        payload = {"state": "retry", "attempt": attempt, "message": self._scrub.text(short(status.get("message"), 300))}
        yield Draft(kind="session.info.updated", payload=payload, key=f"retry:{self.anchor}:{attempt}")

    def _looked(self, turn: Sequence[Mapping[str, Any]], snapshot: Snapshot) -> Iterator[Draft]:
        for message in turn:
            listed = message.get("parts")
            for part in listed if isinstance(listed, list) else ():
                yield from self._part(_mapping(part), is_live=False)
        for request in snapshot.requests:
            yield from self._asked(request)
        for question in snapshot.questions:
            yield from self._questioned(question)
        waiting = {each.id for each in snapshot.requests} | {each.id for each in snapshot.questions}
        for gone in [each for each in self.open_requests if each not in waiting]:
            yield answer(self.open_requests[gone], gone, "gone")

    def _once(self, drafts: Iterator[Draft]) -> Iterator[Draft]:
        """Leave out what was told before, and keep account of what waits."""
        for each in drafts:
            if each.kind == "message.delta" or not each.key:
                yield each
            elif len(self._told) >= _MAX_KNOWN:
                self.dropped += 1
            elif each.key not in self._told:
                self._told.add(each.key)
                self._account(each)
                yield each

    def _account(self, draft: Draft) -> None:
        wanted = str(draft.payload.get("requestId", ""))
        if draft.kind in {"permission.requested", "question.asked"}:
            kind = draft.kind.partition(".")[0]
            if f"{kind}.answered:{wanted}" not in self._told:
                self.open_requests[wanted] = kind
        elif draft.kind in {"permission.answered", "question.answered"}:
            self.open_requests.pop(wanted, None)


_REQUESTS = (
    ("permission", "permission.requested:", "permission.answered:"),
    ("question", "question.asked:", "question.answered:"),
)


def answer(kind: str, request_id: str, how: str, *, source: str = "opencode") -> Draft:
    """Make the event of an answer to a permission or question request: allowed, declined, answered, dismissed, gone."""
    payload = {"requestId": request_id, "answer": how}
    return Draft(kind=f"{kind}.answered", payload=payload, source=source, key=f"{kind}.answered:{request_id}"[:200])


def _cleaned(draft: Draft, scrub: Scrub) -> Draft:
    return Draft(kind=draft.kind, payload=scrub.value(dict(draft.payload)), source=draft.source, key=draft.key)


def _todos(listed: Any) -> list[dict[str, str]]:
    items = [_mapping(each) for each in listed[:50]] if isinstance(listed, list) else []
    return [{"text": short(each.get("content"), 200), "state": short(each.get("status"), 20)} for each in items]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
