"""Measure MNote on this machine: `python -m bench NAME|all [--json] [--folder DIR]`."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

NAMES = ("scan", "index", "save", "search", "pages", "proxy", "outside")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=[*NAMES, "all"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", type=Path, help="documents to index (default: the sample that comes with MNote)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnote-bench-") as scratch:
        os.environ["MNOTE_DATA_DIR"] = str(Path(scratch) / "data")
        os.environ["DJANGO_SETTINGS_MODULE"] = "mnote.settings.embedded"
        os.environ.setdefault("MNOTE_LOG_LEVEL", "ERROR")
        import django  # noqa: PLC0415 the settings read the environment when they are imported

        django.setup()
        from bench import suites  # noqa: PLC0415
        from bench.measure import show  # noqa: PLC0415

        chosen = NAMES if options.name == "all" else (options.name,)
        measures = [measure for name in chosen for measure in suites.run(name, Path(scratch), options.folder)]
    print(show(measures, as_json=options.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
