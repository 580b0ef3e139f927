import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[3]

_IMPORT_ALL = """
import importlib, pkgutil, sys
import knowledge.scanner, mnote.files
for package in (knowledge.scanner, mnote.files):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print(sorted({name.partition(".")[0] for name in sys.modules} & {"django", "celery", "rest_framework"}))
"""


def test_scanner_and_files_load_no_framework():
    answer = subprocess.run([sys.executable, "-c", _IMPORT_ALL], capture_output=True, text=True, check=True, cwd=HERE)

    assert answer.stdout.strip() == "[]"
