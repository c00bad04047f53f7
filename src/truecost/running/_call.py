"""The process a Python function is called in: `python _call.py file.py name JSON`, without
truecost.

The function is called with those of configuration, instance, seed, cutoff and extras that it names
as parameters; it returns a number, or a mapping with any of status, value and time. What it
returned goes to standard output as a wrapper's answer.
"""

import importlib.util
import inspect
import json
import os
import sys


def main() -> None:
    """Call the function."""
    path, name, payload = sys.argv[1:]
    known = json.loads(payload)
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("target", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["target"] = module
    spec.loader.exec_module(module)
    function = getattr(module, name)
    named = inspect.signature(function).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in named.values())
    returned = function(**{key: value for key, value in known.items() if takes_all or key in named})
    answer = dict(returned) if hasattr(returned, "keys") else {"value": float(returned)}
    sys.stdout.flush()
    # On a line of its own, whatever the function printed before.
    sys.stdout.write(
        "\nResult of this algorithm run: "
        + json.dumps({"status": "SUCCESS", **answer}, default=float)
        + "\n"
    )


if __name__ == "__main__":
    main()
