// A runner's own beat: where its boundaries fall, to the nanosecond, for ever.
//
// Boundary k lies at origin + floor(k * 10^9 * den / num). Dividing 128-bit numbers at every
// step would cost more than the step itself, so the position is carried forward as a quotient
// and an exact remainder; `at` is the formula, and the tests hold the two together.
#pragma once

#include <cstdint>
#include <limits>

namespace mainspring::clock {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kSecond = 1'000'000'000;

__extension__ typedef __int128 int128;

class Beat {
public:
    Beat() = default;

    /// `num/den` hertz, both positive and in lowest terms, num <= 10^18; the next boundary is `k`.
    Beat(std::int64_t num, std::int64_t den, std::int64_t origin, std::int64_t k)
        : num_(num), den_(den), origin_(origin) {
        const int128 period = int128{kSecond} * den;
        quotient_ = static_cast<std::int64_t>(period / num);
        remainder_ = static_cast<std::int64_t>(period % num);
        seek(k);
    }

    /// Where boundary `k` lies, by the formula; kNever past the end of time.
    [[nodiscard]] std::int64_t at(std::int64_t k) const noexcept {
        int128 product = 0;
        if (__builtin_mul_overflow(int128{k}, int128{kSecond} * den_, &product)) return kNever;
        const int128 place = product / num_ + origin_;
        return place >= kNever ? kNever : static_cast<std::int64_t>(place);
    }

    /// The index of the first boundary at or after `time_ns`.
    [[nodiscard]] std::int64_t first_at_or_after(std::int64_t time_ns) const noexcept {
        if (time_ns <= origin_) return 0;
        // floor(k * P / num) >= d  <=>  k * P >= d * num  <=>  k >= ceil(d * num / P)
        const int128 distance = int128{time_ns} - origin_;
        const int128 period = int128{kSecond} * den_;
        return static_cast<std::int64_t>((distance * num_ + period - 1) / period);
    }

    /// Makes `k` the next boundary; the one before it becomes the last.
    void seek(std::int64_t k) noexcept {
        index_ = k - 1;
        next_ = at(k);
        last_ = k > 0 ? at(k - 1) : origin_;
        carry_ = static_cast<std::int64_t>((int128{k} * kSecond % num_ * den_) % num_);
    }

    /// The next boundary becomes the last one taken.
    void take() noexcept {
        ++index_;
        last_ = next_;
        if (next_ > kNever - quotient_ - 1) {
            next_ = kNever;
            return;
        }
        next_ += quotient_;
        carry_ += remainder_;
        if (carry_ >= num_) {
            carry_ -= num_;
            ++next_;
        }
    }

    [[nodiscard]] std::int64_t num() const noexcept { return num_; }
    [[nodiscard]] std::int64_t den() const noexcept { return den_; }
    [[nodiscard]] std::int64_t origin() const noexcept { return origin_; }
    [[nodiscard]] std::int64_t last() const noexcept { return last_; }
    [[nodiscard]] std::int64_t next() const noexcept { return next_; }
    /// The index of the last boundary taken; -1 before the first.
    [[nodiscard]] std::int64_t index() const noexcept { return index_; }
    /// The exact length of the step under way (of the first step, before it is taken).
    [[nodiscard]] std::int64_t dt() const noexcept {
        return index_ >= 0 ? next_ - last_ : at(1) - at(0);
    }
    /// How far `time_ns` is from the last boundary to the next, in [0, 1).
    [[nodiscard]] double alpha(std::int64_t time_ns) const noexcept {
        if (index_ < 0 || time_ns <= last_ || next_ == kNever) return 0.0;
        // A skip or a stopped frame can leave `now` beyond a boundary not yet taken.
        if (time_ns >= next_) return 0x1.fffffffffffffp-1;
        return static_cast<double>(time_ns - last_) / static_cast<double>(next_ - last_);
    }

private:
    std::int64_t num_ = 1;
    std::int64_t den_ = 1;
    std::int64_t origin_ = 0;
    std::int64_t last_ = 0;
    std::int64_t next_ = kNever;
    std::int64_t index_ = -1;
    std::int64_t quotient_ = 0;
    std::int64_t remainder_ = 0;
    std::int64_t carry_ = 0;
};

}  // namespace mainspring::clock
