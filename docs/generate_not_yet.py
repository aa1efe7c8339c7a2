"""Write docs/not_yet.md from the table of names that are not here yet."""

from pathlib import Path

from ppl.model.names.elsewhere import page

PLACE = Path(__file__).with_name("not_yet.md")

if __name__ == "__main__":
    PLACE.write_text(page(), encoding="utf-8")
