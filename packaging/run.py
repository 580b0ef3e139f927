#!/usr/bin/env python3
"""Install MNote into a virtual environment and run it on a folder. Needs nothing but Python 3.11 or newer.

    python3 packaging/run.py [FOLDER] [--data DIR] [--port N] [--ask "QUESTION"] [--once]

FOLDER is the folder of documents (default: the sample that comes with MNote), DIR where MNote keeps its own data.
With --once it indexes, answers, prints, and stops; exit code 0 only when something was indexed and the answer carries
a citation that opens.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 it is started with whatever Python there is
        _refuse("MNote needs Python 3.11 or newer; this is " + sys.version.split()[0] + ".")
    options = _options()
    python = install(PROJECT / ".venv", "run.txt")
    data = Path(options.data).expanduser().absolute()
    environment = os.environ | {
        "MNOTE_DATA_DIR": str(data),
        "MNOTE_PUBLIC_URL": os.environ.get("MNOTE_PUBLIC_URL", f"http://127.0.0.1:{options.port}"),
        "DJANGO_SETTINGS_MODULE": "mnote.settings.embedded",
    }
    folder = Path(options.folder).expanduser().absolute()
    command = [str(python), str(PROJECT / "manage.py"), "run", str(folder), "--port", str(options.port)]
    command += ["--ask", options.ask] if options.ask else []
    command += ["--once"] if options.once else []
    os.chdir(PROJECT)
    os.execve(python, command, environment)


def install(home: Path, lock: str) -> Path:
    """Make the virtual environment in `home` if need be, bring it level with a lock file; return its Python."""
    python = home / "bin" / "python"
    wanted = HERE / "requirements" / lock
    mark = home / f".installed-{lock}"
    if python.exists() and mark.exists() and mark.read_bytes() == _digest(wanted):
        return python
    print("Installing into .venv (once; this takes a minute) …", flush=True)
    try:
        venv.EnvBuilder(with_pip=True, clear=not python.exists()).create(home)
    except subprocess.CalledProcessError:
        _refuse("Python's venv module is incomplete here. On Debian and Ubuntu: sudo apt install python3-venv")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    if subprocess.run([*pip, "--requirement", wanted], check=False).returncode:
        _refuse("The packages could not be installed; see above.")
    mark.write_bytes(_digest(wanted))
    return python


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run MNote on a folder of documents.")
    parser.add_argument("folder", nargs="?", default=str(HERE / "sample"), help="folder of documents")
    parser.add_argument("--data", default=str(PROJECT / "data"), help="where MNote keeps its own data")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--ask", default="", help="a question to answer once everything is indexed")
    parser.add_argument("--once", action="store_true", help="index, answer, print, stop")
    return parser.parse_args()


def _digest(lock: Path) -> bytes:
    return hashlib.sha256(lock.read_bytes()).hexdigest().encode()


def _refuse(sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
