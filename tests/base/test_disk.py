"""Files are written whole or not at all, and nothing is left beside them."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from holdfast.base.disk import written_atomically

WRITER = """
import sys, time
from holdfast.base.disk import written_atomically
with written_atomically(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def writer(tmp_path):
    """A process in the middle of writing ``a.txt``."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "a.txt"], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def write(path, content=b"whole"):
    with written_atomically(path) as file:
        file.write(content)


def test_an_ordinary_failure_leaves_nothing(tmp_path):
    def fail(error):
        with written_atomically(tmp_path / "a.txt") as file:
            file.write(b"half")
            raise error

    write(tmp_path / "a.txt", b"old")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error):
            fail(error)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"old"


def test_what_a_killed_process_left_is_deleted_by_the_next_write(tmp_path, writer):
    others = [".a.txt.backup.part", ".b.txt.abcdefgh.part", ".a.txt.b.abcdefgh.part", "a.txt.abcdefgh.part"]
    for name in others:
        (tmp_path / name).touch()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert len(os.listdir(tmp_path)) == len(others) + 1
    write(tmp_path / "a.txt")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "a.txt"])


@pytest.mark.skipif(sys.platform == "win32", reason="an open file is not deleted there anyway")
def test_what_another_process_is_writing_stays(tmp_path, writer):
    write(tmp_path / "a.txt")
    assert len(os.listdir(tmp_path)) == 2
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    write(tmp_path / "a.txt", b"again")
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"again"


def test_pipes_and_links_named_like_leftovers_are_left_alone(tmp_path):
    os.mkfifo(tmp_path / ".a.txt.abcdefgh.part")
    (tmp_path / ".a.txt.hgfedcba.part").symlink_to("a.txt")
    write(tmp_path / "a.txt")
    assert len(os.listdir(tmp_path)) == 3


def test_many_threads_write_one_file(tmp_path):
    contents = [bytes([k]) * 100_000 for k in range(8)]
    threads = [threading.Thread(target=write, args=(tmp_path / "a.txt", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() in contents


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_what_is_no_regular_file_is_not_replaced(tmp_path):
    """Renaming onto a device would replace it: /dev/null for everyone, if root does it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not a regular file"), written_atomically(pipe):
        pass
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
