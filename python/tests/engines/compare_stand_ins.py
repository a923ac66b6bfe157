"""Compares the stand-ins of an engine with the engine that is installed. Ends with one line, and with status 1 if they differ.

Usage: compare_stand_ins.py vllm|sglang
"""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def shapes(engine, path):
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(path), environment.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, str(HERE / "shapes.py"), engine], env=environment, capture_output=True, text=True, check=False
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("SHAPES ")]
    if not lines:
        sys.exit(f"{engine}: no shapes: {run.stderr[-2000:]}")
    return json.loads(lines[0].removeprefix("SHAPES "))


def main():
    engine = sys.argv[1]
    stand_in, real = shapes(engine, HERE / "stand_ins"), shapes(engine, None)
    differences = [name for name in real if real[name] != stand_in[name]]
    for name in differences:
        print(f"DIFFERS {name}: stand-in {stand_in[name]}, engine {real[name]}")
    print(f"{engine} stand-ins: {'FAILED' if differences else 'ok'}: {len(real)} names, {len(differences)} differ")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
