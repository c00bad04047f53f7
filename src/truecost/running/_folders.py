"""The scratch folders of runs: made, locked, and removed. Part of the supervisor's script."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat

# Scratch folders lie in folders with this prefix; with the host, since a disk may be shared.
PREFIX = f"truecost-scratch-{os.uname().nodename}-"


def make_base(parent: str) -> str:
    """Make a folder for the scratch folders of runs, locked as long as this process lives."""
    while True:
        # Importing tempfile would take a sixth of the time that a supervisor takes to start.
        base = f"{parent}/{PREFIX}{os.urandom(8).hex()}"
        os.mkdir(base, 0o700)
        lock(base)
        # Another supervisor may have swept it before it was locked.
        if os.path.exists(base):
            return base


def lock(base: str) -> None:
    """Lock a folder until this process ends; where locks do not work, nobody sweeps either."""
    with contextlib.suppress(OSError):
        fcntl.flock(os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW), fcntl.LOCK_EX)


def sweep(parent: str) -> None:
    """Remove this host's folders that nobody locks: their supervisors were killed."""
    for name in os.listdir(parent):
        if not name.startswith(PREFIX):
            continue
        path = f"{parent}/{name}"
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid():
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove(path)
            finally:
                os.close(handle)


def tidy(base: str) -> None:
    """Remove what a run left in its scratch folder, in that folder's place, and around it."""
    with contextlib.suppress(OSError):
        # The run may have put a link there, which must never be followed.
        if stat.S_ISDIR(os.lstat(base).st_mode):
            os.chmod(base, 0o700)
            for name in os.listdir(base):
                remove(f"{base}/{name}")
            if os.path.lexists(f"{base}/run"):
                # Files of another user for instance, whom a container was run as.
                os.rename(f"{base}/run", f"{base}/{os.urandom(8).hex()}")
            return
    remove(base)
    os.mkdir(base, 0o700)
    lock(base)


def remove(path: str) -> None:
    """Delete a file, a link or a folder, however deep it is and even if it was made unreadable."""
    for delete in (os.rmdir, os.unlink):
        with contextlib.suppress(OSError):
            delete(path)
            return
    moved, before = f"{path}/{os.urandom(8).hex()}", None
    with contextlib.suppress(OSError):
        os.chmod(path, 0o700)
        while (names := os.listdir(path)) and names != before:
            before = names
            for name in names:
                with contextlib.suppress(OSError):
                    _flatten(f"{path}/{name}", moved)
        os.rmdir(path)


def _flatten(path: str, moved: str) -> None:
    """Delete a file, or a folder whose own folders are moved up: neither Python nor the kernel
    follows a path of any length.
    """
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        os.unlink(path)
        return
    os.chmod(path, 0o700)
    for place, name in enumerate(os.listdir(path)):
        inner = f"{path}/{name}"
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.lstat(inner).st_mode):
                os.chmod(inner, 0o700)
                os.rename(inner, f"{moved}-{os.stat(path).st_ino}-{place}")
            else:
                os.unlink(inner)
    os.rmdir(path)


def is_in_memory(folder: str) -> bool:
    """Whether the files of a folder are kept in memory."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with contextlib.suppress(OSError), open("/proc/self/mountinfo") as file:
        return any(line.split()[2] == number and " - tmpfs " in line for line in file)
    return False


def size_of(folder: str) -> int:
    """Bytes that the files of a folder take."""
    total, waiting = 0, [folder]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return total
