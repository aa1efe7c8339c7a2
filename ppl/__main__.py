"""`python -m ppl script.py`: see ppl.alias.command."""

import sys

from ppl.alias.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
