// Python's view of the grid: NumPy arrays in, NumPy arrays out, the interpreter free meanwhile.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "space/grid.hpp"

namespace nb = nanobind;
using mainspring::space::Grid;
using mainspring::space::Row;
using mainspring::space::Results;

namespace {

using Points = nb::ndarray<const double, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const std::int32_t, nb::shape<-1>, nb::c_contig, nb::device::cpu>;

/// A NumPy array that owns what was in the vector.
template <typename T>
nb::object array_of(std::vector<T>&& values) {
    auto* held = new std::vector<T>(std::move(values));
    nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::shape<-1>>(held->data(), {held->size()}, owner));
}

void check_radii(const Values& radii, std::size_t count) {
    if (radii.shape(0) != count && radii.shape(0) != 1) {
        throw nb::value_error("radii: give one radius, or one for each center");
    }
    for (std::size_t i = 0; i < radii.shape(0); ++i) {
        if (std::isnan(radii.data()[i]) || radii.data()[i] < 0.0) {
            throw nb::value_error("radii: a radius is a number from 0 up");
        }
    }
}

void check_skip(const Rows& skip, std::size_t count) {
    if (skip.shape(0) != count && skip.shape(0) != 0) {
        throw nb::value_error("skip: give one row for each center, or none");
    }
}

const Row* data_or_null(const Rows& skip) { return skip.shape(0) == 0 ? nullptr : skip.data(); }

void check_size(const Points& points) {
    // Up to eight cells for a pair of points must still be counted in 32 bits.
    if (points.shape(0) > (std::size_t{1} << 28)) {
        throw nb::value_error("points: a grid holds at most 2^28 points");
    }
}

nb::tuple radius(const Grid& grid, const Points& centers, const Values& radii, const Rows& skip) {
    const std::size_t count = centers.shape(0);
    check_radii(radii, count);
    check_skip(skip, count);
    Results results;
    {
        nb::gil_scoped_release released;
        results = grid.radius_batch(centers.data(), count, radii.data(), radii.shape(0), data_or_null(skip));
    }
    return nb::make_tuple(array_of(std::move(results.offsets)), array_of(std::move(results.rows)));
}

nb::tuple nearest(const Grid& grid, const Points& centers, std::size_t k, double radius_max, const Rows& skip) {
    const std::size_t count = centers.shape(0);
    check_skip(skip, count);
    if (std::isnan(radius_max) || radius_max < 0.0) {
        throw nb::value_error("radius_max: a radius is a number from 0 up");
    }
    Results results;
    {
        nb::gil_scoped_release released;
        results = grid.nearest_batch(centers.data(), count, k, radius_max, data_or_null(skip));
    }
    return nb::make_tuple(array_of(std::move(results.offsets)), array_of(std::move(results.rows)),
                          array_of(std::move(results.distances)));
}

} // namespace

void bind_space(nb::module_& m) {
    nb::class_<Grid>(m, "Grid", "A uniform grid over points, built again only when a point changed.")
        .def(nb::init<>())
        .def(
            "update",
            [](Grid& grid, const Points& points) {
                check_size(points);
                return grid.update(points.data(), points.shape(0));
            },
            nb::arg("points").noconvert(),
            nb::sig("def update(self, points: numpy.typing.NDArray[numpy.float64]) -> bool"),
            "Take these points; say whether the grid had to be built.")
        .def("radius", &radius, nb::arg("centers"), nb::arg("radii"), nb::arg("skip"),
             nb::sig("def radius(self, centers: numpy.typing.NDArray[numpy.float64], radii: "
                     "numpy.typing.NDArray[numpy.float64], skip: numpy.typing.NDArray[numpy.int32]) -> "
                     "tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32]]"),
             "Offsets and rows of the points around each center, rows ascending.")
        .def("nearest", &nearest, nb::arg("centers"), nb::arg("k"), nb::arg("radius_max"), nb::arg("skip"),
             nb::sig("def nearest(self, centers: numpy.typing.NDArray[numpy.float64], k: int, radius_max: "
                     "float, skip: numpy.typing.NDArray[numpy.int32]) -> "
                     "tuple[numpy.typing.NDArray[numpy.int64], numpy.typing.NDArray[numpy.int32], "
                     "numpy.typing.NDArray[numpy.float64]]"),
             "Offsets, rows and distances of the k points nearest to each center, nearest first.")
        .def_prop_ro("builds", &Grid::builds, "How often the grid was built.")
        .def_prop_ro("cells", &Grid::cells, "How many cells it has.")
        .def("__len__", &Grid::size);
}
