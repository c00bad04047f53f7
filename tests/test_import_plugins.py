import subprocess
import sys
import zipfile
from pathlib import Path

PLUGIN = """
from pathlib import Path
from truecost import CostMatrix
from truecost.importers.registry import Importer
from truecost.matrix.imported import Import
from truecost.runs import Trajectory

def read(path, options):
    lines = path.read_text().splitlines()[1:]
    costs = [[float(word) for word in line.split()] for line in lines]
    names = [f"c{place}" for place in range(len(costs))]
    matrix = CostMatrix(costs, names, [f"i{place}" for place in range(len(costs[0]))], 0, 10)
    return Import(kind="grid", matrix=matrix, trajectory=Trajectory(tool="grid"))

def recognise(candidate):
    return candidate.text.startswith("GRID")

IMPORTER = Importer(name="grid", title="grids", recognise=recognise, read=read)
"""


def installed(folder: Path, module: str, entry: str) -> Path:
    """A small package that pip has installed into a folder, from a wheel written here."""
    wheel = folder / "gridplugin-1.0-py3-none-any.whl"
    about = "gridplugin-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gridplugin.py", module)
        archive.writestr(
            f"{about}/METADATA", "Metadata-Version: 2.1\nName: gridplugin\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/entry_points.txt", f"[truecost.importers]\ngrid = {entry}\n")
        archive.writestr(f"{about}/RECORD", "")
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*words, "--target", folder / "site", wheel], check=True)
    return folder / "site"


def imported(site: Path, path: Path) -> subprocess.CompletedProcess[str]:
    """What a Python that has the package makes of a file."""
    script = (
        f"import sys; sys.path.insert(0, {str(site)!r}); import truecost\n"
        f"log = truecost.import_runs({str(path)!r}); print(log.kind, log.matrix.costs.sum())"
    )
    words = [sys.executable, "-c", script]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_a_package_adds_a_format(tmp_path: Path) -> None:
    """An importer of another package would not be found, or be asked after the one of tables."""
    (tmp_path / "runs.grid").write_text("GRID\n1 2 3\n4 5 6\n")
    site = installed(tmp_path, PLUGIN, "gridplugin:IMPORTER")
    answer = imported(site, tmp_path / "runs.grid")
    assert answer.stdout == "grid 21.0\n", answer.stderr


def test_a_broken_package_harms_nobody(tmp_path: Path) -> None:
    """A package whose importer cannot be loaded would stop the import of everything else."""
    (tmp_path / "runs.csv").write_text("configuration,instance,cost\na,i,1\nb,i,2\n")
    site = installed(tmp_path, "raise RuntimeError('broken')", "gridplugin:IMPORTER")
    answer = imported(site, tmp_path / "runs.csv")
    assert answer.stdout == "table 3.0\n"
    assert "The importer 'grid' cannot be used: RuntimeError: broken" in answer.stderr
