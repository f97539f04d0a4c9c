"""`python -m examples.robot_cell`."""

import sys

from examples.robot_cell.demo import main

sys.exit(main())
