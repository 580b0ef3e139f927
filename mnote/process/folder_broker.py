"""The embedded broker: one file a message in the data folder, complete before it can be seen.

Kombu's own transport writes a message in place and takes it through the system's temporary folder: a reader can see
half of it, and a message can end up outside the data folder. Here both steps are a rename inside one folder.
"""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem


class Channel(filesystem.Channel):
    """Messages are `<time>_<id>.<queue>.msg`, read in the order of their names."""

    supports_fanout = False

    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]
        folder = Path(self.data_folder_out)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}"
        draft = folder / f"{name}.draft"
        draft.write_text(json.dumps(payload), encoding="utf-8")
        draft.rename(folder / f"{name}.{queue}.msg")

    def _get(self, queue: str, timeout: float | None = None) -> Any:  # noqa: ARG002 kombu passes it
        folder = Path(self.data_folder_in)
        for name in self._waiting(queue):
            taken = folder / f"{name}.taken"
            try:
                (folder / name).rename(taken)
                payload = json.loads(taken.read_bytes())
            except FileNotFoundError:
                continue  # another worker was faster, or the folder was wiped
            except ValueError:
                taken.unlink(missing_ok=True)  # a full disk cut it short; the sweep sends the job again
                continue
            taken.unlink(missing_ok=True)
            return payload
        raise Empty

    def _waiting(self, queue: str) -> list[str]:
        try:
            names = [path.name for path in Path(self.data_folder_in).iterdir()]
        except FileNotFoundError:
            return []
        return sorted(name for name in names if name.partition(".")[2] == f"{queue}.msg")

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str | None, queue: str) -> None:
        Path(self.control_folder).mkdir(parents=True, exist_ok=True)
        super()._queue_bind(exchange, routing_key, pattern, queue)

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _purge(self, queue: str) -> int:
        names = self._waiting(queue)
        for name in names:
            (Path(self.data_folder_in) / name).unlink(missing_ok=True)
        return len(names)


class Transport(filesystem.Transport):
    Channel = Channel
    driver_type = "folder"
    driver_name = "folder"
