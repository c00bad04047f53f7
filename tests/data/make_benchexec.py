"""Makes the files in benchexec/: `python make_benchexec.py`, with BenchExec.

Two run definitions of a solver that is arithmetic, on five tasks: some runs time out, some fail.
What BenchExec says of the machine is left out of its results.
"""

import bz2
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "benchexec"
BIN = Path(sys.executable).parent
SOLVER = """#!/usr/bin/env python3
import sys, time
size = int(open(sys.argv[-1]).read())
slow = "--slow" in sys.argv
if slow and size == 5: time.sleep(60)
if slow and size == 4: sys.exit(1)
start = time.process_time()
while time.process_time() - start < 0.02 * size * (2 if slow else 1): pass
print("unknown" if size == 3 else "TRUE")
"""
TOOL = """
import benchexec.result as result
import benchexec.tools.template

class Tool(benchexec.tools.template.BaseTool2):
    def executable(self, tool_locator): return "{folder}/solver.py"
    def name(self): return "arithmetic"
    def version(self, executable): return "1.0"
    def determine_result(self, run):
        if run.output.any_line_contains("unknown"): return result.RESULT_UNKNOWN
        return result.RESULT_DONE if run.output.any_line_contains("TRUE") else result.RESULT_ERROR
"""
BENCHMARK = """<?xml version="1.0"?>
<!DOCTYPE benchmark PUBLIC "+//IDN sosy-lab.org//DTD BenchExec benchmark 1.18//EN"
    "https://www.sosy-lab.org/benchexec/benchmark-1.18.dtd">
<benchmark tool=".arithmetic" timelimit="1s" hardtimelimit="2s" walltimelimit="3s">
<rundefinition name="quick"><option name="--quick"/></rundefinition>
<rundefinition name="slow"><option name="--slow"/></rundefinition>
<tasks name="all"><include>task*.txt</include></tasks>
</benchmark>
"""


def make(folder: Path) -> None:
    """Run BenchExec in a folder; its files are in results/."""
    (folder / "solver.py").write_text(SOLVER)
    (folder / "solver.py").chmod(0o755)
    (folder / "arithmetic.py").write_text(TOOL.replace("{folder}", str(folder)))
    (folder / "sizes.xml").write_text(BENCHMARK)
    for size in range(1, 6):
        (folder / f"task{size}.txt").write_text(str(size))
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    words = [str(BIN / "benchexec"), "sizes.xml", "--no-container"]
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)


def main() -> None:
    """Write the files anew."""
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        for path in sorted(folder.glob("results/*.bz2")):
            text = bz2.decompress(path.read_bytes()).decode()
            text = re.sub(r"  <systeminfo.*</systeminfo>\n", "", text, flags=re.DOTALL)
            kind = re.search(r"results\.(\w+)\.", path.name)
            (HERE / f"{kind[1] if kind else path.name}.xml.bz2").write_bytes(
                bz2.compress(text.encode())
            )


if __name__ == "__main__":
    main()
