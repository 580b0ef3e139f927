"""What the broker of the tests holds: the job ids that were rung for."""

from __future__ import annotations

from queue import Empty

from mnote.celery import app


def rung(queue: str = "interactive") -> list[str]:
    """Take every message of a queue and return the job ids in them, in order."""
    found = []
    with app.connection_for_read() as connection, connection.SimpleQueue(queue, no_ack=True) as messages:
        while True:
            try:
                message = messages.get_nowait()
            except Empty:
                return found
            assert message.headers["task"] == "mnote.run_job"
            found.append(message.payload[0][0])
