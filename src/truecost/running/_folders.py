"""The scratch folders of runs: tidied up and removed. Part of the supervisor's script."""

from __future__ import annotations

import contextlib
import os
import stat

SILENT = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]


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


def remove(path: str) -> None:
    """Delete a file, a link or a folder, however deep it is and even if it was made unreadable."""
    for delete in (os.rmdir, os.unlink):
        with contextlib.suppress(OSError):
            delete(path)
            return
    # Neither Python nor the kernel follows a path of any length.
    for words in (["rm", "-rf", path], ["chmod", "-R", "u+rwx", path], ["rm", "-rf", path]):
        if os.path.lexists(path):
            with contextlib.suppress(OSError):
                os.waitpid(os.posix_spawnp(words[0], words, os.environ, file_actions=SILENT), 0)


def is_in_memory(folder: str) -> bool:
    """Whether the files of a folder are kept in memory."""
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    with contextlib.suppress(OSError), open("/proc/self/mountinfo") as file:
        return any(line.split()[2] == number and " - tmpfs " in line for line in file)
    return False


def size_of(folder: str) -> int:
    """Bytes that the files of a folder take."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(f"{place}/{name}").st_blocks * 512
    return total
