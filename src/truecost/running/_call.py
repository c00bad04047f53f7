"""The process in which a Python function is called: `python _call.py file.py name JSON`, without
truecost.

A target is called with those of configuration (or config, as in SMAC3), instance, seed, cutoff and
extras that it has as parameters. It returns a number, a tuple that starts with it, or a mapping
with any of status, value and time, which is printed as a wrapper's answer. JSON with "check" calls
a check of an answer, `function(instance, output)`, which returns what is wrong, or None: the fault
is printed, and the exit code is 1.

With `--serve SOCKET` instead of JSON the file is loaded once, and each message of the socket calls
the function in a new process.
"""

from __future__ import annotations

# All before the forks that need them.
import ctypes
import importlib.util
import inspect
import json
import marshal
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
    sys.argv = [path]
    # As if the file were the script: our modules must not hide others of the same name.
    here = os.path.dirname(os.path.realpath(__file__))
    folder = os.path.dirname(os.path.abspath(path))
    sys.path[:] = [folder, *(place for place in sys.path if place != here)]
    # Importable by that name in the processes that it starts.
    title = os.path.splitext(os.path.basename(path))[0]
    function = load(path, name, "target" if title in sys.modules else title)
    if payload != "--serve":
        call(function, payload)
    elif threading.active_count() == 1:
        serve(function, socket.socket(fileno=int(rest[0])))
    # With threads of its own it cannot be forked safely: it ends, and is loaded for every run.


def load(path: str, name: str, title: str) -> Callable[..., Any]:
    """A function of a file, which becomes a module with this title."""
    spec = importlib.util.spec_from_file_location(title, path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and pickle look their module up there.
    sys.modules[title] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, name)
    return function


def call(function: Callable[..., Any], payload: str) -> None:
    """Call it and print its answer."""
    arguments = json.loads(payload)
    if "check" in arguments:
        check(function, *arguments["check"])
        return
    names, takes_any = parameters(function)
    if "config" in names:
        arguments["config"] = arguments.pop("configuration")
    returned = function(
        **{name: value for name, value in arguments.items() if takes_any or name in names}
    )
    # SMAC3 takes the cost together with additional information.
    returned = returned[0] if isinstance(returned, tuple) else returned
    answer = dict(returned) if hasattr(returned, "keys") else {"value": float(returned)}
    text = json.dumps({"status": "SUCCESS", **answer}, default=float)
    # On a line of its own, whatever the function printed before.
    print(f"\nResult of this algorithm run: {text}", flush=True)


def check(function: Callable[..., Any], instance: str, output: str) -> None:
    """Call it with an instance and the output in a file; exit with 1 if it finds a fault."""
    with open(output, encoding="utf-8", errors="replace") as file:
        reason = function(instance, file.read())
    if reason:
        print(f"\n{str(reason)[:200]}", flush=True)
        sys.exit(1)


def parameters(function: Callable[..., Any]) -> tuple[set[str], bool]:
    """The names of its parameters, and whether it takes any other by name (**kwargs)."""
    kinds = {name: item.kind for name, item in inspect.signature(function).parameters.items()}
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
            become(function, marshal.loads(message), handles)
        os.waitpid(between, 0)
        for handle in handles:
            os.close(handle)


def become(function: Callable[..., Any], request: dict[str, Any], handles: list[int]) -> None:
    """Become the process of a run: with its output, its folder and its environment."""
    code: Any = 1
    try:
        os.setsid()
        for place, handle in enumerate(handles, 1):
            os.dup2(handle, place)
            os.close(handle)
        os.chdir(request["folder"])
        # Python's own generator gets a new seed in every fork; NumPy's would repeat its numbers.
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()
        os.environ.clear()
        os.environ.update(request["environment"])
        call(function, request["payload"])
        code = 0
    except SystemExit as error:
        code = error.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
