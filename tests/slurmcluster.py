"""A SLURM of one node on this machine, everything of it in one folder."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from daskcluster import end
from running_tools import until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
KillWait=1
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=3000 State=UNKNOWN
PartitionName=short Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Why there can be no SLURM here."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    lacking = [program for program in PROGRAMS if shutil.which(program, path=path) is None]
    if lacking:
        return f"SLURM is not installed: no {lacking[0]}"
    return None if os.getuid() == 0 else "SLURM's daemons want root"


class Slurm:
    """Commands of a SLURM that runs."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def run(self, *words: str, folder: Path | None = None) -> str:
        """What a command prints."""
        return subprocess.run(
            words, cwd=folder, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.strip()


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in range(number)]
        for port in taken:
            port.bind(("127.0.0.1", 0))
        return [port.getsockname()[1] for port in taken]


@contextmanager
def slurm() -> Iterator[Slurm]:
    """SLURM, with all that it runs killed in the end."""
    # munged is another user: it could not reach a folder below pytest's.
    with TemporaryDirectory(prefix="slurm-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield from _slurm(Path(folder))


def _slurm(folder: Path) -> Iterator[Slurm]:
    host = socket.gethostname().partition(".")[0]
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir(parents=True)
    (folder / "slurm.conf").write_text(
        CONFIGURATION.format(host=host, folder=folder, ports=free_ports(2))
    )
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    owner = pwd.getpwnam("munge")
    for path in (folder / "munge", key):
        os.chown(path, owner.pw_uid, owner.pw_gid)
    (folder / "munge").chmod(0o755)
    environment = {
        **os.environ,
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": f"{os.environ['PATH']}:/usr/sbin",
    }
    started: list[subprocess.Popen[bytes]] = []

    def start(words: Sequence[str], user: int | None = None) -> None:
        with (folder / "daemons.log").open("ab") as log:
            started.append(
                subprocess.Popen(words, env=environment, stdout=log, stderr=log, user=user)
            )

    def reached(state: Callable[[], object], what: str) -> None:
        until(lambda: state() or any(daemon.poll() is not None for daemon in started), what)
        ended = [str(daemon.args) for daemon in started if daemon.poll() is not None]
        assert not ended, f"{ended[0]} ended: {(folder / 'daemons.log').read_text()[-2000:]}"

    made = Slurm(environment)
    try:
        files = [f"--{what}-file={folder}/munge/{what}" for what in ("key", "pid", "log", "seed")]
        # Who may reach a test's folder is no matter here: hence --force.
        start(
            ["munged", "--foreground", "--force", f"--socket={folder}/munge/socket", *files],
            user=owner.pw_uid,
        )
        reached((folder / "munge" / "socket").exists, "munged")
        start(["slurmctld", "-D"])
        start(["slurmd", "-D", "-N", host])
        reached(lambda: _idle(made), "the node")
        yield made
    finally:
        if len(started) > 1:
            subprocess.run(
                ["scancel", "--full", "--signal=KILL", "--user=root"], env=environment, check=False
            )
            subprocess.run(["scancel", "--user=root"], env=environment, check=False)
            until(lambda: not made.run("squeue", "--noheader"), "jobs to end")
        end(*started)


def _idle(made: Slurm) -> bool:
    try:
        return made.run("sinfo", "--noheader", "--format=%T") == "idle"
    except subprocess.CalledProcessError:
        return False
