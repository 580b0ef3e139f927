from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from knowledge.parsing.base import ParseCode, ParseError, ParseLimits
from knowledge.parsing.source_map import SourceMap
from knowledge.parsing.worker_pool import ParsePool
from tests.knowledge.parsing.builders import make_pdf, make_raw_pdf, parse


@pytest.fixture(scope="module")
def pool() -> Iterator[ParsePool]:
    with ParsePool(2) as made:
        yield made


@contextmanager
def opened(folder: Path, name: str, data: bytes) -> Iterator[int]:
    path = folder / name
    path.write_bytes(data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def refused(pool: ParsePool, folder: Path, name: str, data: bytes) -> ParseError:
    with opened(folder, name, data) as descriptor, pytest.raises(ParseError) as raised:
        pool.parse(descriptor, name)
    return raised.value


def slow_page(operators: int = 400_000) -> bytes:
    """Return a PDF that takes seconds to read: text drawn very many times."""
    return make_raw_pdf(b"BT /F1 1 Tf " + b"1 0 0 1 9 9 Tm (slow words) Tj " * operators + b"ET")


def test_pool_gives_the_same_map_as_this_process(pool: ParsePool, tmp_path: Path) -> None:
    data = b"# Head\n\nbody\n"

    with opened(tmp_path, "a.md", data) as descriptor:
        source_map = pool.parse(descriptor, "a.md")

    assert source_map.source_hash == f"sha256:{sha256(data).hexdigest()}"
    assert source_map.text == data.decode()
    assert source_map.blocks == parse("a.md", data).blocks


def test_pool_reads_from_the_start_and_moves_no_offset(pool: ParsePool, tmp_path: Path) -> None:
    with opened(tmp_path, "a.txt", b"whole text") as descriptor:
        os.lseek(descriptor, 5, os.SEEK_SET)

        assert pool.parse(descriptor, "a.txt").text == "whole text"
        assert os.lseek(descriptor, 0, os.SEEK_CUR) == 5


def test_pool_reads_a_file_whose_name_is_gone(pool: ParsePool, tmp_path: Path) -> None:
    with opened(tmp_path, "a.txt", b"still here") as descriptor:
        (tmp_path / "a.txt").unlink()

        assert pool.parse(descriptor, "a.txt").text == "still here"


def test_pool_hands_options_to_the_parser(pool: ParsePool, tmp_path: Path) -> None:
    with opened(tmp_path, "a.txt", "żółw".encode("cp1250")) as descriptor:
        assert pool.parse(descriptor, "a.txt", options={"encoding": "cp1250"}).text == "żółw"


def test_pool_passes_refusals_on(pool: ParsePool, tmp_path: Path) -> None:
    assert refused(pool, tmp_path, "a.txt", b"").code is ParseCode.EMPTY
    assert refused(pool, tmp_path, "a.docx", b"text").code is ParseCode.CORRUPT


def test_pool_refuses_what_is_no_file(pool: ParsePool, tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(ParseError) as raised:
            pool.parse(descriptor, "a.txt")
    finally:
        os.close(descriptor)

    assert raised.value.code is ParseCode.PARSE_FAILED
    assert raised.value.retryable


def test_pool_serves_several_threads(pool: ParsePool, tmp_path: Path) -> None:
    def read(number: int) -> SourceMap:
        with opened(tmp_path, f"{number}.md", f"# Note {number}\n".encode()) as descriptor:
            return pool.parse(descriptor, f"{number}.md")

    with ThreadPoolExecutor(6) as threads:
        titles = [source_map.title for source_map in threads.map(read, range(24))]

    assert titles == [f"Note {number}" for number in range(24)]


def test_pool_ends_a_parse_at_its_deadline_and_reads_the_next_file(tmp_path: Path) -> None:
    with ParsePool(1, ParseLimits(seconds=1.0)) as pool:
        slow = refused(pool, tmp_path, "slow.pdf", slow_page(4_000_000))

        assert slow.code is ParseCode.PARSE_TIMEOUT
        with opened(tmp_path, "good.md", b"good") as descriptor:
            assert pool.parse(descriptor, "good.md").text == "good"


def test_pool_survives_a_child_that_dies_at_work(tmp_path: Path) -> None:
    with ParsePool(1) as pool, ThreadPoolExecutor(1) as thread:
        with opened(tmp_path, "warm.md", b"warm") as descriptor:
            pool.parse(descriptor, "warm.md")
        (pid,) = pool.child_pids
        at_work = thread.submit(refused, pool, tmp_path, "slow.pdf", slow_page())
        _wait_until_busy(pid)
        os.kill(pid, signal.SIGSEGV)

        assert at_work.result(timeout=20).code is ParseCode.PARSE_FAILED
        with opened(tmp_path, "good.md", b"good") as descriptor:
            assert pool.parse(descriptor, "good.md").text == "good"
        assert pool.child_pids != {pid}


def test_pool_replaces_a_child_that_died_idle(tmp_path: Path) -> None:
    with ParsePool(1) as pool, opened(tmp_path, "a.md", b"text") as descriptor:
        pool.parse(descriptor, "a.md")
        (pid,) = pool.child_pids
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

        assert pool.parse(descriptor, "a.md").text == "text"


def test_pool_bounds_the_memory_of_a_parse(tmp_path: Path) -> None:
    limits = ParseLimits(memory_bytes=220 * 1024 * 1024, max_text_chars=100_000_000)

    with ParsePool(1, limits) as pool:
        code = refused(pool, tmp_path, "a.txt", b"word " * 12_000_000).code

        assert code in {ParseCode.TOO_LARGE, ParseCode.PARSE_FAILED}
        with opened(tmp_path, "good.md", b"good") as descriptor:
            assert pool.parse(descriptor, "good.md").text == "good"


def test_pool_refuses_a_file_over_the_limit_without_reading_it(tmp_path: Path) -> None:
    with ParsePool(1, ParseLimits(max_bytes=1000)) as pool:
        assert refused(pool, tmp_path, "a.md", b"x" * 1001).code is ParseCode.TOO_LARGE


def test_pool_reads_pdf_within_its_memory(pool: ParsePool, tmp_path: Path) -> None:
    with opened(tmp_path, "a.pdf", make_pdf([["page text"]])) as descriptor:
        assert pool.parse(descriptor, "a.pdf").text == "page text"


def test_pool_renders_a_page(pool: ParsePool, tmp_path: Path) -> None:
    with opened(tmp_path, "a.pdf", make_raw_pdf(b"0 0 100 100 re f", b"/Rotate 90")) as descriptor:
        page = pool.render_page(descriptor, 1, max_width_px=400)

    image = Image.open(BytesIO(page.png))
    assert (page.width, page.height) == (792.0, 612.0)
    assert image.width == 400


def test_pool_renders_no_page_that_is_not_there(pool: ParsePool, tmp_path: Path) -> None:
    with opened(tmp_path, "a.pdf", make_pdf([["one"]])) as descriptor, pytest.raises(ParseError) as raised:
        pool.render_page(descriptor, 2, max_width_px=400)

    assert raised.value.code is ParseCode.NO_TEXT


def test_pool_ends_its_children_when_closed(tmp_path: Path) -> None:
    pool = ParsePool(1)
    with opened(tmp_path, "a.md", b"text") as descriptor:
        pool.parse(descriptor, "a.md")
        (pid,) = pool.child_pids
        pool.close()

        assert not Path(f"/proc/{pid}").exists()
        with pytest.raises(RuntimeError):
            pool.parse(descriptor, "a.md")


def test_pool_closed_at_work_blames_no_file(tmp_path: Path) -> None:
    with ParsePool(1) as pool, ThreadPoolExecutor(1) as thread:
        with opened(tmp_path, "warm.md", b"warm") as descriptor:
            pool.parse(descriptor, "warm.md")
        (pid,) = pool.child_pids
        at_work = thread.submit(refused, pool, tmp_path, "slow.pdf", slow_page())
        _wait_until_busy(pid)
        pool.close()

        assert at_work.result(timeout=20).retryable


def test_children_leave_when_the_process_that_owns_them_is_killed(tmp_path: Path) -> None:
    (tmp_path / "slow.pdf").write_bytes(slow_page())
    script = (
        "import os, sys, threading; from knowledge.parsing.worker_pool import ParsePool\n"
        "pool = ParsePool(1)\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "threading.Thread(target=pool.parse, args=(fd, 'slow.pdf'), daemon=True).start()\n"
        "while not pool.child_pids: pass\n"
        "print(*pool.child_pids, flush=True)\n"
        "sys.stdin.read()\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "slow.pdf")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        _wait_until_busy(pid)
        watched = os.pidfd_open(pid)
        owner.kill()

    gone = threading.Event()
    thread = threading.Thread(target=lambda: (_wait_for_exit(watched), gone.set()))
    thread.start()
    assert gone.wait(10)
    os.close(watched)


def test_pool_in_a_forked_process_starts_children_of_its_own(pool: ParsePool, tmp_path: Path) -> None:
    script = (
        "import os, sys; from knowledge.parsing.worker_pool import ParsePool\n"
        "pool = ParsePool(1)\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "pool.parse(fd, 'a.md'); before = pool.child_pids\n"
        "if os.fork() == 0:\n"
        "    own = pool.parse(fd, 'a.md').text == 'text' and not pool.child_pids & before\n"
        "    pool.close(); os._exit(0 if own else 1)\n"
        "code = os.waitstatus_to_exitcode(os.wait()[1])\n"
        "sys.exit(code or (pool.parse(fd, 'a.md').text != 'text') or pool.child_pids != before)\n"
    )
    (tmp_path / "a.md").write_text("text")

    assert subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.md")], check=False).returncode == 0


def test_child_knows_no_django_and_no_secret(pool: ParsePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNOTE_SECRET_KEY", "do-not-pass")
    with ParsePool(1) as fresh, opened(tmp_path, "a.md", b"text") as descriptor:
        fresh.parse(descriptor, "a.md")
        (pid,) = fresh.child_pids

        assert b"do-not-pass" not in Path(f"/proc/{pid}/environ").read_bytes()
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, knowledge.parsing.child; print('django' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "False"


def _wait_until_busy(pid: int) -> None:
    """Wait until a process has used half a second of processor time: it is in the middle of its file."""
    before = _cpu_ticks(pid)
    while _cpu_ticks(pid) - before < 50:
        os.sched_yield()


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def _wait_for_exit(descriptor: int) -> None:
    import select

    watched = select.poll()
    watched.register(descriptor, select.POLLIN)
    watched.poll()


def test_child_of_a_swollen_process_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"text")
    script = (
        "import os, sys; from knowledge.parsing.base import ParseLimits\n"
        "from knowledge.parsing.worker_pool import ParsePool\n"
        "limits = ParseLimits(memory_bytes=600 * 2**20)\n"
        "swollen = b'x' * limits.memory_bytes\n"
        "pool = ParsePool(1, limits)\n"
        "pool.parse(os.open(sys.argv[1], os.O_RDONLY), 'a.md')\n"
        "alive = len(pool.child_pids); pool.close(); sys.exit(alive != 1)\n"
    )

    assert subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.md")], check=False).returncode == 0
