// Writing MessagePack, always in the shortest form: equal values become equal bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mainspring::log {

/// Appends values to a buffer it owns.
class MsgpackWriter {
public:
    void nil() { byte(0xc0); }
    void boolean(bool value) { byte(value ? 0xc3 : 0xc2); }
    void real(double value) {
        byte(0xcb);
        big_endian(std::bit_cast<std::uint64_t>(value), 8);
    }
    void integer(std::int64_t value) {
        if (value >= 0) return natural(static_cast<std::uint64_t>(value));
        const auto bits = static_cast<std::uint64_t>(value);
        if (value >= -32) return byte(static_cast<std::uint8_t>(value));
        if (value >= INT8_MIN) return tagged(0xd0, bits, 1);
        if (value >= INT16_MIN) return tagged(0xd1, bits, 2);
        if (value >= INT32_MIN) return tagged(0xd2, bits, 4);
        tagged(0xd3, bits, 8);
    }
    void natural(std::uint64_t value) {
        if (value < 0x80) return byte(static_cast<std::uint8_t>(value));
        if (value <= UINT8_MAX) return tagged(0xcc, value, 1);
        if (value <= UINT16_MAX) return tagged(0xcd, value, 2);
        if (value <= UINT32_MAX) return tagged(0xce, value, 4);
        tagged(0xcf, value, 8);
    }
    void text(std::string_view value) {
        const std::size_t n = value.size();
        if (n < 32) byte(static_cast<std::uint8_t>(0xa0 | n));
        else sized(n, 0xd9, 0xda, 0xdb);
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
    void raw(std::string_view bytes) { out_.append(bytes); }

    [[nodiscard]] std::string& bytes() noexcept { return out_; }
    [[nodiscard]] const std::string& bytes() const noexcept { return out_; }

private:
    void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
    void big_endian(std::uint64_t value, int width) {
        for (int shift = (width - 1) * 8; shift >= 0; shift -= 8) byte(static_cast<std::uint8_t>(value >> shift));
    }
    void tagged(std::uint8_t tag, std::uint64_t value, int width) {
        byte(tag);
        big_endian(value, width);
    }
    void sized(std::size_t n, std::uint8_t one, std::uint8_t two, std::uint8_t four) {
        if (n <= UINT8_MAX) tagged(one, n, 1);
        else if (n <= UINT16_MAX) tagged(two, n, 2);
        else tagged(four, n, 4);
    }
    void container(std::size_t n, std::uint8_t small, std::uint8_t two) {
        if (n < 16) byte(static_cast<std::uint8_t>(small | n));
        else if (n <= UINT16_MAX) tagged(two, n, 2);
        else tagged(static_cast<std::uint8_t>(two + 1), n, 4);
    }

    std::string out_;
};

}  // namespace mainspring::log
