"""Runs a program of the folder `simulations`, for instance one seed of a simulation, and prints its actions.

python tests/simulation {simulation,cluster,cluster_forks,durability,broker_faults} SEED
python tests/simulation {ruled_requests,all_operations} SEED
python tests/simulation simulation SEED --journal
python tests/simulation {short_schedules,long_run} ...
"""

import sys
from pathlib import Path
from runpy import run_path

FOLDER = Path(__file__).resolve().parent

if __name__ == "__main__":
    sys.path[:0] = [str(FOLDER / "model"), str(FOLDER / "simulations"), str(FOLDER.parent / "support")]
    sys.argv = sys.argv[1:]
    run_path(str(FOLDER / "simulations" / f"{sys.argv[0]}.py"), run_name="__main__")
