"""Execute notebooks and write their outputs back: `make run`, or for some of them

    python tests/run_notebooks.py notebooks/01_character.ipynb

Everything that differs from run to run is left out (times, widget ids), so a second run
changes nothing. A notebook with an error is not written.
"""

import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

os.environ["TQDM_DISABLE"] = "1"  # a bar would show on the first run only

KEPT_METADATA = ("tags", "jupyter", "collapsed")  # of a cell; `jupyter` folds source or outputs
WIDGET = "application/vnd.jupyter.widget-view+json"  # holds an id that is new on every run


def run(path: Path) -> bool:
    """Execute one notebook in its own folder; return whether the file changed."""
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=3600,  # recorded anew, the replies of one cell take half an hour
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
        # nbval does the same, so `_` and a trailing semicolon mean the same to both.
        extra_arguments=["--HistoryManager.enabled=False", "--IPKernelApp.log_level=ERROR"],
    )
    client.execute()
    clean(notebook)
    nbformat.validate(notebook)
    after = nbformat.writes(notebook) + "\n"
    if after != before:
        path.write_text(after, encoding="utf-8", newline="\n")
    return after != before


def clean(notebook: nbformat.NotebookNode) -> None:
    """Leave only what does not depend on time, machine or editor."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    count = 0
    for cell in notebook.cells:
        cell.metadata = {k: v for k, v in cell.metadata.items() if k in KEPT_METADATA}
        if cell.cell_type != "code":
            continue
        cell.execution_count = None
        if cell.source.strip():
            count += 1
            cell.execution_count = count
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = cell.execution_count
            if output.output_type in ("display_data", "execute_result"):
                output.data.pop(WIDGET, None)
                output.metadata = {}


def main(names: list[str]) -> int:
    """Run the notebooks named; return 1 if one of them failed."""
    failed = False
    for path in map(Path, names):
        print(f"{path} ...", end=" ", flush=True)
        try:
            print("refreshed" if run(path) else "unchanged")
        except CellExecutionError as error:
            print(f"failed, left as it was:\n{error}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
