"""What keeps runs apart that are made at the same time: a temporary folder and shared memory of
their own, and process numbers that no two of them share. Part of the supervisor's script.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecost.running._processes import libc, works
else:
    from _processes import libc, works

CLONE_NEWNS, CLONE_NEWIPC = 0x00020000, 0x08000000
MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 2, 4, 1 << 5, 1 << 12
MS_REC, MS_SLAVE = 1 << 14, 1 << 19
LAST_PID = "/proc/sys/kernel/ns_last_pid"
TEMPORARY = os.path.realpath("/tmp")  # noqa: S108 - covered by a private one
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
# Where the layer above the temporary folder is, in a slot's own folder.
LAYERS = "private"
# Seconds for which mounts serve one run after the other: they may not notice everything that
# changes below them.
LONGEST = 1.0
# Numbers below are the kernel's own.
RESERVED = 300


def claim_numbers() -> tuple[int, int] | None:
    """A range of process numbers that no other slot on this machine uses; None if all are taken."""
    # Held by a socket in the kernel's abstract name space: it goes with this process, whatever ends
    # it, needs no file, and another user's cannot be in the way.
    with open("/proc/sys/kernel/pid_max") as file:
        largest = int(file.read())
    blocks = max(16, 4 * (os.cpu_count() or 1))
    size = (largest - RESERVED) // blocks
    for block in range(blocks):
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            holder.bind(f"\0truecost-pids-{block}")
        except OSError:
            holder.close()
            continue
        holder.detach()
        return RESERVED + block * size, RESERVED + (block + 1) * size
    return None


def renumber(numbers: tuple[int, int]) -> bool:
    """Let the next process of this PID namespace have a number of the range, a new one while there
    are some; whether that can be.
    """
    first, end = numbers
    try:
        with open(LAST_PID) as file:
            last = int(file.read())
        # A tenth of the range is left to the run that begins now.
        if not first <= last < end - (end - first) // 10:
            with open(LAST_PID, "w") as file:
                file.write(str(first))
    except (OSError, ValueError):
        return False
    return True


class PrivateFolders:
    """A temporary folder and shared memory of a run's own, for all runs of a slot, one at a time.

    Mounting takes longer than a short run, so that what is mounted serves the next run as well,
    provided that the last one left nothing behind. What is in /tmp stays visible, and what is
    written there goes to a layer above it, on the disk of `base` or, if `in_memory`, in memory.
    The scenario's folder and `base` are as before, should they be in /tmp.
    """

    def __init__(self, base: str, *, in_memory: bool) -> None:
        self.base, self.in_memory = base, in_memory
        self.outside = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        self.mounts: list[int] = []
        self.real: list[int] = []
        self.number, self.made = 0, 0.0
        self.folder, self.size = "", -1
        self.state: object = None

    @property
    def kept_in_memory(self) -> list[str]:
        """The folders whose files take memory."""
        return [SHARED_MEMORY, *([f"{self.base}/{LAYERS}"] if self.in_memory else [])]

    def prepare(self, folder: str, size: int | None) -> None:
        """Make ready for a run in a folder, which may keep `size` bytes in memory; the caller, and
        whoever descends from it, sees the private folders from now on.
        """
        # Not 0, which is no limit: the kernel lets nobody limit such a file system later.
        size = size or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if folder == self.folder and time.monotonic() - self.made < LONGEST and self._clean():
            if size != self.size:
                for path in self.kept_in_memory:
                    mount("tmpfs", path, None, MS_REMOUNT | MS_NOSUID | MS_NODEV, _limit(size))
        else:
            self._renew(folder, size)
        self.size = size

    def _clean(self) -> bool:
        """Whether nothing is left of a run, and nothing came to the real folders meanwhile."""
        # The kernel says when somebody mounted or unmounted something.
        poll = select.poll()
        poll.register(self.mounts[0], select.POLLPRI)
        try:
            return not poll.poll(0) and self._look() == self.state
        except OSError:
            return False

    def _look(self) -> object:
        """All that a run or somebody outside may have changed."""
        layer = os.stat(self.layer)
        segments = []
        for kind in ("shm", "sem", "msg"):
            with open(f"/proc/sysvipc/{kind}", "rb") as file:
                segments.append(file.read())
        return (
            (layer.st_mode, layer.st_uid, layer.st_gid),
            os.listdir(self.layer),
            os.listxattr(self.layer),
            os.stat(TEMPORARY).st_dev,
            os.stat(SHARED_MEMORY).st_dev,
            sorted(os.listdir(SHARED_MEMORY)),
            segments,
            [os.stat(handle).st_mtime_ns for handle in self.real],
        )

    def _renew(self, folder: str, size: int) -> None:
        """New mounts in a new name space; the last one goes with all that is in it."""
        private = f"{self.base}/{LAYERS}"
        last = f"{private}/{self.number}"
        if self.number:
            check(libc.setns(self.outside, CLONE_NEWNS))
            for handle in (*self.mounts, *self.real):
                os.close(handle)
            remove(last)
        self.folder, self.mounts, self.real = "", [], []
        self.number += 1
        if libc.unshare(CLONE_NEWNS | CLONE_NEWIPC):
            check(libc.unshare(CLONE_NEWNS))
        mount("none", "/", None, MS_REC | MS_SLAVE, None)
        self.real = [os.open(path, os.O_PATH) for path in (TEMPORARY, SHARED_MEMORY)]
        # A run's own folder is in the base, and has to be removable.
        inside = folder.startswith(f"{self.base}/")
        kept = [os.path.realpath(path) for path in (self.base, *([] if inside else [folder]))]
        kept = [path for path in kept if path.startswith(f"{TEMPORARY}/")]
        handles = [os.open(path, os.O_PATH) for path in kept]
        os.makedirs(private, exist_ok=True)
        if self.in_memory:
            mount("tmpfs", private, b"tmpfs", MS_NOSUID | MS_NODEV, _limit(size))
        self.layer = f"{private}/{self.number}/upper"
        os.makedirs(self.layer)
        os.makedirs(f"{private}/{self.number}/work")
        os.chmod(self.layer, 0o1777)  # noqa: S103 - as temporary folders are
        _overlay(self.layer, f"{private}/{self.number}/work")
        for path, handle in zip(kept, handles, strict=True):
            mount(f"/proc/self/fd/{handle}", path, None, MS_BIND | MS_REC, None)
            os.close(handle)
        _cover_shared_memory(_limit(size))
        self.mounts = [os.open("/proc/self/mounts", os.O_RDONLY)]
        self.folder, self.made, self.state = folder, time.monotonic(), self._look()


def check(result: int, path: str = "") -> None:
    """Raise what the C library reports."""
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)


def mount(source: str, target: str, kind: bytes | None, flags: int, data: bytes | None) -> None:
    """Mount, or raise."""
    check(libc.mount(source.encode(), target.encode(), kind, flags, data), target)


def _limit(size: int) -> bytes:
    """The options of a file system in memory."""
    return b"mode=1777,size=%d" % size


def remove(path: str) -> None:
    """Delete a file, a link or a folder, also what was made unreadable."""
    with contextlib.suppress(OSError):
        os.rmdir(path)
        return
    with contextlib.suppress(OSError):
        os.unlink(path)
        return
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path):
        with contextlib.suppress(OSError):
            os.chmod(path, 0o700)
        for folder, folders, _ in os.walk(path):
            for name in folders:
                with contextlib.suppress(OSError):
                    if not os.path.islink(f"{folder}/{name}"):
                        os.chmod(f"{folder}/{name}", 0o700)
        shutil.rmtree(path, ignore_errors=True)


def _overlay(layer: str, work: str) -> None:
    """Let writes to the temporary folder go to a layer."""
    options = f"lowerdir={TEMPORARY},upperdir={layer},workdir={work}"
    # Without "volatile" the disk would be synchronised at the end; without "userxattr" only root
    # may do it.
    for more in (",volatile,userxattr", ",volatile", ",userxattr", ""):
        try:
            return mount("overlay", TEMPORARY, b"overlay", 0, (options + more).encode())
        except OSError as error:
            failure = error
    raise failure


def _cover_shared_memory(limit: bytes) -> None:
    """Private shared memory, in which what is there now stays visible."""
    # Instances are kept there for speed.
    present = [f"{SHARED_MEMORY}/{name}" for name in os.listdir(SHARED_MEMORY)]
    handles = []
    for path in present:
        with contextlib.suppress(OSError):
            handles.append((path, os.open(path, os.O_PATH | os.O_NOFOLLOW)))
    mount("tmpfs", SHARED_MEMORY, b"tmpfs", MS_NOSUID | MS_NODEV, limit)
    for path, handle in handles:
        below = f"/proc/self/fd/{handle}"
        if os.path.isdir(below):
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        # What cannot be shown stays hidden: a symbolic link, or a file that just went.
        with contextlib.suppress(OSError):
            mount(below, path, None, MS_BIND | MS_REC, None)
        os.close(handle)


def private_folders(base: str) -> PrivateFolders | None:
    """Private folders with their layer on disk or in memory, whichever a process of its own finds
    to work; None where neither does.
    """
    for in_memory in (False, True):
        folders = PrivateFolders(base, in_memory=in_memory)
        working = works(lambda: folders.prepare(base, 1 << 20))  # noqa: B023 - called at once
        remove(f"{base}/{LAYERS}")
        if working:
            return folders
    return None


def shared_memory(pids: list[int], folders: list[str], thorough: bool) -> int:
    """Bytes of a run that no process's resident size has: files in its folders, which are kept in
    memory, and segments; looked for only where memory is limited, memory files.
    """
    total, mapped = 0, 0
    for folder in folders:
        with contextlib.suppress(OSError):
            status = os.statvfs(folder)
            total += (status.f_blocks - status.f_bfree) * status.f_frsize
    if not thorough:
        return total
    if folders:
        with open("/proc/sysvipc/shm") as file:
            total += sum(int(line.split()[14]) for line in file.readlines()[1:])
    seen: set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/status") as file:
                mapped += 1024 * int(file.read().split("RssShmem:")[1].split()[0])
            for number in os.listdir(f"/proc/{pid}/fd"):
                path = f"/proc/{pid}/fd/{number}"
                if os.readlink(path).startswith("/memfd:"):
                    file_status = os.stat(path)
                    if file_status.st_ino not in seen:
                        seen.add(file_status.st_ino)
                        total += file_status.st_blocks * 512
    return max(0, total - mapped)
