"""A target that does everything a supervisor must survive: `torture.py MODE instance seed …`."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time


def answer(value: float = 1.0) -> None:
    print(
        f"\nResult of this algorithm run: {json.dumps({'status': 'SUCCESS', 'runtime': 0.1, 'value': value})}",
        flush=True,
    )


def burn(seconds: float = 1e9) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def daemon(work: str) -> None:
    """Start a process that leaves its parent, its session and its signals behind."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            for handle in (0, 1, 2):
                os.close(handle)
            if work == "burn":
                burn()
            time.sleep(1e6)
        os._exit(0)
    os.wait()


def main() -> None:
    mode = sys.argv[1]
    if mode == "fine":
        answer(7)
    elif mode == "burns":
        burn(0.2)
    elif mode == "ignores-sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        burn()
    elif mode == "daemon-burns":
        daemon("burn")
        time.sleep(1e6)
    elif mode == "leaves-its-group":
        with open("/proc/self/mounts") as file:
            root = next(line.split()[1] for line in file if " cgroup2 " in line)
        with open(f"{root}/cgroup.procs", "w") as file:
            file.write("0")
        burn()
    elif mode == "new-namespace":
        unshare = ctypes.CDLL(None).unshare
        assert unshare(0x30000000) == 0 or unshare(0x20000000) == 0
        if os.fork() == 0:
            daemon("burn")
            time.sleep(1e6)
        os.wait()
    elif mode == "leaves-a-zombie":
        child = os.fork()
        if child == 0:
            burn(0.5)
            os._exit(0)
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        time.sleep(0.3)
    elif mode == "daemon-stays":
        daemon("sleep")
        answer(3)
    elif mode == "allocates":
        kept = []
        while True:
            kept.append(bytearray(b"x") * (1 << 20))
    elif mode == "children-allocate":
        reading, writing = os.pipe()
        for _ in range(4):
            if os.fork() == 0:
                block = bytearray(b"x") * (30 << 20)
                assert block
                os.write(writing, b"x")
                time.sleep(1e6)
        for _ in range(4):
            os.read(reading, 1)
        print("ready", flush=True)
        time.sleep(1e6)
    elif mode == "prints-1GB":
        line = b"x" * ((1 << 20) - 1) + b"\n"
        for _ in range(1000):
            os.write(1, line)
        answer(5)
    elif mode == "no-newline":
        os.write(
            1, b'Result of this algorithm run: {"status": "SUCCESS", "runtime": 0.1, "value": 9}'
        )
    elif mode == "half-an-answer":
        os.write(1, b'Result of this algorithm run: {"status": "SUCC')
        os._exit(1)
    elif mode == "segfaults":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif mode == "nonsense":
        print("\x00\xff all is well \n" * 3)
    elif mode == "sleeps":
        print("ready", flush=True)
        time.sleep(1e6)
    elif mode == "closes-outputs":
        answer(2)
        for handle in (0, 1, 2):
            os.close(handle)
        burn(0.1)
    elif mode == "closes-outputs-forever":
        for handle in (0, 1, 2):
            os.close(handle)
        burn()
    elif mode == "stops-itself":
        print("ready", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)
    elif mode == "kills-everybody":
        # Whatever it can reach: itself included, the supervisor not.
        os.kill(0, signal.SIGKILL)
    elif mode == "forks-without-end":
        while True:
            started = subprocess.Popen(["sleep", "1000000"], start_new_session=True)
            del started
            print("ready", flush=True)
            time.sleep(0.005)
    elif mode == "burns-in-grandchild":
        reading, writing = os.pipe()
        if os.fork() == 0:
            if os.fork() == 0:
                burn(0.2)
            os._exit(0)
        os.close(writing)
        os.wait()
        os.read(reading, 1)  # until the grandchild, whom nobody here can wait for, is gone
        answer(1)
    elif mode == "ignores-sigchld":
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        reading, writing = os.pipe()
        if os.fork() == 0:
            burn(0.2)
            os._exit(0)
        os.close(writing)
        os.read(reading, 1)
        answer(1)
    elif mode == "scratch":
        folder = os.environ["TMPDIR"]
        os.makedirs(f"{folder}/a/b")
        with open(f"{folder}/a/b/c", "w") as file:
            file.write("left behind")
        print("scratch", folder)
        answer(1)
    else:
        sys.exit(f"no mode {mode}")


main()
