"""Write the canonical text of the JSON files of the corpus into data/canonical/.

    python data/make/canonical_json.py

The canonical text is json.dumps(json.loads(raw), ensure_ascii=False, indent=2) and a final newline.
"""

import json
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent
NAMES = ("api_departures.json", "api_fares.json")

for name in NAMES:
    raw = (DATA / "corpus" / name).read_text(encoding="utf-8")
    text = json.dumps(json.loads(raw), ensure_ascii=False, indent=2) + "\n"
    out = DATA / "canonical" / f"{name}.txt"
    out.parent.mkdir(exist_ok=True)
    out.write_text(text, encoding="utf-8", newline="\n")
    print(f"{name}: {len(raw):,} -> {len(text):,} characters")
