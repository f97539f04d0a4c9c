// Builds the contents of MCAP chunks from sampled rows.
//
// The promise: `encode` turns a tape (what the sampler copied at each step, in order) into MCAP
// message records and their index, with no lock and no Python object, so that it runs beside the
// simulation. The bytes are a function of the tapes and the declared channels alone: a chunk
// ends where its size or its span of simulation time says, never where a thread happened to be.
//
// A tape is a sequence of rows, each `u16 group, i64 time_ns`, then the packed values of every
// channel of that group in order, all little-endian. What a channel's values look like is its
// program: a list of operations that eat the row and write JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mainspring::capture {

/// The type of one packed value. The codes are shared with Python's `struct` module, except
/// `Number`, which is a tag byte (an `f` or an `i`) followed by eight bytes.
enum class Scalar : char {
    Float64 = 'd',
    Float32 = 'f',
    Int64 = 'q',
    Int32 = 'i',
    Int16 = 'h',
    Int8 = 'b',
    UInt64 = 'Q',
    UInt32 = 'I',
    UInt16 = 'H',
    UInt8 = 'B',
    Bool = '?',
    Number = 'n',
};

/// Bytes of one packed value; 0 for a code that is none.
std::size_t scalar_size(Scalar type) noexcept;

enum class OpKind : std::uint8_t {
    Literal,  // write `text`
    Value,    // one value of `type`
    Array,    // `count` values of `type`, as a JSON array
    Table,    // u32 n, then n rows, each written by `body`, as a JSON array
    Blob,     // u32 n, then n bytes, written as they are: JSON already
    Time,     // the row's time, as {"sec":..,"nsec":..}
};

struct Op {
    OpKind kind = OpKind::Literal;
    Scalar type = Scalar::Float64;
    std::uint32_t count = 0;
    std::string text;
    std::vector<Op> body;
};

using Program = std::vector<Op>;

/// One channel's part of a chunk; the pieces lie packed, as NumPy reads them.
#pragma pack(push, 1)
struct ChunkChannel {
    std::uint16_t channel = 0;
    std::uint64_t index_offset = 0;  // where in the chunk's `index` its record begins
    std::uint64_t messages = 0;
};
#pragma pack(pop)
static_assert(sizeof(ChunkChannel) == 18);

/// What a chunk holds when it is taken.
struct Chunk {
    std::string records;                 // schema, channel and message records
    std::string index;                   // MessageIndex records, one for each channel seen
    std::vector<ChunkChannel> channels;  // order: first message in this chunk, as in `index`
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
};

class ChunkBuilder {
public:
    /// A chunk is full at `limit_bytes`, or when a message is `span_ns` or more after the first.
    ChunkBuilder(std::size_t limit_bytes, std::int64_t span_ns);

    /// Declare a channel; `program` may be empty for one that only takes whole messages.
    void add_channel(std::uint16_t id, Program program);
    /// Declare the channels that one row holds. Returns the group's number.
    std::uint16_t add_group(std::vector<std::uint16_t> channels);

    /// Copy a schema or channel record into the chunk.
    void add_record(std::string_view record);
    /// Add one whole message under the channel's next sequence number.
    void add_message(std::uint16_t channel, std::int64_t time_ns, std::string_view data);
    /// Read rows from `tape` on from `start`, until it ends or the chunk is full. Returns how far
    /// it came. Throws `std::invalid_argument` for a tape that does not fit the declarations.
    std::size_t encode(std::string_view tape, std::size_t start);

    /// Whether the chunk must be taken before a message at `time_ns` is added.
    [[nodiscard]] bool full(std::int64_t time_ns) const noexcept;
    [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }

    /// The chunk so far; the builder begins the next one.
    Chunk take();

private:
    struct ChannelState {
        bool known = false;
        std::uint32_t next_sequence = 0;
        Program program;
        std::string index;  // pairs (time, offset), as MessageIndex stores them
    };

    ChannelState& state(std::uint16_t id);
    std::size_t begin_message(ChannelState& channel, std::uint16_t id, std::int64_t time_ns);
    void end_message(std::size_t begin);

    std::size_t limit_bytes_;
    std::int64_t span_ns_;
    std::string records_;
    std::vector<ChannelState> channels_;
    std::vector<std::vector<std::uint16_t>> groups_;
    std::vector<std::uint16_t> touched_;  // order: first message in this chunk
    bool has_messages_ = false;
    std::int64_t first_ns_ = 0;  // of the first message added, which decides the span
    std::int64_t start_ns_ = 0;
    std::int64_t end_ns_ = 0;
};

}  // namespace mainspring::capture
