#include "space/grid.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace mainspring::space {

namespace {

constexpr double points_per_cell = 2.0;
constexpr std::size_t sample_max = 256;
constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

bool finite(const double* p) noexcept { return std::isfinite(p[0]) && std::isfinite(p[1]) && std::isfinite(p[2]); }

struct Span {
    double low;
    double high;
    [[nodiscard]] double width() const noexcept { return high - low; }
};

/// Bounds that hold all but a few of the sample, widened a little, never wider than the sample.
Span core(std::vector<double>& sample) {
    std::sort(sample.begin(), sample.end());
    const std::size_t cut = sample.size() / 50;
    const double low = sample[cut];
    const double high = sample[sample.size() - 1 - cut];
    const double margin = 0.05 * (high - low);
    return {std::max(sample.front(), low - margin), std::min(sample.back(), high + margin)};
}

} // namespace

bool Grid::update(const double* points, std::size_t count) {
    const std::size_t bytes = count * 3 * sizeof(double);
    if (builds_ != 0 && raw_.size() == count * 3 && (bytes == 0 || std::memcmp(raw_.data(), points, bytes) == 0)) {
        return false;
    }
    raw_.assign(points, points + count * 3);
    build();
    ++builds_;
    return true;
}

void Grid::choose_axes() {
    const std::size_t count = size();
    const std::size_t stride = std::max<std::size_t>(1, count / sample_max);
    std::array<std::vector<double>, 3> samples;
    for (std::size_t row = 0; row < count; row += stride) {
        const double* p = raw_.data() + row * 3;
        if (!finite(p)) continue;
        for (std::size_t axis = 0; axis < 3; ++axis) samples[axis].push_back(p[axis]);
    }
    const std::array<Axis*, 3> axes{&x_, &y_, &z_};
    for (Axis* axis : axes) *axis = Axis{};
    first_radius_ = 1.0;
    if (samples[0].empty()) return;

    std::array<Span, 3> spans{};
    for (std::size_t axis = 0; axis < 3; ++axis) spans[axis] = core(samples[axis]);

    // Cells are cubes. An axis thinner than a cell is given up and the others share its cells,
    // so a flat world gets a flat grid.
    const double wanted = std::max(1.0, static_cast<double>(count) / points_per_cell);
    std::array<bool, 3> used{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        used[axis] = spans[axis].width() > 0.0 && std::isfinite(spans[axis].width());
    }
    double edge = 0.0;
    for (int round = 0; round < 3; ++round) {
        double log_volume = 0.0;
        int dimensions = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (!used[axis]) continue;
            log_volume += std::log(spans[axis].width());
            ++dimensions;
        }
        if (dimensions == 0) return;
        edge = std::exp((log_volume - std::log(wanted)) / dimensions);
        bool settled = true;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (used[axis] && spans[axis].width() < edge) {
                used[axis] = false;
                settled = false;
            }
        }
        if (settled) break;
    }
    if (!(edge > 0.0) || !std::isfinite(1.0 / edge)) return;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (!used[axis]) continue;
        const double cells = std::min(std::floor(spans[axis].width() / edge) + 1.0, wanted);
        axes[axis]->low = spans[axis].low;
        axes[axis]->inverse = 1.0 / edge;
        axes[axis]->cells = static_cast<std::int32_t>(std::max(1.0, cells));
    }
    first_radius_ = edge;
}

std::uint32_t Grid::cell_at(const double* p) const noexcept {
    const auto cx = static_cast<std::uint32_t>(x_.cell_of(p[0]));
    const auto cy = static_cast<std::uint32_t>(y_.cell_of(p[1]));
    const auto cz = static_cast<std::uint32_t>(z_.cell_of(p[2]));
    return (cz * static_cast<std::uint32_t>(y_.cells) + cy) * static_cast<std::uint32_t>(x_.cells) + cx;
}

void Grid::build() {
    const std::size_t count = size();
    choose_axes();
    const std::size_t cells =
        static_cast<std::size_t>(x_.cells) * static_cast<std::size_t>(y_.cells) * static_cast<std::size_t>(z_.cells);

    // A counting sort by cell: stable, so rows ascend within a cell.
    cell_of_row_.resize(count);
    starts_.assign(cells + 1, 0);
    for (std::size_t row = 0; row < count; ++row) {
        const double* p = raw_.data() + row * 3;
        if (!finite(p)) {
            cell_of_row_[row] = nowhere;
            continue;
        }
        const std::uint32_t cell = cell_at(p);
        cell_of_row_[row] = cell;
        ++starts_[cell + 1];
    }
    for (std::size_t cell = 0; cell < cells; ++cell) starts_[cell + 1] += starts_[cell];
    const std::size_t kept = starts_[cells];
    placed_.resize(kept);
    for (std::size_t row = 0; row < count; ++row) {
        const std::uint32_t cell = cell_of_row_[row];
        if (cell == nowhere) continue;
        const double* p = raw_.data() + row * 3;
        placed_[starts_[cell]++] = {p[0], p[1], p[2], static_cast<Row>(row)};
    }
    // Each start has moved to its cell's end: shift them back by one cell.
    for (std::size_t cell = cells; cell > 0; --cell) starts_[cell] = starts_[cell - 1];
    starts_[0] = 0;
}

Grid::Box Grid::reach(const double* center, double radius) const noexcept {
    if (!std::isfinite(radius * radius)) {
        return {0, x_.cells - 1, 0, y_.cells - 1, 0, z_.cells - 1, true};
    }
    // A point that the formula selects lies within radius * (1 + 4 ulp) of the centre on each
    // axis, or within 1.5e-154 where squares underflow. The padding is wider than both; and
    // since rounding and `cell_of` are monotone, the padded ends are cells at or beyond the
    // point's own.
    const double padded = radius * (1.0 + 1e-9) + 3e-154;
    const Box box{
        x_.cell_of(center[0] - padded), x_.cell_of(center[0] + padded), y_.cell_of(center[1] - padded),
        y_.cell_of(center[1] + padded), z_.cell_of(center[2] - padded), z_.cell_of(center[2] + padded),
        false};
    const bool everything = box.x0 == 0 && box.y0 == 0 && box.z0 == 0 && box.x1 == x_.cells - 1 &&
                            box.y1 == y_.cells - 1 && box.z1 == z_.cells - 1;
    return {box.x0, box.x1, box.y0, box.y1, box.z0, box.z1, everything};
}

void Grid::collect(const double* center, double radius, Row skip, const Box& box, Scratch& scratch) const {
    const double limit = radius * radius;
    const double cx = center[0];
    const double cy = center[1];
    const double cz = center[2];
    std::size_t found = 0;
    const auto nx = static_cast<std::size_t>(x_.cells);
    const auto ny = static_cast<std::size_t>(y_.cells);
    for (std::int32_t iz = box.z0; iz <= box.z1; ++iz) {
        for (std::int32_t iy = box.y0; iy <= box.y1; ++iy) {
            const std::size_t line = (static_cast<std::size_t>(iz) * ny + static_cast<std::size_t>(iy)) * nx;
            const std::size_t begin = starts_[line + static_cast<std::size_t>(box.x0)];
            const std::size_t end = starts_[line + static_cast<std::size_t>(box.x1) + 1];
            const std::size_t needed = found + (end - begin);
            if (scratch.rows.size() < needed) {
                scratch.rows.resize(needed * 2);
                scratch.distances_squared.resize(needed * 2);
            }
            Row* rows = scratch.rows.data();
            double* squares = scratch.distances_squared.data();
            for (std::size_t at = begin; at < end; ++at) {
                const Placed& point = placed_[at];
                const double dx = point.x - cx;
                const double dy = point.y - cy;
                const double dz = point.z - cz;
                const double squared = dx * dx + dy * dy + dz * dz;
                // Written always, kept only if selected: cheaper than a branch nobody can predict.
                rows[found] = point.row;
                squares[found] = squared;
                found += static_cast<std::size_t>((squared <= limit) & (point.row != skip));
            }
        }
    }
    scratch.found = found;
}

void Grid::sort_rows(Scratch& scratch) const {
    std::vector<Row>& rows = scratch.rows;
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(scratch.found);
    // Many results: setting a bit for each and reading the bits in order beats comparing.
    const std::size_t words = size() / 64 + 1;
    if (scratch.found < 16 || scratch.found < words / 4) {
        std::sort(rows.begin(), end);
        return;
    }
    if (scratch.bits.size() < words) scratch.bits.resize(words, 0); // all zero between two calls
    for (auto it = rows.begin(); it != end; ++it) {
        scratch.bits[static_cast<std::size_t>(*it) / 64] |= std::uint64_t{1} << (*it % 64);
    }
    std::size_t at = 0;
    for (std::size_t word = 0; word < words; ++word) {
        std::uint64_t left = scratch.bits[word];
        if (left == 0) continue;
        scratch.bits[word] = 0;
        while (left != 0) {
            const int bit = __builtin_ctzll(left);
            rows[at++] = static_cast<Row>(word * 64 + static_cast<std::size_t>(bit));
            left &= left - 1;
        }
    }
}

void Grid::radius(const double* center, double radius, Row skip, Scratch& scratch, std::vector<Row>& out) const {
    if (placed_.empty() || !finite(center)) return;
    collect(center, radius, skip, reach(center, radius), scratch);
    sort_rows(scratch);
    out.insert(out.end(), scratch.rows.begin(), scratch.rows.begin() + static_cast<std::ptrdiff_t>(scratch.found));
}

void Grid::nearest(const double* center, std::size_t count, double radius_max, Row skip, Scratch& scratch,
                   std::vector<Row>& out_rows, std::vector<double>& out_squared) const {
    if (placed_.empty() || count == 0 || !finite(center)) return;
    // Look within a radius, and double it until enough is found. `collect` gives everything
    // within the radius, so the nearest of it are the nearest of all, ties included.
    double radius = first_radius_ * std::cbrt(static_cast<double>(count) / points_per_cell);
    double away = 0.0; // the distance to the grid's core, for a centre far outside it
    const std::array<const Axis*, 3> axes{&x_, &y_, &z_};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        if (axes[axis]->cells == 1) continue;
        const double low = axes[axis]->low;
        const double high = low + static_cast<double>(axes[axis]->cells) / axes[axis]->inverse;
        away = std::max({away, low - center[axis], center[axis] - high});
    }
    radius += away;
    if (!(radius > 0.0) || !std::isfinite(radius)) radius = 1.0;
    while (true) {
        const bool last = radius >= radius_max;
        const double within = last ? radius_max : radius;
        Box box = reach(center, within);
        // When every cell is looked at anyway, look once and without a limit.
        const bool everything = box.everything;
        collect(center, everything ? radius_max : within, skip, box, scratch);
        if (last || everything || scratch.found >= count) break;
        radius *= 2.0;
    }
    const std::size_t found = scratch.found;
    scratch.order.resize(found);
    for (std::size_t i = 0; i < found; ++i) scratch.order[i] = static_cast<std::uint32_t>(i);
    const auto before = [&](std::uint32_t a, std::uint32_t b) {
        const double da = scratch.distances_squared[a];
        const double db = scratch.distances_squared[b];
        return da < db || (da == db && scratch.rows[a] < scratch.rows[b]); // order: distance, row
    };
    const std::size_t kept = std::min(count, found);
    const auto middle = scratch.order.begin() + static_cast<std::ptrdiff_t>(kept);
    if (kept < found) std::nth_element(scratch.order.begin(), middle, scratch.order.end(), before);
    std::sort(scratch.order.begin(), middle, before);
    for (auto it = scratch.order.begin(); it != middle; ++it) {
        out_rows.push_back(scratch.rows[*it]);
        out_squared.push_back(scratch.distances_squared[*it]);
    }
}

std::vector<std::uint32_t> Grid::order_of(const double* centers, std::size_t count) const {
    // Below this the points touched fit the cache anyway.
    constexpr std::size_t batch_min = 4096;
    if (count < batch_min || size() < batch_min) return {};
    // Two passes of a radix sort by cell; 12 bits each are enough for what matters, locality:
    // queries that land in the same of 2^24 groups of cells may stay as they came.
    constexpr std::size_t digits = 4096;
    unsigned shift = 0;
    while ((cells() >> shift) > digits * digits) ++shift;
    std::vector<std::uint32_t> keys(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double* p = centers + i * 3;
        keys[i] = finite(p) ? cell_at(p) >> shift : 0;
    }
    std::vector<std::uint32_t> order(count);
    std::vector<std::uint32_t> next(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
    for (const unsigned from : {0U, 12U}) {
        std::vector<std::size_t> begins(digits + 1, 0);
        for (const std::uint32_t key : keys) ++begins[((key >> from) & (digits - 1)) + 1];
        for (std::size_t digit = 0; digit < digits; ++digit) begins[digit + 1] += begins[digit];
        for (const std::uint32_t i : order) next[begins[(keys[i] >> from) & (digits - 1)]++] = i;
        order.swap(next);
    }
    return order;
}

namespace {

/// Puts results gathered in the order of work back into the order of the centers.
Results in_order(const std::vector<std::uint32_t>& order, Results worked) {
    if (order.empty()) return worked;
    const std::size_t count = order.size();
    Results results;
    results.offsets.assign(count + 1, 0);
    for (std::size_t at = 0; at < count; ++at) {
        results.offsets[order[at] + 1] = worked.offsets[at + 1] - worked.offsets[at];
    }
    for (std::size_t i = 0; i < count; ++i) results.offsets[i + 1] += results.offsets[i];
    results.rows.resize(worked.rows.size());
    results.distances.resize(worked.distances.size());
    for (std::size_t at = 0; at < count; ++at) {
        const std::int64_t from = worked.offsets[at];
        const std::int64_t to = worked.offsets[at + 1];
        const std::int64_t target = results.offsets[order[at]];
        std::copy(worked.rows.begin() + from, worked.rows.begin() + to, results.rows.begin() + target);
        if (!worked.distances.empty()) {
            std::copy(worked.distances.begin() + from, worked.distances.begin() + to,
                      results.distances.begin() + target);
        }
    }
    return results;
}

} // namespace

Results Grid::radius_batch(const double* centers, std::size_t count, const double* radii, std::size_t radii_count,
                           const Row* skips) const {
    const std::vector<std::uint32_t> order = order_of(centers, count);
    Scratch scratch;
    Results worked;
    worked.offsets.reserve(count + 1);
    worked.offsets.push_back(0);
    for (std::size_t at = 0; at < count; ++at) {
        const std::size_t i = order.empty() ? at : order[at];
        radius(centers + i * 3, radii[radii_count == 1 ? 0 : i], skips == nullptr ? -1 : skips[i], scratch,
               worked.rows);
        worked.offsets.push_back(static_cast<std::int64_t>(worked.rows.size()));
    }
    return in_order(order, std::move(worked));
}

Results Grid::nearest_batch(const double* centers, std::size_t count, std::size_t k, double radius_max,
                            const Row* skips) const {
    const std::vector<std::uint32_t> order = order_of(centers, count);
    Scratch scratch;
    Results worked;
    worked.offsets.reserve(count + 1);
    worked.offsets.push_back(0);
    for (std::size_t at = 0; at < count; ++at) {
        const std::size_t i = order.empty() ? at : order[at];
        nearest(centers + i * 3, k, radius_max, skips == nullptr ? -1 : skips[i], scratch, worked.rows,
                worked.distances);
        worked.offsets.push_back(static_cast<std::int64_t>(worked.rows.size()));
    }
    for (double& value : worked.distances) value = std::sqrt(value);
    return in_order(order, std::move(worked));
}

} // namespace mainspring::space
