"""The uniform grid under spatial queries."""

import numpy
import numpy.typing


class Grid:
    """A uniform grid over points, built again only when a point changed."""

    def __init__(self) -> None: ...

    def update(self, points: numpy.typing.NDArray[numpy.float64]) -> bool:
        """Take these points; say whether the grid had to be built."""

    def radius(self, centers: numpy.typing.NDArray[numpy.float64], radii: numpy.typing.NDArray[numpy.float64], skip: numpy.typing.NDArray[numpy.int32]) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32]]:
        """Offsets and rows of the points around each center, rows ascending."""

    def nearest(self, centers: numpy.typing.NDArray[numpy.float64], k: int, radius_max: float, skip: numpy.typing.NDArray[numpy.int32]) -> tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32], numpy.typing.NDArray[numpy.float64]]:
        """
        Offsets, rows and distances of the k points nearest to each center, nearest first.
        """

    @property
    def builds(self) -> int:
        """How often the grid was built."""

    @property
    def cells(self) -> int:
        """How many cells it has."""

    def __len__(self) -> int: ...
