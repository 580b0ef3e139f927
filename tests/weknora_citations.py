"""Check citations against a stub of a WeKnora server: `python -m tests.weknora_citations FOLDER [--edits] [--limit N]`.

The stub splits texts as recorded passages of a real server show; against a real one run `check_citations` itself.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.stubs.weknora import weknora_stub

_MANAGE = Path(__file__).resolve().parent.parent / "manage.py"


def main(arguments: list[str]) -> int:
    with weknora_stub("standard") as stub:
        environment = os.environ | {
            "MNOTE_TEST_WEKNORA_URL": stub.url,
            "MNOTE_TEST_WEKNORA_KEY": stub.key,
            "MNOTE_TEST_WEKNORA_MODEL": stub.model.id,
            # The stub ranks in plain Python.
            "MNOTE_SEARCH_SECONDS": "120",
        }
        command = [sys.executable, str(_MANAGE), "check_citations", "--provider", "weknora", *arguments]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
