// Python's face of the log kernel: the canonical encoding, and the tape of inputs.
#include <nanobind/nanobind.h>

#include "log/py_encode.hpp"
#include "log/py_tape.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using mainspring::log::MsgpackWriter;
using mainspring::log::PyTape;

namespace {

nb::bytes to_bytes(std::string_view text) { return nb::bytes(text.data(), text.size()); }

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<PyTape>(self)->traverse(visit, arg) : 0;
}
int clear(PyObject* self) {
    nb::inst_ptr<PyTape>(self)->clear();
    return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {0, nullptr}};

}  // namespace

void bind_log(nb::module_& m) {
    m.def(
        "encode",
        [](nb::handle value, nb::handle fallback) {
            // One buffer a thread, kept: encoding happens at every look and for every input.
            thread_local MsgpackWriter kept;
            MsgpackWriter out;
            out.swap(kept);  // a fallback may encode in turn
            out.clear();
            const bool ok = mainspring::log::encode(value.ptr(), out, fallback.ptr());
            nb::bytes result = ok ? to_bytes(out.bytes()) : nb::bytes("", 0);
            if (out.capacity() < (std::size_t{1} << 20)) out.swap(kept);
            if (!ok) throw nb::python_error();
            return result;
        },
        "value"_a.none(), "fallback"_a,
        nb::sig("def encode(value: object, fallback: collections.abc.Callable[[typing.Any], bytes]) -> bytes"),
        "The canonical bytes of `value`; `fallback(value)` gives those of what is not plain.");

    m.def(
        "copy_plain",
        [](nb::handle value) -> nb::object {
            PyObject* copy = mainspring::log::copy_plain(value.ptr());
            if (copy == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
            return copy == nullptr ? nb::borrow(Py_NotImplemented) : nb::steal(copy);
        },
        "value"_a.none(), nb::sig("def copy_plain(value: object) -> typing.Any"),
        "A copy of numbers, text, bytes, None and the lists, tuples and dictionaries with text keys that hold "
        "them; NotImplemented when there is anything else.");

    nb::class_<PyTape, mainspring::inbox::Gate>(
        m, "Tape", nb::type_slots(slots),
        "The inputs that wait to be written, encoded. `on_first` is told when there are some again, and when far "
        "too many wait. As the gate of an inbox it refuses what cannot be encoded, and tells `on_own` of inputs that "
        "the simulation puts itself.")
        .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object, nb::object>(), "clock"_a,
             "timeline"_a, "fallback"_a, "check"_a, "on_own"_a, "on_first"_a,
             nb::sig("def __init__(self, clock: object, timeline: object, "
                     "fallback: collections.abc.Callable[[typing.Any], bytes], "
                     "check: collections.abc.Callable[[typing.Any], object], "
                     "on_own: collections.abc.Callable[[typing.Any], object], "
                     "on_first: collections.abc.Callable[[], object]) -> None"))
        .def("inputs", &PyTape::inputs, "time_ns"_a, "inputs"_a, "Appends the inputs of one instant.")
        .def("take", &PyTape::take,
             nb::sig("def take(self) -> tuple[int, int, int, int, bytes] | None"),
             "First and last instant, number of instants, last sequence number and the encoded list, which is "
             "empty afterwards.")
        .def_prop_ro("last_seq", [](const PyTape& self) { return self.last_seq; },
                     "The last sequence number that was appended.")
        .def("seek", [](PyTape& self, std::int64_t seq) { self.last_seq = seq; }, "last_seq"_a,
             "Goes on after the input `last_seq`.")
        .def_prop_ro("waiting_bytes", [](const PyTape& self) { return self.out.size(); },
                     "How many bytes wait.");
}
