// The sampler copies the present value of every channel of a group onto the tape, in one call
// from Python. It is the only part of a recording that the simulation waits for, so it does
// nothing else: no encoding, no lookup by name, no allocation once the tape has grown.
//
// It keeps Python callables and buffers, so the type takes part in garbage collection.
#include "capture/py_sampler.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

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

struct Group {
    std::uint16_t number = 0;
    std::vector<std::unique_ptr<Cell>> cells;
};

class Sampler {
public:
    Sampler(std::size_t limit_bytes, nb::object mismatch)
        : limit_bytes_(limit_bytes), mismatch_(std::move(mismatch)) {
        tape_.reserve(limit_bytes + limit_bytes / 4);
    }
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
            group.cells.push_back(std::move(cell));
        }
        groups_.push_back(std::move(group));
        return groups_.size() - 1;
    }

    /// Append one row. Returns whether the tape has reached its limit.
    bool sample(std::size_t which, std::int64_t time_ns) {
        const std::size_t begin = tape_.size();
        begin_row(which, time_ns);
        try {
            Group& group = groups_[which];
            for (std::size_t i = 0; i < group.cells.size(); ++i) {
                Cell& cell = *group.cells[i];
                if (cell.fetch == Fetch::Live) {
                    append(cell.view.buf, cell.size);
                    continue;
                }
                nb::object value = nb::steal(PyObject_CallNoArgs(cell.source));
                if (!value.is_valid()) throw nb::python_error();
                keep(cell, value, which, i);
            }
        } catch (...) {
            tape_.resize(begin);  // a row is on the tape whole or not at all
            throw;
        }
        return tape_.size() >= limit_bytes_;
    }

    /// Append one row whose values were fetched already.
    bool sample_values(std::size_t which, std::int64_t time_ns, nb::list values) {
        const std::size_t begin = tape_.size();
        begin_row(which, time_ns);
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
            tape_.resize(begin);
            throw;
        }
        return tape_.size() >= limit_bytes_;
    }

    nb::bytes take() {
        nb::bytes tape(tape_.data(), tape_.size());
        tape_.clear();
        return tape;
    }

    [[nodiscard]] std::size_t size() const noexcept { return tape_.size(); }

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

    void append(const void* data, std::size_t size) {
        tape_.append(static_cast<const char*>(data), size);
    }

    template <class T>
    void append_value(T value) {
        append(&value, sizeof value);
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
    std::string tape_;
    std::deque<Group> groups_;  // a group stays where it is while its callables run
};

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
        .def_prop_ro("size", &Sampler::size);
}
