"""The process a Python function is called in: `python _call.py file.py name JSON`, without
truecost.

A target is called with those of configuration (or config, as in SMAC3), instance, seed, cutoff and
extras that it names as parameters; it returns a number, a tuple that starts with it, or a mapping
with any of status, value and time. What it returned goes to standard output as a wrapper's answer.
JSON with "check" calls a check of an answer: `function(instance, output)` returns what is wrong, or
None; the exit code is then 1 and the reason is printed.

With `--loaded SOCKET` in the place of JSON the file is loaded once, and each message of the socket
calls the function in a process of its own.
"""

from __future__ import annotations

# All before the forks that need them.
import ctypes
import importlib.util
import inspect
import json
import os
import socket
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PR_SET_PDEATHSIG, SIGKILL = 1, 9


def main() -> None:
    """Call the function, or wait for calls of it."""
    path, name, payload, *rest = sys.argv[1:]
    function = load(path, name)
    if payload != "--loaded":
        call(function, payload)
        return
    if threading.active_count() == 1:
        serve(function, socket.socket(fileno=int(rest[0])))
    # With threads of its own it cannot be forked safely: it ends, and is loaded for every run.


def load(path: str, name: str) -> Callable[..., Any]:
    """The function of a file."""
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("target", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickle look their module up there.
    sys.modules["target"] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, name)
    return function


def call(function: Callable[..., Any], payload: str) -> None:
    """Call it and print its answer."""
    known = json.loads(payload)
    if "check" in known:
        check(function, *known["check"])
        return
    named, takes_all = parameters(function)
    if "config" in named:
        known["config"] = known.pop("configuration")
    returned = function(**{key: value for key, value in known.items() if takes_all or key in named})
    # SMAC3 takes the cost together with additional information.
    returned = returned[0] if isinstance(returned, tuple) else returned
    answer = dict(returned) if hasattr(returned, "keys") else {"value": float(returned)}
    sys.stdout.flush()
    # On a line of its own, whatever the function printed before.
    sys.stdout.write(
        "\nResult of this algorithm run: "
        + json.dumps({"status": "SUCCESS", **answer}, default=float)
        + "\n"
    )
    sys.stdout.flush()


def check(function: Callable[..., Any], instance: str, output: str) -> None:
    """Call it with an instance and the output in a file; exit with 1 if it finds a fault."""
    with open(output, encoding="utf-8", errors="replace") as file:
        reason = function(instance, file.read())
    if reason:
        sys.stdout.write(f"\n{str(reason)[:200]}\n")
        sys.stdout.flush()
        sys.exit(1)


def parameters(function: Callable[..., Any]) -> tuple[set[str], bool]:
    """The names of its parameters, and whether it takes any other by name."""
    known = inspect.signature(function).parameters.values()
    kinds = {parameter.name: parameter.kind for parameter in known}
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name for name, kind in kinds.items() if kind not in rest}, rest[1] in kinds.values()


def serve(function: Callable[..., Any], requests: socket.socket) -> None:
    """Call it whenever a message asks for it, until the other side closes."""
    die_with = ctypes.CDLL(None).prctl
    requests.send(b"ready")
    while True:
        message, handles, _, _ = socket.recv_fds(requests, 1 << 22, 8)
        if not message:
            return
        # The process between goes at once: then the supervisor, not we, is the parent of the run.
        between = os.fork()
        if between == 0:
            parent = os.getpid()
            run = os.fork()
            if run:
                requests.send(str(run).encode())
                os._exit(0)
            requests.close()
            # Wait until its parent is gone: a target that kills its parent must not do so before
            # the supervisor, which becomes the new parent, got its number.
            while os.getppid() == parent:
                time.sleep(0.0001)
            die_with(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
            become(function, json.loads(message), handles)
        os.waitpid(between, 0)
        for handle in handles:
            os.close(handle)


def become(function: Callable[..., Any], asked: dict[str, Any], handles: list[int]) -> None:
    """Be the process of a run: with its output, its folder and its environment."""
    code = 1
    try:
        os.setsid()
        for place, handle in enumerate(handles[:2], 1):
            os.dup2(handle, place)
        for handle in handles:
            os.close(handle)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        call(function, asked["payload"])
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if error.code is not None and not isinstance(error.code, int):
            sys.stderr.write(f"{error.code}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
