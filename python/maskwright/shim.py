"""Run a program with Maskwright in place of XGrammar: ``python -m maskwright.shim CMD...``.

``CMD`` is a Python file, ``-m MODULE``, ``-c CODE``, or any other command. It gets a directory first on ``PYTHONPATH`` in which the package ``xgrammar`` is ``maskwright.compat.xgrammar``, and so do the
processes that it starts. Nothing is installed or changed.
"""

import os
import sys


def directory() -> str:
    """Return the directory with the package ``xgrammar``."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_shim")


def main(arguments: list[str]) -> int:
    """Replace this process by the command."""
    if not arguments:
        print("usage: python -m maskwright.shim (FILE.py | -m MODULE | -c CODE | COMMAND) [ARGUMENT...]", file=sys.stderr)
        return 2
    before = os.environ.get("PYTHONPATH")
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [directory(), package] + ([before] if before else [])
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    is_python = arguments[0].startswith("-") or arguments[0].endswith(".py")
    command = [sys.executable, *arguments] if is_python else arguments
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
