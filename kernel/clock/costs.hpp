// What something cost, over many times: count, sum, maximum and percentiles.
//
// Percentiles come from a histogram with eight buckets to the octave, so they are exact to
// one part in eight and adding a sample allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace mainspring::clock {

class Costs {
public:
    void add(std::int64_t ns) noexcept {
        const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
        ++count_;
        sum_ += value;
        max_ = std::max(max_, value);
        ++buckets_[bucket(value)];
    }

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] std::uint64_t max() const noexcept { return max_; }
    [[nodiscard]] double mean() const noexcept {
        return count_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(count_);
    }

    /// The upper edge of the bucket that holds the `fraction` quantile, never above the maximum.
    [[nodiscard]] std::uint64_t quantile(double fraction) const noexcept {
        if (count_ == 0) return 0;
        const auto wanted = static_cast<std::uint64_t>(fraction * static_cast<double>(count_ - 1));
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < buckets_.size(); ++i) {
            seen += buckets_[i];
            if (seen > wanted) return std::min(edge(i), max_);
        }
        return max_;
    }

private:
    static constexpr unsigned kSub = 3;  // 2^3 buckets to the octave

    static std::size_t bucket(std::uint64_t value) noexcept {
        if (value < (1U << kSub)) return static_cast<std::size_t>(value);
        const auto octave = static_cast<unsigned>(std::bit_width(value)) - 1;
        const auto sub = (value >> (octave - kSub)) & ((1U << kSub) - 1);
        const std::size_t index = (octave - kSub + 1) * (1U << kSub) + static_cast<std::size_t>(sub);
        return std::min(index, kBuckets - 1);
    }
    static std::uint64_t edge(std::size_t index) noexcept {
        if (index < (1U << kSub)) return index;
        const auto octave = static_cast<unsigned>(index >> kSub) + kSub - 1;
        const auto sub = static_cast<std::uint64_t>(index & ((1U << kSub) - 1));
        return (((1ULL << kSub) + sub + 1) << (octave - kSub)) - 1;
    }

    static constexpr std::size_t kBuckets = 320;  // up to 2^42 ns, more than an hour
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t max_ = 0;
    std::array<std::uint32_t, kBuckets> buckets_{};
};

}  // namespace mainspring::clock
