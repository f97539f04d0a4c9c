// Python's face of the capture kernel: the chunk builder and the sampler.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>

#include "capture/chunk_builder.hpp"
#include "capture/py_sampler.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace mainspring::capture {

namespace {

/// A read-only view of any contiguous buffer, for as long as it lives.
class BufferView {
public:
    explicit BufferView(nb::handle object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
    }
    BufferView(const BufferView&) = delete;
    BufferView& operator=(const BufferView&) = delete;
    ~BufferView() { PyBuffer_Release(&view_); }

    [[nodiscard]] std::string_view text() const noexcept {
        return {static_cast<const char*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

private:
    Py_buffer view_{};
};

Scalar scalar_of(const std::string& code) {
    if (code.size() == 1) {
        const auto type = static_cast<Scalar>(code[0]);
        if (scalar_size(type) != 0) return type;
    }
    throw nb::value_error("unknown scalar code in a channel's program");
}

/// Programs come as lists of tuples whose first item names the operation.
Program program_of(nb::handle ops) {
    Program program;
    for (nb::handle item : ops) {
        const auto parts = nb::cast<nb::tuple>(item);
        const auto name = nb::cast<std::string>(parts[0]);
        Op op;
        if (name == "literal") {
            op.kind = OpKind::Literal;
            op.text = nb::cast<std::string>(parts[1]);
        } else if (name == "value") {
            op.kind = OpKind::Value;
            op.type = scalar_of(nb::cast<std::string>(parts[1]));
        } else if (name == "array") {
            op.kind = OpKind::Array;
            op.type = scalar_of(nb::cast<std::string>(parts[1]));
            op.count = nb::cast<std::uint32_t>(parts[2]);
        } else if (name == "table") {
            op.kind = OpKind::Table;
            op.body = program_of(parts[1]);
        } else if (name == "blob") {
            op.kind = OpKind::Blob;
        } else if (name == "time") {
            op.kind = OpKind::Time;
        } else {
            throw nb::value_error("unknown operation in a channel's program");
        }
        program.push_back(std::move(op));
    }
    return program;
}

/// A view that owns what it shows: a chunk is handed on without a copy.
nb::object view_of(std::string text) {
    auto* owned = new std::string(std::move(text));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::string*>(p); });
    using View = nb::ndarray<nb::memview, const std::uint8_t, nb::ndim<1>, nb::c_contig>;
    return nb::cast(View(owned->data(), {owned->size()}, owner));
}

/// Calls `visit(opcode, where it begins, length of its content)` for every record of a chunk.
template <class Visit>
void for_each_record(const nb::bytes& records, Visit visit) {
    const char* data = records.c_str();
    const std::size_t size = records.size();
    std::size_t at = 0;
    while (at < size) {
        std::uint64_t length = 0;
        if (size - at < 9) throw nb::value_error("a record is cut off inside a chunk");
        std::memcpy(&length, data + at + 1, 8);
        if (size - at - 9 < length) throw nb::value_error("a record is cut off inside a chunk");
        visit(data[at], at, static_cast<std::size_t>(length));
        at += 9 + static_cast<std::size_t>(length);
    }
}

/// What stands before a message's data.
struct MessageHead {
    MessageHead(const nb::bytes& records, std::size_t at, std::size_t length) {
        if (length < 22) throw nb::value_error("a message record is too short");
        const char* head = records.c_str() + at + 9;
        std::memcpy(&channel, head, 2);
        std::memcpy(&sequence, head + 2, 4);
        std::memcpy(&log_ns, head + 6, 8);
        std::memcpy(&publish_ns, head + 14, 8);
    }

    std::uint16_t channel = 0;
    std::uint32_t sequence = 0;
    std::int64_t log_ns = 0;
    std::int64_t publish_ns = 0;
};

nb::tuple tuple_of(Chunk chunk) {
    return nb::make_tuple(view_of(std::move(chunk.records)), view_of(std::move(chunk.index)),
                          nb::bytes(chunk.channels.data(), chunk.channels.size() * sizeof(ChunkChannel)),
                          chunk.start_ns, chunk.end_ns);
}

}  // namespace

}  // namespace mainspring::capture

void bind_capture(nb::module_& m) {
    using namespace mainspring::capture;

    nb::class_<ChunkBuilder>(m, "ChunkBuilder", "Builds the contents of MCAP chunks.")
        .def(nb::init<std::size_t, std::int64_t>(), "limit_bytes"_a, "span_ns"_a)
        .def(
            "add_channel",
            [](ChunkBuilder& self, std::uint16_t id, nb::handle program) {
                self.add_channel(id, program_of(program));
            },
            "id"_a, "program"_a,
            nb::sig("def add_channel(self, id: int, program: collections.abc.Sequence[tuple[object, ...]]) -> None"),
            "Declare a channel and how its values become JSON.")
        .def("add_group", &ChunkBuilder::add_group, "channels"_a,
             "Declare the channels of one row; returns the group's number.")
        .def(
            "add_record",
            [](ChunkBuilder& self, nb::bytes record) {
                self.add_record({record.c_str(), record.size()});
            },
            "record"_a, "Copy a whole schema or channel record into the chunk.")
        .def(
            "add_message",
            [](ChunkBuilder& self, std::uint16_t channel, std::int64_t time_ns, nb::handle data) {
                BufferView view(data);
                self.add_message(channel, time_ns, view.text());
            },
            "channel"_a, "time_ns"_a, "data"_a,
            nb::sig("def add_message(self, channel: int, time_ns: int, data: bytes | memoryview) -> None"),
            "Add one whole message under the channel's next sequence number.")
        .def(
            "encode",
            [](ChunkBuilder& self, nb::handle tape, std::size_t start) {
                BufferView view(tape);
                nb::gil_scoped_release release;
                return self.encode(view.text(), start);
            },
            "tape"_a, "start"_a = 0,
            nb::sig("def encode(self, tape: bytes | memoryview, start: int = 0) -> int"),
            "Encode rows until the tape ends or the chunk is full; returns how far it came.")
        .def("full", &ChunkBuilder::full, "time_ns"_a,
             "Whether the chunk must be taken before a message at `time_ns`.")
        .def_prop_ro("size", &ChunkBuilder::size)
        .def(
            "take",
            [](ChunkBuilder& self) {
                Chunk chunk;
                {
                    nb::gil_scoped_release release;
                    chunk = self.take();
                }
                return tuple_of(std::move(chunk));
            },
            nb::sig("def take(self) -> tuple[memoryview, memoryview, bytes, int, int]"),
            "The chunk: records, index, its channels (u16 number, u64 offset in the index, u64 "
            "messages), first and last time.");

    m.def(
        "find_declarations",
        [](nb::bytes records) {
            std::vector<std::size_t> declared;
            for_each_record(records, [&](char opcode, std::size_t at, std::size_t) {
                if (opcode == 0x03 || opcode == 0x04) declared.push_back(at);
            });
            return declared;
        },
        "records"_a, "Where the schema and channel records of a chunk begin.");

    m.def(
        "scan_messages",
        [](nb::bytes records) {
            nb::list found;
            for_each_record(records, [&](char opcode, std::size_t at, std::size_t length) {
                if (opcode != 0x05) return;
                const MessageHead head(records, at, length);
                found.append(nb::make_tuple(head.channel, head.sequence, head.log_ns, head.publish_ns,
                                            at + 9 + 22, at + 9 + length));
            });
            return found;
        },
        "records"_a,
        nb::sig("def scan_messages(records: bytes) -> list[tuple[int, int, int, int, int, int]]"),
        "Channel, sequence, log time, publish time, begin and end of every message of a chunk.");

    m.def(
        "split_messages",
        [](nb::bytes records, const std::vector<std::uint16_t>& skip) {
            struct Part {
                std::string times;
                nb::list messages;
            };
            std::vector<bool> skipped(0x10000);
            for (const auto id : skip) skipped[id] = true;
            std::vector<std::uint16_t> order;  // of the first message of each channel
            std::vector<std::unique_ptr<Part>> parts(0x10000);
            for_each_record(records, [&](char opcode, std::size_t at, std::size_t length) {
                if (opcode != 0x05) return;
                const MessageHead head(records, at, length);
                if (skipped[head.channel]) return;
                auto& part = parts[head.channel];
                if (!part) {
                    part = std::make_unique<Part>();
                    order.push_back(head.channel);
                }
                part->times.append(reinterpret_cast<const char*>(&head.log_ns), sizeof head.log_ns);
                part->messages.append(nb::bytes(records.c_str() + at + 9 + 22, length - 22));
            });
            nb::list found;
            for (const auto id : order) {
                Part& part = *parts[id];
                found.append(nb::make_tuple(id, view_of(std::move(part.times)), part.messages));
            }
            return found;
        },
        "records"_a, "skip"_a,
        nb::sig("def split_messages(records: bytes, skip: collections.abc.Sequence[int]) -> list[tuple[int, memoryview, list[bytes]]]"),
        "The messages of a chunk by channel: its number, log times (int64) and data.");

    bind_sampler(m);
}
