"""The process a Python function is called in: `python _call.py file.py name JSON`, without
truecost.

The function is called with those of configuration (or config, as SMAC3 calls it), instance, seed,
cutoff and extras that it names as parameters; it returns a number, a tuple that starts with it, or
a mapping with any of status, value and time. What it
returned goes to standard output as a wrapper's answer.

With `--warm SOCKET` in the place of JSON the file is loaded once, and each message of the socket
calls the function in a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time

TYPE_CHECKING = False  # typing takes longer to load than a run
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

# Of a function's code: that it has a parameter like **rest.
VAR_KEYWORDS = 0x08


def main() -> None:
    """Call the function, or wait for calls of it."""
    path, name, payload, *rest = sys.argv[1:]
    function = load(path, name)
    if payload == "--warm":
        import inspect  # noqa: F401 - before the forks that may need it
        import socket

        serve(function, socket.socket(fileno=int(rest[0])))
    else:
        call(function, payload)


def load(path: str, name: str) -> Callable[..., Any]:
    """The function of a file."""
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("target", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["target"] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = getattr(module, name)
    return function


def call(function: Callable[..., Any], payload: str) -> None:
    """Call it and print its answer."""
    named, takes_all = parameters(function)
    known = json.loads(payload)
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


def parameters(function: Callable[..., Any]) -> tuple[set[str], bool]:
    """The names of its parameters, and whether it takes any other by name."""
    if type(function) is type(main) and not {"__wrapped__", "__signature__"} & set(vars(function)):
        code = function.__code__
        number = code.co_argcount + code.co_kwonlyargcount
        return set(code.co_varnames[:number]), bool(code.co_flags & VAR_KEYWORDS)
    # Methods, classes and what decorators made; it takes longer to load than a bare Python.
    import inspect

    known = inspect.signature(function).parameters.values()
    kinds = {parameter.name: parameter.kind for parameter in known}
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name for name, kind in kinds.items() if kind not in rest}, rest[1] in kinds.values()


def serve(function: Callable[..., Any], requests: socket.socket) -> None:
    """Call it whenever a message asks for it, until the other side closes."""
    import socket

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
            # Not before its parent is gone, or a target that kills its parent could do so before
            # the supervisor was sent the number of the run, for which it waits.
            while os.getppid() == parent:
                time.sleep(0.0001)
            become(function, json.loads(message), handles)
        os.waitpid(between, 0)
        for handle in handles:
            os.close(handle)


def become(function: Callable[..., Any], asked: dict[str, Any], handles: list[int]) -> None:
    """Be the process of a run: with its output, its folder, its environment and its group."""
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
        if asked["group"]:
            with open(asked["group"], "w") as file:
                file.write("0")
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
