// The chunk builder without Python: rows in, JSON messages and their index out.
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "capture/chunk_builder.hpp"
#include "check.hpp"

using namespace mainspring::capture;

namespace {

template <class T>
void put(std::string& tape, T value) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    tape.append(raw, sizeof(T));
}

Op literal(std::string text) {
    Op op;
    op.text = std::move(text);
    return op;
}

Op value(Scalar type, std::uint32_t count = 0) {
    Op op;
    op.kind = count == 0 ? OpKind::Value : OpKind::Array;
    op.type = type;
    op.count = count;
    return op;
}

/// The JSON of the message that begins at `at` in a chunk's records.
std::string message(const std::string& records, std::size_t at) {
    std::uint64_t length = 0;
    std::memcpy(&length, records.data() + at + 1, sizeof length);
    return records.substr(at + 9 + 22, length - 22);
}

void numbers_are_written_exactly() {
    ChunkBuilder builder(1 << 20, 1'000'000'000);
    builder.add_channel(1, {literal("["), value(Scalar::Float64, 6), literal(","), value(Scalar::Float32),
                            literal(","), value(Scalar::UInt64), literal(","), value(Scalar::Int8),
                            literal(","), value(Scalar::Bool), literal(","), value(Scalar::Number),
                            literal(","), value(Scalar::Number), literal("]")});
    const auto group = builder.add_group({1});
    std::string tape;
    put(tape, group);
    put(tape, std::int64_t{5});
    put(tape, 0.1);
    put(tape, 3.0);
    put(tape, 1e300);
    put(tape, std::numeric_limits<double>::quiet_NaN());
    put(tape, -std::numeric_limits<double>::infinity());
    put(tape, -0.0);
    put(tape, 0.1F);
    put(tape, std::numeric_limits<std::uint64_t>::max());
    put(tape, std::int8_t{-128});
    put(tape, std::uint8_t{1});
    put(tape, 'i');
    put(tape, std::numeric_limits<std::int64_t>::min());
    put(tape, 'f');
    put(tape, 2.0);
    CHECK(builder.encode(tape, 0) == tape.size());  // the whole tape is read
    const Chunk chunk = builder.take();
    const std::string expected =
        "[[0.1,3.0,1e+300,\"NaN\",\"-Infinity\",-0.0],0.1,18446744073709551615,-128,true,"
        "-9223372036854775808,2.0]";
    CHECK(message(chunk.records, 0) == expected);  // numbers keep their kind and every digit
    CHECK(chunk.start_ns == 5 && chunk.end_ns == 5);  // the chunk knows its times
}

void chunks_end_by_size_and_by_time() {
    ChunkBuilder builder(100, 1000);
    builder.add_channel(7, {value(Scalar::Int64)});
    const auto group = builder.add_group({7});
    std::string tape;
    for (std::int64_t i = 0; i < 10; ++i) {
        put(tape, group);
        put(tape, i < 8 ? i : i + 5000);
        put(tape, i);
    }
    std::size_t at = builder.encode(tape, 0);
    CHECK(at == 4 * 18);  // a chunk ends with the row that fills it
    const Chunk first = builder.take();
    CHECK(first.channels.size() == 1 && first.channels[0].messages == 4);  // four rows in the first
    at = builder.encode(tape, at);
    builder.take();
    at = builder.encode(tape, at);
    CHECK(at == tape.size());  // the rest fits, beginning after the jump in time
    const Chunk last = builder.take();
    CHECK(last.start_ns == 5008 && last.end_ns == 5009);  // a span of time ends a chunk, too
    std::uint32_t sequence = 0;
    std::memcpy(&sequence, last.records.data() + 9 + 2, sizeof sequence);
    CHECK(sequence == 8);  // sequence numbers go on from chunk to chunk
}

void a_bad_tape_is_refused() {
    ChunkBuilder builder(100, 1000);
    builder.add_channel(1, {value(Scalar::Float64)});
    const auto group = builder.add_group({1});
    std::string tape;
    put(tape, group);
    put(tape, std::int64_t{0});
    put(tape, 1.0F);  // half a value
    bool refused = false;
    try {
        builder.encode(tape, 0);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);  // a tape that ends inside a row is refused
    refused = false;
    try {
        builder.add_group({2});
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);  // a group of unknown channels is refused
}

}  // namespace

int main() {
    numbers_are_written_exactly();
    chunks_end_by_size_and_by_time();
    a_bad_tape_is_refused();
    std::puts("capture: ok");
    return 0;
}
