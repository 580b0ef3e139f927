# The commands of everyday work; `make help` lists them.
.PHONY: help run test lint types locks texts

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

run:  ## run MNote on the sample folder
	python3 packaging/run.py

test:  ## everything a change must pass
	python3 packaging/test.py

lint:  ## format, lint, import rules
	.venv/bin/ruff format . && .venv/bin/ruff check . && .venv/bin/lint-imports

types:  ## mypy, strict
	.venv/bin/mypy mnote knowledge pageai

locks:  ## pin the packages anew, by hash and without any address
	uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -o packaging/requirements/run.txt
	uv pip compile pyproject.toml --extra test --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -c packaging/requirements/run.txt -o packaging/requirements/test.txt

texts:  ## collect texts into the catalogues and check them
	.venv/bin/python manage.py make_catalogues && .venv/bin/python manage.py check_catalogues
