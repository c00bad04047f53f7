"""What keeps runs apart that are made at the same time: a temporary folder and shared memory of
their own, and process numbers that no two of them share. Part of the supervisor's script.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from truecost.running._processes import libc
else:
    from _processes import libc

CLONE_NEWNS = 0x00020000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_SLAVE = 2, 4, 1 << 12, 1 << 14, 1 << 19
LAST_PID = "/proc/sys/kernel/ns_last_pid"
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - covered by a private one
# Numbers below are the kernel's own.
RESERVED = 300


def claim_numbers() -> tuple[int, int] | None:
    """A range of process numbers that no other slot on this machine uses; None if all are taken.

    Held by a socket in the kernel's abstract name space: it goes with this process, whatever ends
    it, needs no file, and another user's cannot be in the way.
    """
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


def mount(source: str, target: str, kind: bytes | None, flags: int, data: bytes | None) -> None:
    """Mount, or raise."""
    if libc.mount(source.encode(), target.encode(), kind, flags, data):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def isolate(base: str, folder: str, size: int | None, where: str) -> None:
    """Give this process, and whoever descends from it, a temporary folder and shared memory of its
    own.

    What is in /tmp stays visible, and what is written there goes to a layer above it, on the disk
    of `base` or in memory. The scenario's folder and `base` are as before, should they be in /tmp.
    Only these processes see the mounts: whoever removes the layer cannot reach what is below it.
    """
    if libc.unshare(CLONE_NEWNS):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    mount("none", "/", None, MS_REC | MS_SLAVE, None)
    shared = os.path.realpath("/tmp")  # noqa: S108 - this is the folder to be covered
    kept = [os.path.realpath(path) for path in (base, folder)]
    kept = [path for path in kept if path.startswith(f"{shared}/")]
    handles = [os.open(path, os.O_PATH) for path in kept]
    private = f"{base}/private"
    os.mkdir(private)
    limit = b"mode=1777" if size is None else b"mode=1777,size=%d" % size
    if where == "memory":
        mount("tmpfs", private, b"tmpfs", MS_NOSUID | MS_NODEV, limit)
    layers = [f"{private}/upper", f"{private}/work"]
    for layer in layers:
        os.mkdir(layer)
    os.chmod(layers[0], 0o1777)  # noqa: S103 - as temporary folders are
    options = f"lowerdir={shared},upperdir={layers[0]},workdir={layers[1]}"
    # Without "volatile" the disk would be synchronised at the end of every run; without "userxattr"
    # only root may do it.
    for more in (",volatile,userxattr", ",volatile", ",userxattr", ""):
        try:
            mount("overlay", shared, b"overlay", 0, (options + more).encode())
            break
        except OSError as error:
            failure = error
    else:
        raise failure
    for path, handle in zip(kept, handles, strict=True):
        mount(f"/proc/self/fd/{handle}", path, None, MS_BIND | MS_REC, None)
        os.close(handle)
    _cover_shared_memory(limit)


def _cover_shared_memory(limit: bytes) -> None:
    """Private shared memory, in which what is there now stays visible: instances are kept there for
    speed.
    """
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


def can_isolate(base: str) -> str | None:
    """Where runs can have what they write to /tmp, "disk" or "memory", found by trying it in a
    process of its own; None where they cannot.
    """
    for where in ("disk", "memory"):
        folder = f"{base}/{where}"
        os.mkdir(folder)
        child = os.fork()
        if child == 0:
            try:
                isolate(folder, folder, 1 << 20, where)
                os._exit(0)
            finally:
                os._exit(1)
        if os.waitpid(child, 0)[1] == 0:
            return where
    return None


def shared_memory(pids: list[int], folders: list[str], thorough: bool) -> int:
    """Bytes of a run that no process's resident size has: files in its folders that are kept in
    memory and, looked for only where memory is limited, memory files.
    """
    total, mapped = 0, 0
    seen: set[int] = set()
    for place, pid in enumerate(pids):
        if place == 0:
            for folder in folders:
                with contextlib.suppress(OSError):
                    status = os.statvfs(f"/proc/{pid}/root{folder}")
                    total += (status.f_blocks - status.f_bfree) * status.f_frsize
        if not thorough:
            break
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
