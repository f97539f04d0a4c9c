// The uniform grid under spatial queries.
//
// Promise: a query gives exactly the points that the plain formula selects,
//     (x - cx)^2 + (y - cy)^2 + (z - cz)^2 <= r * r      in doubles, summed left to right,
// whatever the size of the cells. The grid decides what is looked at, never what is found.
//
// Order: `radius` gives rows ascending, `nearest` gives (distance, row) ascending.
//
// A point with a coordinate that is not finite is nowhere: no query finds it. A query whose
// centre is not finite finds nothing.
//
// How it is laid out. The bounds are taken from quantiles of a sample and everything outside
// them is clamped into the border cells, so that one runaway entity does not stretch the
// cells of all the others. Cells along x are neighbours in memory: a query walks a few
// contiguous spans. Clamping and flooring are monotone, which is what makes skipping a cell
// safe (see `reach`).
//
// Not thread-safe while it is built; any number of threads may query a built grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mainspring::space {

using Row = std::int32_t;

/// What one query needs while it runs; kept by the caller so that a batch allocates once.
struct Scratch {
    std::size_t found = 0; ///< how many of the next two count; they never shrink
    std::vector<double> distances_squared;
    std::vector<Row> rows;
    std::vector<std::uint32_t> order;
    std::vector<std::uint64_t> bits;
};

/// A finite point and its row; half a cache line, moved as one.
struct Placed {
    double x, y, z;
    Row row;
};

/// Many results in one go: those of query i are [offsets[i], offsets[i + 1]).
struct Results {
    std::vector<std::int64_t> offsets;
    std::vector<Row> rows;
    std::vector<double> distances; ///< only of `nearest`
};

/// One axis of the grid.
struct Axis {
    double low = 0.0;     ///< where cell 0 begins
    double inverse = 0.0; ///< cells per unit; 0 when the axis is a single cell
    std::int32_t cells = 1;

    /// The cell of a finite coordinate, clamped; monotone in `x`.
    [[nodiscard]] std::int32_t cell_of(double x) const noexcept {
        if (cells == 1) return 0;
        const double at = (x - low) * inverse;
        if (!(at > 0.0)) return 0;
        if (at >= static_cast<double>(cells)) return cells - 1;
        return static_cast<std::int32_t>(at);
    }
};

class Grid {
public:
    /// Takes `count` points, three doubles each. Builds again only when a byte of them differs
    /// from those of the last build; says whether it did.
    bool update(const double* points, std::size_t count);

    [[nodiscard]] std::size_t size() const noexcept { return raw_.size() / 3; }
    [[nodiscard]] std::uint64_t builds() const noexcept { return builds_; }
    [[nodiscard]] std::size_t cells() const noexcept { return starts_.empty() ? 0 : starts_.size() - 1; }

    /// Appends to `out` the rows within `radius` of `center`, ascending, and never `skip`.
    /// `radius` is not negative and not NaN; it may be infinite.
    void radius(const double* center, double radius, Row skip, Scratch& scratch, std::vector<Row>& out) const;

    /// Appends to `out_rows` and `out_squared` the `count` nearest points within `radius_max`,
    /// nearest first and the lower row first among equals, and never `skip`.
    void nearest(const double* center, std::size_t count, double radius_max, Row skip, Scratch& scratch,
                 std::vector<Row>& out_rows, std::vector<double>& out_squared) const;

    /// The two queries for `count` centers at once, results in the order of the centers. A batch
    /// is worked through cell by cell, so that neighbours share what is in the cache.
    /// `radii` holds one radius for all (`radii_count` 1) or one for each; `skips` is null or
    /// holds one row for each.
    [[nodiscard]] Results radius_batch(const double* centers, std::size_t count, const double* radii,
                                       std::size_t radii_count, const Row* skips) const;
    [[nodiscard]] Results nearest_batch(const double* centers, std::size_t count, std::size_t k, double radius_max,
                                        const Row* skips) const;

private:
    struct Box {
        std::int32_t x0, x1, y0, y1, z0, z1; // inclusive
        bool everything;
    };

    void build();
    void choose_axes();
    [[nodiscard]] Box reach(const double* center, double radius) const noexcept;
    /// Fills the scratch with everything in the box that the formula selects.
    void collect(const double* center, double radius, Row skip, const Box& box, Scratch& scratch) const;
    void sort_rows(Scratch& scratch) const;
    [[nodiscard]] std::uint32_t cell_at(const double* p) const noexcept;
    /// The order in which a batch is worked through; empty for a small one, which is taken as it comes.
    [[nodiscard]] std::vector<std::uint32_t> order_of(const double* centers, std::size_t count) const;

    std::vector<double> raw_;           // the points as given: what `update` compares with
    std::vector<Placed> placed_;        // finite points in order of cell, rows ascending within
    std::vector<std::uint32_t> starts_; // where each cell begins in them, and the end
    std::vector<std::uint32_t> cell_of_row_;
    Axis x_, y_, z_;
    double first_radius_ = 0.0; // where `nearest` begins to look, for one neighbour
    std::uint64_t builds_ = 0;
};

} // namespace mainspring::space
