#include "capture/chunk_builder.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace mainspring::capture {

static_assert(std::endian::native == std::endian::little,
              "tapes and MCAP records are little-endian, and are copied as they lie in memory");

namespace {

constexpr char kMessage = 0x05;
constexpr char kMessageIndex = 0x07;
constexpr std::size_t kRecordHead = 9;      // opcode, u64 length
constexpr std::size_t kMessageHead = 22;    // u16 channel, u32 sequence, u64 log, u64 publish
constexpr std::int64_t kSecond = 1'000'000'000;

template <class T>
void put(std::string& out, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    out.append(raw, sizeof(T));
}

/// A cursor over a tape that refuses to run past its end.
class Cursor {
public:
    Cursor(std::string_view tape, std::size_t at) : tape_(tape), at_(at) {}

    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] bool done() const noexcept { return at_ == tape_.size(); }

    template <class T>
    T get() {
        T value;
        std::memcpy(&value, skip(sizeof(T)), sizeof(T));
        return value;
    }

    const char* skip(std::size_t n) {
        if (tape_.size() - at_ < n) throw std::invalid_argument("the tape ends inside a row");
        const char* here = tape_.data() + at_;
        at_ += n;
        return here;
    }

private:
    std::string_view tape_;
    std::size_t at_;
};

template <class T>
void write_integer(std::string& out, T value) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, value);
    out.append(text, end.ptr);
}

// The shortest text that reads back as the same value. A whole number keeps its ".0", so that a
// reader gets a float back, and what JSON has no number for is written the way protobuf's JSON
// mapping does.
template <class T>
void write_float(std::string& out, T value) {
    if (!std::isfinite(value)) [[unlikely]] {
        out.append(std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value);
    out.append(text, end.ptr);
    for (const char* c = text; c != end.ptr; ++c) {
        if (*c == '.' || *c == 'e') return;
    }
    out.append(".0");
}

void write_value(std::string& out, Scalar type, Cursor& row) {
    switch (type) {
        case Scalar::Float64: return write_float(out, row.get<double>());
        case Scalar::Float32: return write_float(out, row.get<float>());
        case Scalar::Int64: return write_integer(out, row.get<std::int64_t>());
        case Scalar::Int32: return write_integer(out, row.get<std::int32_t>());
        case Scalar::Int16: return write_integer(out, row.get<std::int16_t>());
        case Scalar::Int8: return write_integer(out, static_cast<int>(row.get<std::int8_t>()));
        case Scalar::UInt64: return write_integer(out, row.get<std::uint64_t>());
        case Scalar::UInt32: return write_integer(out, row.get<std::uint32_t>());
        case Scalar::UInt16: return write_integer(out, row.get<std::uint16_t>());
        case Scalar::UInt8: return write_integer(out, static_cast<int>(row.get<std::uint8_t>()));
        case Scalar::Bool: out.append(row.get<std::uint8_t>() != 0 ? "true" : "false"); return;
        case Scalar::Number:
            if (row.get<char>() == 'i') return write_integer(out, row.get<std::int64_t>());
            return write_float(out, row.get<double>());
    }
    throw std::invalid_argument("unknown scalar type in a channel's program");
}

void run(std::string& out, const Program& program, Cursor& row, std::int64_t time_ns) {
    for (const Op& op : program) {
        switch (op.kind) {
            case OpKind::Literal: out.append(op.text); break;
            case OpKind::Value: write_value(out, op.type, row); break;
            case OpKind::Array:
                out.push_back('[');
                for (std::uint32_t i = 0; i < op.count; ++i) {
                    if (i != 0) out.push_back(',');
                    write_value(out, op.type, row);
                }
                out.push_back(']');
                break;
            case OpKind::Table: {
                const auto rows = row.get<std::uint32_t>();
                out.push_back('[');
                for (std::uint32_t i = 0; i < rows; ++i) {
                    if (i != 0) out.push_back(',');
                    run(out, op.body, row, time_ns);
                }
                out.push_back(']');
                break;
            }
            case OpKind::Blob: {
                const auto size = row.get<std::uint32_t>();
                out.append(row.skip(size), size);
                break;
            }
            case OpKind::Time:
                out.append("{\"sec\":");
                write_integer(out, time_ns / kSecond);
                out.append(",\"nsec\":");
                write_integer(out, time_ns % kSecond);
                out.push_back('}');
                break;
        }
    }
}

}  // namespace

std::size_t scalar_size(Scalar type) noexcept {
    switch (type) {
        case Scalar::Float64:
        case Scalar::Int64:
        case Scalar::UInt64: return 8;
        case Scalar::Float32:
        case Scalar::Int32:
        case Scalar::UInt32: return 4;
        case Scalar::Int16:
        case Scalar::UInt16: return 2;
        case Scalar::Int8:
        case Scalar::UInt8:
        case Scalar::Bool: return 1;
        case Scalar::Number: return 9;
    }
    return 0;
}

ChunkBuilder::ChunkBuilder(std::size_t limit_bytes, std::int64_t span_ns)
    : limit_bytes_(limit_bytes), span_ns_(span_ns) {}

void ChunkBuilder::add_channel(std::uint16_t id, Program program) {
    if (id >= channels_.size()) channels_.resize(id + std::size_t{1});
    channels_[id].known = true;
    channels_[id].program = std::move(program);
}

std::uint16_t ChunkBuilder::add_group(std::vector<std::uint16_t> channels) {
    for (const auto id : channels) state(id);
    groups_.push_back(std::move(channels));
    return static_cast<std::uint16_t>(groups_.size() - 1);
}

ChunkBuilder::ChannelState& ChunkBuilder::state(std::uint16_t id) {
    if (id >= channels_.size() || !channels_[id].known) {
        throw std::invalid_argument("a message or group names a channel that was not added");
    }
    return channels_[id];
}

bool ChunkBuilder::full(std::int64_t time_ns) const noexcept {
    if (!has_messages_) return false;
    return records_.size() >= limit_bytes_ || time_ns - first_ns_ >= span_ns_;
}

void ChunkBuilder::add_record(std::string_view record) { records_.append(record); }

std::size_t ChunkBuilder::begin_message(ChannelState& channel, std::uint16_t id,
                                        std::int64_t time_ns) {
    const std::size_t begin = records_.size();
    if (channel.index.empty()) touched_.push_back(id);
    const std::uint64_t entry[2] = {static_cast<std::uint64_t>(time_ns), begin};
    channel.index.append(reinterpret_cast<const char*>(entry), sizeof entry);
    if (!has_messages_) {
        first_ns_ = start_ns_ = end_ns_ = time_ns;
        has_messages_ = true;
    }
    start_ns_ = std::min(start_ns_, time_ns);
    end_ns_ = std::max(end_ns_, time_ns);
    char head[kRecordHead + kMessageHead] = {kMessage};  // the length is known at the end
    std::memcpy(head + 9, &id, 2);
    std::memcpy(head + 11, &channel.next_sequence, 4);
    std::memcpy(head + 15, &time_ns, 8);  // log time
    std::memcpy(head + 23, &time_ns, 8);  // publish time
    ++channel.next_sequence;
    records_.append(head, sizeof head);
    return begin;
}

void ChunkBuilder::end_message(std::size_t begin) {
    const auto length = static_cast<std::uint64_t>(records_.size() - begin - kRecordHead);
    std::memcpy(records_.data() + begin + 1, &length, sizeof length);
}

void ChunkBuilder::add_message(std::uint16_t id, std::int64_t time_ns, std::string_view data) {
    ChannelState& channel = state(id);
    records_.reserve(records_.size() + kRecordHead + kMessageHead + data.size());
    const auto begin = begin_message(channel, id, time_ns);
    records_.append(data);
    end_message(begin);
}

std::size_t ChunkBuilder::encode(std::string_view tape, std::size_t start) {
    Cursor row(tape, start);
    while (!row.done()) {
        const std::size_t row_begin = row.at();
        const auto group = row.get<std::uint16_t>();
        const auto time_ns = row.get<std::int64_t>();
        if (group >= groups_.size()) throw std::invalid_argument("the tape names no known group");
        // A row is never split: all of an instant's messages stand in one chunk.
        if (full(time_ns)) return row_begin;
        for (const auto id : groups_[group]) {
            ChannelState& channel = channels_[id];
            const auto begin = begin_message(channel, id, time_ns);
            run(records_, channel.program, row, time_ns);
            end_message(begin);
        }
    }
    return row.at();
}

Chunk ChunkBuilder::take() {
    Chunk chunk;
    chunk.records = std::move(records_);
    chunk.start_ns = start_ns_;
    chunk.end_ns = end_ns_;
    std::size_t size = 0;
    for (const auto id : touched_) size += kRecordHead + 6 + channels_[id].index.size();
    chunk.index.reserve(size);
    chunk.channels.reserve(touched_.size());
    for (const auto id : touched_) {
        ChannelState& channel = channels_[id];
        chunk.channels.push_back({id, chunk.index.size(), channel.index.size() / 16});
        chunk.index.push_back(kMessageIndex);
        put(chunk.index, static_cast<std::uint64_t>(6 + channel.index.size()));
        put(chunk.index, id);
        put(chunk.index, static_cast<std::uint32_t>(channel.index.size()));
        chunk.index.append(channel.index);
        channel.index.clear();
    }
    touched_.clear();
    records_.clear();
    records_.reserve(std::min<std::size_t>(limit_bytes_ + limit_bytes_ / 4, std::size_t{1} << 24));
    has_messages_ = false;
    start_ns_ = end_ns_ = first_ns_ = 0;
    return chunk;
}

}  // namespace mainspring::capture
