"""Rankers of the lab, trained with `clickvec lab table`."""
import re
import shutil
import subprocess
import tempfile
from pathlib import Path


def train(clickvec, specs, folder, *data):
    """Trains each of the rankers, and leaves it in the folder. Returns the files, which are named after the rankers."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    files = []
    for spec in specs:
        with tempfile.TemporaryDirectory() as cache:
            command = [clickvec, "lab", "table", "--ranker", spec, "--cache", cache, *data]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            (trained,) = (Path(cache) / "models").glob("*.safetensors")
            files.append(folder / (re.sub(r"[^\w.=,-]", "_", spec) + ".safetensors"))
            shutil.move(trained, files[-1])
    return files


def judge(clickvec, files, runs, judged):
    """Writes the runs of rankers in files to a folder."""
    subprocess.run([clickvec, "evaluate", *files, "--judged", judged, "--output", runs], check=True, stdout=subprocess.DEVNULL)
