// The grid against the plain formula, over shapes of worlds that are hard on grids.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "space/grid.hpp"

using mainspring::space::Grid;
using mainspring::space::Results;
using mainspring::space::Row;

namespace {

int failures = 0;

void expect(bool held, const std::string& what) {
    if (held) return;
    ++failures;
    std::fprintf(stderr, "failed: %s\n", what.c_str());
}

bool finite(const double* p) { return std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2]); }

std::vector<std::pair<double, Row>> all_within(const std::vector<double>& points, const double* c, double radius) {
    std::vector<std::pair<double, Row>> found;
    if (!finite(c)) return found;
    for (std::size_t row = 0; row * 3 < points.size(); ++row) {
        const double* p = points.data() + row * 3;
        if (!finite(p)) continue;
        const double dx = p[0] - c[0];
        const double dy = p[1] - c[1];
        const double dz = p[2] - c[2];
        const double squared = dx * dx + dy * dy + dz * dz;
        if (squared <= radius * radius) found.emplace_back(squared, static_cast<Row>(row));
    }
    return found;
}

void check(const std::string& name, const std::vector<double>& points, const std::vector<double>& centers,
           double radius) {
    Grid grid;
    expect(grid.update(points.data(), points.size() / 3), name + ": the first update builds");
    expect(!grid.update(points.data(), points.size() / 3), name + ": the same points build nothing");
    const std::size_t count = centers.size() / 3;
    const Results within = grid.radius_batch(centers.data(), count, &radius, 1, nullptr);
    constexpr std::size_t k = 5;
    const double infinity = std::numeric_limits<double>::infinity();
    const Results near = grid.nearest_batch(centers.data(), count, k, infinity, nullptr);
    // The plain formula is slow: of a large batch it checks a part.
    const std::size_t stride = count > 1000 ? 41 : 1;
    for (std::size_t i = 0; i < count; i += stride) {
        std::vector<Row> expected;
        for (const auto& [squared, row] : all_within(points, &centers[i * 3], radius)) expected.push_back(row);
        const std::vector<Row> got(within.rows.begin() + within.offsets[i], within.rows.begin() + within.offsets[i + 1]);
        expect(got == expected, name + ": radius query " + std::to_string(i));
        auto all = all_within(points, &centers[i * 3], infinity);
        std::sort(all.begin(), all.end());
        all.resize(std::min(all.size(), k));
        std::vector<Row> nearest;
        for (const auto& [squared, row] : all) nearest.push_back(row);
        const std::vector<Row> got_near(near.rows.begin() + near.offsets[i], near.rows.begin() + near.offsets[i + 1]);
        expect(got_near == nearest, name + ": nearest query " + std::to_string(i));
    }
}

std::vector<double> cloud(std::mt19937_64& random, std::size_t count, double x, double y, double z) {
    std::vector<double> points;
    std::uniform_real_distribution<double> unit(0.0, 1.0);
    for (std::size_t i = 0; i < count; ++i) {
        points.push_back(x * unit(random));
        points.push_back(y * unit(random));
        points.push_back(z * unit(random));
    }
    return points;
}

} // namespace

int main() {
    std::mt19937_64 random(20240607);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();

    check("empty", {}, {0, 0, 0}, 1.0);
    check("one", {1, 2, 3}, {1, 2, 3, 4, 5, 6}, 0.0);
    for (const double radius : {0.0, 0.1, 3.0, 40.0, 1e9}) {
        const auto box = cloud(random, 300, 50, 50, 50);
        check("box", box, box, radius);
        const auto flat = cloud(random, 300, 50, 50, 0);
        check("flat", flat, flat, radius);
        const auto line = cloud(random, 300, 50, 0, 0);
        check("line", line, line, radius);
        auto lattice = cloud(random, 300, 6, 6, 6);
        for (double& value : lattice) value = std::floor(value); // many ties
        check("lattice", lattice, lattice, radius);
        auto outlier = cloud(random, 300, 10, 10, 10);
        outlier[7] = 1e12;
        outlier[9] = -1e300;
        outlier[31] = nan;
        outlier[64] = inf;
        check("outlier", outlier, outlier, radius);
        const auto far = cloud(random, 300, 1e-3, 1e-3, 1e-3);
        check("far centers", far, {1e6, 0, 0, -1e6, 5, 5, 0, 1e200, 0}, radius);
    }
    const auto huge = cloud(random, 200, 1e308, 1e308, 1e308);
    check("huge", huge, huge, 1e300);
    const auto tiny = cloud(random, 200, 1e-160, 1e-160, 1e-160);
    check("tiny", tiny, tiny, 1e-161);
    // Large enough for a batch to be worked through by cell.
    const auto many = cloud(random, 6000, 40, 40, 40);
    check("batch", many, many, 2.0);

    if (failures != 0) return EXIT_FAILURE;
    std::puts("grid: ok");
    return EXIT_SUCCESS;
}
