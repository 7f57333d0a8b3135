"""What the tests of the language share: a plain writer that the grammar is compared with."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
