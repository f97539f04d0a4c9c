// The one queue through which the outside comes in: many threads put, one reader drains.
//
// Items are opaque pointers; who puts them owns what they mean. The queue is bounded, and a
// full one refuses: nothing is ever dropped here.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace mainspring::inbox {

class Inbox {
public:
    explicit Inbox(std::size_t capacity) : capacity_(capacity) { waiting_.reserve(64); }

    /// False when `capacity` items wait already.
    bool put(void* item) {
        {
            const std::scoped_lock lock(mutex_);
            if (waiting_.size() >= capacity_) return false;
            waiting_.push_back(item);
            count_.store(waiting_.size(), std::memory_order_release);
        }
        arrived_.notify_one();
        return true;
    }

    /// How many wait; exact for the reader, a hint for everybody else.
    [[nodiscard]] std::size_t pending() const noexcept { return count_.load(std::memory_order_acquire); }

    /// Takes everything that waits, in the order it came.
    void drain(std::vector<void*>& out) {
        out.clear();
        const std::scoped_lock lock(mutex_);
        out.swap(waiting_);
        count_.store(0, std::memory_order_release);
    }

    /// What waits, in order, and stays.
    [[nodiscard]] std::vector<void*> peek() const {
        const std::scoped_lock lock(mutex_);
        return waiting_;
    }

    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    void set_capacity(std::size_t capacity) {
        const std::scoped_lock lock(mutex_);
        capacity_ = capacity;
    }

    /// Waits until something is there, somebody calls `wake`, or the deadline (CLOCK_MONOTONIC)
    /// has passed; true when something is there.
    bool wait_until(std::int64_t deadline_ns) {
        std::unique_lock lock(mutex_);
        const auto seen = wakes_;
        const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds{deadline_ns}};
        arrived_.wait_until(lock, deadline, [&] { return !waiting_.empty() || wakes_ != seen; });
        return !waiting_.empty();
    }

    /// Ends a wait that is under way.
    void wake() {
        {
            const std::scoped_lock lock(mutex_);
            ++wakes_;
        }
        arrived_.notify_all();
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable arrived_;
    std::vector<void*> waiting_;
    std::atomic<std::size_t> count_{0};
    std::size_t capacity_;
    std::uint64_t wakes_ = 0;
};

}  // namespace mainspring::inbox
