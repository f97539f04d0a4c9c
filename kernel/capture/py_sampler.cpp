// The sampler copies the present value of every channel of a group onto the tape, in one call
// from Python. It is the only part of a recording that the simulation waits for, so it does
// nothing else: no encoding, no lookup by name, no allocation once the tape has grown.
//
// It keeps Python callables and buffers, so the type takes part in garbage collection.
#include "capture/py_sampler.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "capture/chunk_builder.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace mainspring::capture {

namespace {

/// How a channel's value is fetched and copied.
enum class Fetch : std::uint8_t {
    Number,  // call: an int, float or bool, kept with its kind
    Float,   // call: anything with __float__, as float64
    Live,    // a contiguous buffer that stays where it is
    Array,   // call: a buffer of exactly `size` bytes
    Table,   // call: a buffer of whole rows of `size` bytes
    Blob,    // call: bytes
};

struct Cell {
    Fetch fetch = Fetch::Number;
    PyObject* source = nullptr;  // owned: the callable, or the exporter of `view`
    std::size_t size = 0;
    std::string format;               // of a buffer, as the buffer protocol spells it
    std::vector<Py_ssize_t> shape;    // of an array, or of a table's rows
    Py_buffer view{};
    bool has_view = false;

    Cell() = default;
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;
    ~Cell() { clear(); }

    void clear() {
        if (has_view) {
            PyBuffer_Release(&view);
            has_view = false;
        }
        Py_CLEAR(source);
    }
};

/// What a row is made of, in order: memory to copy, or a value to fetch. Channels whose memory
/// lies side by side, as the columns of one table do, are one part.
struct Part {
    const char* from = nullptr;  // null: fetch `cell`
    std::size_t size = 0;
    const Cell* cell = nullptr;
    std::size_t index = 0;
};

struct Group {
    std::uint16_t number = 0;
    std::vector<std::unique_ptr<Cell>> cells;
    std::vector<Part> parts;
};

/// Bytes that grow at the end and are not set before they are written.
class Tape {
public:
    explicit Tape(std::size_t capacity)
        : data_(std::make_unique_for_overwrite<char[]>(capacity)), capacity_(capacity) {}

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const char* data() const noexcept { return data_.get(); }
    void cut(std::size_t size) noexcept { size_ = size; }

    /// Room for `size` more bytes, to be written at once.
    char* add(std::size_t size) {
        if (capacity_ - size_ < size) [[unlikely]] grow(size);
        char* here = data_.get() + size_;
        size_ += size;
        return here;
    }

private:
    void grow(std::size_t size) {
        const std::size_t wanted = std::max(2 * capacity_, size_ + size);
        auto larger = std::make_unique_for_overwrite<char[]>(wanted);
        std::memcpy(larger.get(), data_.get(), size_);
        data_ = std::move(larger);
        capacity_ = wanted;
    }

    std::unique_ptr<char[]> data_;
    std::size_t capacity_;
    std::size_t size_ = 0;
};

class Sampler {
public:
    Sampler(std::size_t limit_bytes, nb::object mismatch)
        : limit_bytes_(limit_bytes),
          mismatch_(std::move(mismatch)),
          tape_(limit_bytes + limit_bytes / 4) {}
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    /// `cells` are tuples (fetch, source, size, format, shape); `number` is the chunk builder's
    /// group.
    std::size_t add_group(std::uint16_t number, nb::list cells) {
        Group group;
        group.number = number;
        for (nb::handle item : cells) {
            const auto parts = nb::cast<nb::tuple>(item);
            auto cell = std::make_unique<Cell>();
            cell->fetch = fetch_of(nb::cast<std::string>(parts[0]));
            cell->size = nb::cast<std::size_t>(parts[2]);
            cell->format = nb::cast<std::string>(parts[3]);
            cell->shape = nb::cast<std::vector<Py_ssize_t>>(parts[4]);
            nb::object source = parts[1];
            if (cell->fetch == Fetch::Live) {
                if (PyObject_GetBuffer(source.ptr(), &cell->view, PyBUF_C_CONTIGUOUS) != 0) {
                    throw nb::python_error();
                }
                cell->has_view = true;
                if (static_cast<std::size_t>(cell->view.len) != cell->size) {
                    throw nb::value_error("a live buffer has another size than its layout");
                }
            }
            cell->source = source.release().ptr();
            add_part(group, *cell);
            group.cells.push_back(std::move(cell));
        }
        groups_.push_back(std::move(group));
        return groups_.size() - 1;
    }

    /// Append one row. Returns whether the tape has reached its limit.
    bool sample(std::size_t which, std::int64_t time_ns) {
        const std::size_t begin = tape_.size();
        begin_row(which, time_ns);
        const Sampling during(sampling_);
        try {
            for (const Part& part : groups_[which].parts) {
                if (part.from != nullptr) {
                    append(part.from, part.size);
                    continue;
                }
                nb::object value = nb::steal(PyObject_CallNoArgs(part.cell->source));
                if (!value.is_valid()) throw nb::python_error();
                keep(*part.cell, value, which, part.index);
            }
        } catch (...) {
            tape_.cut(begin);  // a row is on the tape whole or not at all
            throw;
        }
        return tape_.size() >= limit_bytes_;
    }

    /// Append one row whose values were fetched already.
    bool sample_values(std::size_t which, std::int64_t time_ns, nb::list values) {
        const std::size_t begin = tape_.size();
        begin_row(which, time_ns);
        const Sampling during(sampling_);
        try {
            Group& group = groups_[which];
            if (values.size() != group.cells.size()) {
                throw nb::value_error("a row needs one value for each channel");
            }
            for (std::size_t i = 0; i < group.cells.size(); ++i) {
                Cell& cell = *group.cells[i];
                if (cell.fetch == Fetch::Live) {
                    append(cell.view.buf, cell.size);
                } else {
                    keep(cell, nb::object(values[i]), which, i);
                }
            }
        } catch (...) {
            tape_.cut(begin);
            throw;
        }
        return tape_.size() >= limit_bytes_;
    }

    nb::bytes take() {
        // Half a row must not leave: a source that flushes its own recording would do that.
        if (sampling_) throw nb::value_error("a recording cannot be flushed by one of its sources");
        nb::bytes tape(tape_.data(), tape_.size());
        tape_.cut(0);
        return tape;
    }

    [[nodiscard]] std::size_t size() const noexcept { return tape_.size(); }

    /// After this no beat takes its short way: whoever takes the tapes has failed.
    void stop() noexcept { stopped_ = true; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

    int traverse(visitproc visit, void* arg) {
        for (Group& group : groups_) {
            for (auto& cell : group.cells) Py_VISIT(cell->source);
        }
        Py_VISIT(mismatch_.ptr());
        return 0;
    }

    void clear() {
        for (Group& group : groups_) {
            for (auto& cell : group.cells) cell->clear();
        }
        groups_.clear();
        mismatch_.reset();
    }

private:
    static Fetch fetch_of(const std::string& name) {
        if (name == "number") return Fetch::Number;
        if (name == "float") return Fetch::Float;
        if (name == "live") return Fetch::Live;
        if (name == "array") return Fetch::Array;
        if (name == "table") return Fetch::Table;
        if (name == "blob") return Fetch::Blob;
        throw nb::value_error("unknown way to fetch a channel's value");
    }

    /// True while a row is begun and not complete.
    class Sampling {
    public:
        explicit Sampling(bool& flag) : flag_(flag) { flag_ = true; }
        Sampling(const Sampling&) = delete;
        Sampling& operator=(const Sampling&) = delete;
        ~Sampling() { flag_ = false; }

    private:
        bool& flag_;
    };

    static void add_part(Group& group, const Cell& cell) {
        const std::size_t index = group.cells.size();
        if (cell.fetch != Fetch::Live) {
            group.parts.push_back({nullptr, 0, &cell, index});
            return;
        }
        const auto* from = static_cast<const char*>(cell.view.buf);
        if (cell.size == 0) return;
        if (!group.parts.empty() && group.parts.back().from != nullptr &&
            group.parts.back().from + group.parts.back().size == from) {
            group.parts.back().size += cell.size;
        } else {
            group.parts.push_back({from, cell.size, &cell, index});
        }
    }

    void append(const void* data, std::size_t size) {
        char* here = tape_.add(size);
        if (size == sizeof(double)) {  // most are one number
            std::memcpy(here, data, sizeof(double));
        } else {
            std::memcpy(here, data, size);
        }
    }

    template <class T>
    void append_value(T value) {
        std::memcpy(tape_.add(sizeof value), &value, sizeof value);
    }

    void begin_row(std::size_t which, std::int64_t time_ns) {
        if (which >= groups_.size()) throw nb::index_error("no such group of channels");
        append_value(groups_[which].number);
        append_value(time_ns);
    }

    /// Copy `value`; where it does not lie as it should, Python makes it fit or says why not.
    void keep(const Cell& cell, const nb::object& value, std::size_t group, std::size_t index) {
        if (copy(cell, value.ptr())) return;
        PyErr_Clear();
        nb::object fitted = mismatch_(group, index, value);
        if (copy(cell, fitted.ptr())) return;
        PyErr_Clear();
        throw nb::value_error("a value does not fit its channel");
    }

    bool copy(const Cell& cell, PyObject* value) {
        switch (cell.fetch) {
            case Fetch::Number: return copy_number(value);
            case Fetch::Float: {
                const double number = PyFloat_AsDouble(value);
                if (number == -1.0 && PyErr_Occurred() != nullptr) return false;
                append_value(number);
                return true;
            }
            case Fetch::Array: return copy_buffer(value, cell, false);
            case Fetch::Table: return copy_buffer(value, cell, true);
            case Fetch::Blob: {
                if (!PyBytes_Check(value)) return false;
                const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(value));
                if (size > UINT32_MAX) return false;
                append_value(static_cast<std::uint32_t>(size));
                append(PyBytes_AS_STRING(value), size);
                return true;
            }
            case Fetch::Live: break;
        }
        return false;
    }

    bool copy_number(PyObject* value) {
        if (PyFloat_Check(value)) {  // numpy's float64 is one, too
            append_value('f');
            append_value(PyFloat_AS_DOUBLE(value));
            return true;
        }
        if (PyLong_Check(value) || PyIndex_Check(value)) {
            nb::object whole = nb::steal(PyNumber_Index(value));
            if (!whole.is_valid()) return false;
            int overflow = 0;
            const long long number = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
            if (overflow != 0 || (number == -1 && PyErr_Occurred() != nullptr)) return false;
            append_value('i');
            append_value(static_cast<std::int64_t>(number));
            return true;
        }
        const double number = PyFloat_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred() != nullptr) return false;
        append_value('f');
        append_value(number);
        return true;
    }

    bool copy_buffer(PyObject* value, const Cell& cell, bool rows) {
        Py_buffer view;
        if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) return false;
        const auto length = static_cast<std::size_t>(view.len);
        const bool fits = same_form(view, cell, rows ? 1 : 0);
        if (fits) {
            if (rows) append_value(static_cast<std::uint32_t>(view.shape[0]));
            append(view.buf, length);
        }
        PyBuffer_Release(&view);
        return fits;
    }

    /// The same element type and shape; the first `free_axes` axes may have any length.
    static bool same_form(const Py_buffer& view, const Cell& cell, std::size_t free_axes) {
        if (view.format == nullptr || cell.format != view.format) return false;
        if (static_cast<std::size_t>(view.ndim) != cell.shape.size() + free_axes) return false;
        if (free_axes == 1 && view.shape[0] > static_cast<Py_ssize_t>(UINT32_MAX)) return false;
        for (std::size_t i = 0; i < cell.shape.size(); ++i) {
            if (view.shape[i + free_axes] != cell.shape[i]) return false;
        }
        return true;
    }

    std::size_t limit_bytes_;
    nb::object mismatch_;
    Tape tape_;
    bool sampling_ = false;
    bool stopped_ = false;
    std::deque<Group> groups_;  // a group stays where it is while its callables run
};

/// A group's callback. While nothing but sampling is to be done, it is done here, without a line
/// of Python; whatever else there is goes to `slow(context)`, and a tape that is full to
/// `full(time_ns)`. The short way is taken for times after `last_ns` and before `until_ns`.
class Beat {
public:
    Beat(nb::object sampler, nb::object slow, nb::object full)
        : owner_(std::move(sampler)),
          sampler_(nb::cast<Sampler*>(owner_)),
          slow_(std::move(slow)),
          full_(std::move(full)) {}

    nb::object call(nb::handle context) {
        static PyObject* const name = PyUnicode_InternFromString("time");
        const nb::object time = nb::steal(PyObject_GetAttr(context.ptr(), name));
        if (!time.is_valid()) throw nb::python_error();
        const long long time_ns = PyLong_AsLongLong(time.ptr());
        if (time_ns == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
        if (time_ns <= last_ns || time_ns >= until_ns || sampler_->stopped()) return slow_(context);
        last_ns = time_ns;
        return sampler_->sample(row, time_ns) ? full_(time) : nb::none();
    }

    int traverse(visitproc visit, void* arg) {
        Py_VISIT(owner_.ptr());
        Py_VISIT(slow_.ptr());
        Py_VISIT(full_.ptr());
        return 0;
    }

    void clear() {
        until_ns = 0;
        owner_.reset();
        slow_.reset();
        full_.reset();
    }

    std::size_t row = 0;
    std::int64_t last_ns = -1;
    std::int64_t until_ns = 0;

private:
    nb::object owner_;
    Sampler* sampler_;
    nb::object slow_;
    nb::object full_;
};

int beat_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    return nb::inst_ptr<Beat>(self)->traverse(visit, arg);
}

int beat_clear(PyObject* self) {
    nb::inst_ptr<Beat>(self)->clear();
    return 0;
}

PyType_Slot beat_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(beat_traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(beat_clear)},
                            {0, nullptr}};

int sampler_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    return nb::inst_ptr<Sampler>(self)->traverse(visit, arg);
}

int sampler_clear(PyObject* self) {
    nb::inst_ptr<Sampler>(self)->clear();
    return 0;
}

PyType_Slot sampler_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(sampler_traverse)},
                               {Py_tp_clear, reinterpret_cast<void*>(sampler_clear)},
                               {0, nullptr}};

}  // namespace

}  // namespace mainspring::capture

void bind_sampler(nb::module_& m) {
    using mainspring::capture::Sampler;
    nb::class_<Sampler>(m, "Sampler", nb::type_slots(mainspring::capture::sampler_slots),
                        "Copies the present values of a group of channels onto a tape.")
        .def(nb::init<std::size_t, nb::object>(), "limit_bytes"_a, "mismatch"_a,
             nb::sig("def __init__(self, limit_bytes: int, mismatch: collections.abc.Callable[[int, int, object], object]) -> None"))
        .def("add_group", &Sampler::add_group, "number"_a, "cells"_a,
             nb::sig("def add_group(self, number: int, cells: list[tuple[str, object, int, str, tuple[int, ...]]]) -> int"),
             "Declare the cells of a row; returns the group's place in this sampler.")
        .def("sample", &Sampler::sample, "group"_a, "time_ns"_a,
             "Fetch and append one row; whether the tape has reached its limit.")
        .def("sample_values", &Sampler::sample_values, "group"_a, "time_ns"_a, "values"_a,
             nb::sig("def sample_values(self, group: int, time_ns: int, values: list[object]) -> bool"),
             "Append one row of values fetched already.")
        .def("take", &Sampler::take, "The tape so far; a new one begins.")
        .def("stop", &Sampler::stop, "Let every beat take its long way from now on.")
        .def_prop_ro("size", &Sampler::size);
    using mainspring::capture::Beat;
    nb::class_<Beat>(m, "Beat", nb::type_slots(mainspring::capture::beat_slots),
                     "A group's callback: samples without Python from after last_ns to before until_ns.")
        .def(nb::init<nb::object, nb::object, nb::object>(), "sampler"_a, "slow"_a, "full"_a,
             nb::sig("def __init__(self, sampler: Sampler, slow: collections.abc.Callable[[mainspring.clock.StepContext], object], full: collections.abc.Callable[[int], object]) -> None"))
        .def("__call__", &Beat::call, "context"_a,
             nb::sig("def __call__(self, context: mainspring.clock.StepContext) -> object"))
        .def_rw("row", &Beat::row, "Which of the sampler's groups.")
        .def_rw("last_ns", &Beat::last_ns, "The time of the last row; -1 before the first.")
        .def_rw("until_ns", &Beat::until_ns, "From this time on `slow` is called.");
}
