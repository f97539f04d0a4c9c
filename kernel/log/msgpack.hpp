// Writing MessagePack, always in the shortest form: equal values become equal bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace mainspring::log {

/// Appends values to a buffer it owns. Room is asked for once a value, so that what is written is
/// a few stores.
class MsgpackWriter {
public:
    MsgpackWriter() = default;
    MsgpackWriter(MsgpackWriter&& other) noexcept { swap(other); }
    MsgpackWriter& operator=(MsgpackWriter&& other) noexcept {
        swap(other);
        return *this;
    }
    MsgpackWriter(const MsgpackWriter&) = delete;
    MsgpackWriter& operator=(const MsgpackWriter&) = delete;
    ~MsgpackWriter() = default;

    void swap(MsgpackWriter& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    void nil() { byte(0xc0); }
    void boolean(bool value) { byte(value ? 0xc3 : 0xc2); }
    void real(double value) { tagged<std::uint64_t>(0xcb, std::bit_cast<std::uint64_t>(value)); }
    void integer(std::int64_t value) {
        if (value >= 0) return natural(static_cast<std::uint64_t>(value));
        if (value >= -32) return byte(static_cast<std::uint8_t>(value));
        if (value >= INT8_MIN) return tagged(0xd0, static_cast<std::uint8_t>(value));
        if (value >= INT16_MIN) return tagged(0xd1, static_cast<std::uint16_t>(value));
        if (value >= INT32_MIN) return tagged(0xd2, static_cast<std::uint32_t>(value));
        tagged(0xd3, static_cast<std::uint64_t>(value));
    }
    void natural(std::uint64_t value) {
        if (value < 0x80) return byte(static_cast<std::uint8_t>(value));
        if (value <= UINT8_MAX) return tagged(0xcc, static_cast<std::uint8_t>(value));
        if (value <= UINT16_MAX) return tagged(0xcd, static_cast<std::uint16_t>(value));
        if (value <= UINT32_MAX) return tagged(0xce, static_cast<std::uint32_t>(value));
        tagged(0xcf, value);
    }
    void text(std::string_view value) {
        const std::size_t n = value.size();
        if (n < 32) {
            char* to = room(n + 1);
            *to = static_cast<char>(0xa0 | n);
            std::memcpy(to + 1, value.data(), n);
            size_ += n + 1;
            return;
        }
        sized(n, 0xd9, 0xda, 0xdb);
        raw(value);
    }
    void binary(std::string_view value) {
        sized(value.size(), 0xc4, 0xc5, 0xc6);
        raw(value);
    }
    void list(std::size_t n) { container(n, 0x90, 0xdc); }
    void map(std::size_t n) { container(n, 0x80, 0xde); }
    void extension(std::int8_t code, std::string_view value) {
        const std::size_t n = value.size();
        switch (n) {
            case 1: byte(0xd4); break;
            case 2: byte(0xd5); break;
            case 4: byte(0xd6); break;
            case 8: byte(0xd7); break;
            case 16: byte(0xd8); break;
            default: sized(n, 0xc7, 0xc8, 0xc9);
        }
        byte(static_cast<std::uint8_t>(code));
        raw(value);
    }
    void raw(std::string_view bytes) {
        if (bytes.empty()) return;
        std::memcpy(room(bytes.size()), bytes.data(), bytes.size());
        size_ += bytes.size();
    }

    [[nodiscard]] std::string_view bytes() const noexcept { return {data_.get(), size_}; }
    [[nodiscard]] char* data() noexcept { return data_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    void clear() noexcept { size_ = 0; }
    /// Takes back what was written after the first `size` bytes.
    void cut(std::size_t size) noexcept { size_ = size; }

private:
    char* room(std::size_t n) {
        if (capacity_ - size_ < n) grow(n);
        return data_.get() + size_;
    }
    void grow(std::size_t n) {
        const std::size_t wanted = std::max({size_ + n, capacity_ * 2, std::size_t{256}});
        auto larger = std::make_unique_for_overwrite<char[]>(wanted);
        if (size_ != 0) std::memcpy(larger.get(), data_.get(), size_);
        data_ = std::move(larger);
        capacity_ = wanted;
    }
    void byte(std::uint8_t value) {
        *room(1) = static_cast<char>(value);
        ++size_;
    }
    template <class Unsigned>
    void tagged(std::uint8_t tag, Unsigned value) {
        char* to = room(1 + sizeof value);
        *to++ = static_cast<char>(tag);
        for (int shift = (static_cast<int>(sizeof value) - 1) * 8; shift >= 0; shift -= 8)
            *to++ = static_cast<char>(value >> shift);
        size_ += 1 + sizeof value;
    }
    void sized(std::size_t n, std::uint8_t one, std::uint8_t two, std::uint8_t four) {
        if (n <= UINT8_MAX) tagged(one, static_cast<std::uint8_t>(n));
        else if (n <= UINT16_MAX) tagged(two, static_cast<std::uint16_t>(n));
        else tagged(four, static_cast<std::uint32_t>(n));
    }
    void container(std::size_t n, std::uint8_t small, std::uint8_t two) {
        if (n < 16) byte(static_cast<std::uint8_t>(small | n));
        else if (n <= UINT16_MAX) tagged(two, static_cast<std::uint16_t>(n));
        else tagged(static_cast<std::uint8_t>(two + 1), static_cast<std::uint32_t>(n));
    }

    std::unique_ptr<char[]> data_;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace mainspring::log
