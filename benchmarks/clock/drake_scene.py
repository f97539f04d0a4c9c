"""The default scene in pydrake's simulator, run in an environment of its own: prints seconds."""

import sys
import time

from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import LeafSystem


class Scene(LeafSystem):
    """Periodic events with the default scene's rates and numbers of callbacks."""

    def __init__(self) -> None:
        super().__init__()
        for _ in range(7):
            self.DeclarePeriodicPublishEvent(1 / 50, 0.0, lambda context: None)
        for _ in range(2):
            self.DeclarePeriodicPublishEvent(1 / 30, 0.0, lambda context: None)


seconds = float(sys.argv[1])
simulator = Simulator(Scene())
simulator.Initialize()
start = time.perf_counter()
simulator.AdvanceTo(seconds)
print(time.perf_counter() - start)
