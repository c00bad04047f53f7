"""A target that does everything a supervisor must survive: `torture.py MODE [anything …]`.

Modes are the functions below, with hyphens.
"""

import ctypes
import json
import mmap
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable

ALL_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1)
SUBREAPER = 36
NEW_PID, NEW_USER = 0x20000000, 0x10000000


def answer(value: float = 1.0) -> None:
    fields = {"status": "SUCCESS", "runtime": 0.1, "value": value}
    print(f"\nResult of this algorithm run: {json.dumps(fields)}", flush=True)


def burn(seconds: float = 1e9) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def sleep() -> None:
    """Say that everything is set up, and stay."""
    print("ready", flush=True)
    time.sleep(1e6)


def child(work: Callable[[], object]) -> int:
    """A process that does this and ends."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def daemon(work: Callable[[], object], *, close: bool = True) -> None:
    """A process that leaves its parent, its session and its signals behind."""

    def detached() -> None:
        for number in ALL_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for handle in (0, 1, 2) if close else ():
            os.close(handle)
        work()

    def between() -> None:
        os.setsid()
        child(detached)

    child(between)
    os.wait()


def stay() -> None:
    time.sleep(1e6)


def allocate(megabytes: int) -> bytearray:
    return bytearray(b"x") * (megabytes << 20)


def close_all() -> None:
    for handle in (0, 1, 2):
        os.close(handle)


def fine() -> None:
    answer(7)


def burns() -> None:
    burn(0.2)


def ignores_signals() -> None:
    for number in ALL_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sleep()


def daemon_burns() -> None:
    daemon(burn)
    stay()


def daemon_stays() -> None:
    daemon(stay)
    answer(3)


def daemon_holds_outputs() -> None:
    daemon(stay, close=False)
    answer(3)


def daemon_loses_its_environment() -> None:
    words = ["sh", "-c", "sleep 1000000; true", *sys.argv]
    daemon(lambda: os.execve("/bin/sh", words, {}))  # noqa: S606
    answer(3)


def children_burn_on() -> None:
    for _ in range(3):
        child(burn)
    answer(3)


def chain() -> None:
    """A process that replaces itself by its child, again and again."""
    print("ready", flush=True)
    while os.fork() == 0:
        os.setsid()


def forks_without_end() -> None:
    def alone() -> None:
        os.setsid()
        stay()

    print("ready", flush=True)
    for _ in range(2000):
        child(alone)
        time.sleep(0.002)
    stay()


def storm() -> None:
    """Processes that start processes that start processes, all at once."""

    def spread(depth: int) -> None:
        for _ in range(3):
            child(lambda: spread(depth - 1) if depth else stay())
        stay()

    print("ready", flush=True)
    spread(4)


def zombies() -> None:
    for _ in range(300):
        child(lambda: None)
    answer(3)


def leaves_a_zombie() -> None:
    pid = child(lambda: burn(0.5))
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    time.sleep(0.1)


def subreaper() -> None:
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    daemon(stay)
    sleep()


def new_namespace() -> None:
    """Processes in a PID namespace of their own."""
    unshare = ctypes.CDLL(None).unshare
    if unshare(NEW_USER | NEW_PID) and unshare(NEW_PID):
        answer(99)
        return

    def first() -> None:
        daemon(burn)
        stay()

    child(first)
    os.wait()


def becomes_somebody_else() -> None:
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    sleep()


def stops_itself() -> None:
    print("ready", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)


def stopped_children() -> None:
    for _ in range(3):
        child(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    answer(3)


def kills_everybody() -> None:
    # Its group: itself included, the supervisor not.
    os.kill(0, signal.SIGKILL)


def kills_its_parent() -> None:
    daemon(stay)
    os.kill(os.getppid(), signal.SIGKILL)
    stay()


def stops_its_parent() -> None:
    daemon(stay)
    os.kill(os.getppid(), signal.SIGSTOP)
    stay()


def segfaults() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def exits() -> None:
    answer(3)
    sys.exit(3)


def odd_name() -> None:
    with open("/proc/self/comm", "w") as file:
        file.write("a) Z 1 (b")
    burn()


def allocates() -> None:
    kept = []
    while True:
        kept.append(allocate(1))


def children_allocate() -> None:
    reading, writing = os.pipe()

    def work() -> None:
        block = allocate(30)
        os.write(writing, block[:1])
        stay()

    for _ in range(4):
        child(work)
    for _ in range(4):
        os.read(reading, 1)
    sleep()


def grandchild_allocates() -> None:
    daemon(allocates)
    stay()


def shared_mapping() -> None:
    block = mmap.mmap(-1, 1 << 30)
    for place in range(0, 1 << 30, mmap.PAGESIZE):
        block[place] = 1
    stay()


def scratch_in_memory() -> None:
    with open(f"{os.environ['TMPDIR']}/large", "wb") as file:
        for _ in range(300):
            file.write(allocate(1))
            file.flush()
    stay()


def prints(megabytes: int, handle: int) -> None:
    line = b"x" * ((1 << 20) - 1) + b"\n"
    for _ in range(megabytes):
        os.write(handle, line)
    answer(5)


def prints_without_end() -> None:
    while True:
        os.write(1, b"x" * 65536)


def one_long_line() -> None:
    for _ in range(50):
        os.write(1, b"x" * (1 << 20))
    answer(5)


def no_newline() -> None:
    os.write(1, b'Result of this algorithm run: {"status": "SUCCESS", "runtime": 0.1, "value": 9}')


def closes_outputs() -> None:
    answer(2)
    close_all()
    burn(0.1)


def closes_outputs_forever() -> None:
    close_all()
    burn()


def closes_everything() -> None:
    answer(2)
    os.closerange(0, 4096)


def reads_its_input() -> None:
    answer(len(os.read(0, 10)))


def exhausts_files() -> None:
    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 4096)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        while True:
            os.dup(1)
    except OSError:
        answer(4)


def exhausts_pipes() -> None:
    held = [os.pipe() for _ in range(100)]
    for _, writing in held:
        os.set_blocking(writing, False)
        os.write(writing, b"x" * 65536)
    answer(4)


def blocks_in_a_fifo() -> None:
    path = f"{os.environ['TMPDIR']}/fifo"
    os.mkfifo(path)
    print("ready", flush=True)
    os.close(os.open(path, os.O_RDONLY))


def first_thread_ends() -> None:
    """Only a second thread goes on: the first is a zombie in the kernel's list."""
    threading.Thread(target=burn).start()
    ctypes.CDLL(None).pthread_exit(None)


def burns_in_grandchild() -> None:
    reading, writing = os.pipe()
    child(lambda: child(lambda: burn(0.2)))
    os.close(writing)
    os.wait()
    os.read(reading, 1)  # until the grandchild, whom nobody here can wait for, is gone
    answer(1)


def burns_in_children() -> None:
    for _ in range(20):
        child(lambda: burn(0.01))
        os.wait()
    answer(1)


def ignores_sigchld() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    reading, writing = os.pipe()
    child(lambda: burn(0.2))
    os.close(writing)
    os.read(reading, 1)
    answer(1)


def scratch() -> None:
    folder = os.environ["TMPDIR"]
    os.makedirs(f"{folder}/a/b")
    with open(f"{folder}/a/b/c", "w") as file:
        file.write("left behind")
    os.chmod(f"{folder}/a", 0)
    print("scratch", folder)
    answer(1)


def deep_folders() -> None:
    """Deeper than Python's recursion and the kernel's longest path."""
    os.chdir(os.environ["TMPDIR"])
    for _ in range(1500):
        os.mkdir("folder")
        os.chdir("folder")
    os.chmod(".", 0)
    answer(1)


def removes_its_folder() -> None:
    os.rmdir(os.environ["TMPDIR"])
    answer(1)


if __name__ == "__main__":
    mode = sys.argv[1]
    if mode == "prints-3GB":
        prints(3000, 1)
    elif mode == "prints-1GB-of-errors":
        prints(1000, 2)
    else:
        globals()[mode.replace("-", "_")]()
