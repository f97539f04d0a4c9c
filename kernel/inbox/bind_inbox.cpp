#include <nanobind/nanobind.h>

#include "inbox/py_inbox.hpp"

namespace nb = nanobind;
using mainspring::inbox::Gate;
using mainspring::inbox::PyInbox;

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<PyInbox>(self)->traverse(visit, arg) : 0;
}
int clear(PyObject* self) {
    nb::inst_ptr<PyInbox>(self)->clear();
    return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {0, nullptr}};

nb::list to_list(const std::vector<void*>& items, bool steal) {
    nb::list list;
    for (void* item : items) {
        auto* object = static_cast<PyObject*>(item);
        list.append(steal ? nb::steal(object) : nb::borrow(object));
    }
    return list;
}

}  // namespace

void bind_inbox(nb::module_& m) {
    nb::class_<Gate>(m, "Gate", "Looks at every item before it is accepted, and may refuse it.");
    nb::class_<PyInbox>(m, "Inbox", nb::type_slots(slots), "A bounded queue: many threads put, one drains.")
        .def(nb::init<std::size_t>(), nb::arg("capacity"))
        .def(
            "put",
            [](PyInbox& self, nb::object item) {
                if (self.gate != nullptr) self.gate->admit(item.ptr());
                if (!self.engine.put(item.ptr())) return false;
                item.release();  // the queue holds the reference now
                return true;
            },
            nb::arg("item").none(),
            "Adds `item`; False when the queue is full. What the gate raises is raised, and nothing is added.")
        .def_prop_rw(
            "gate", [](const PyInbox& self) { return nb::borrow(self.gate_owner == nullptr ? Py_None : self.gate_owner); },
            [](PyInbox& self, nb::object gate) {
                self.gate = gate.is_none() ? nullptr : nb::cast<Gate*>(gate);
                PyObject* old = self.gate_owner;
                self.gate_owner = gate.is_none() ? nullptr : gate.release().ptr();
                Py_XDECREF(old);
            },
            nb::for_setter(nb::arg("gate").none()), nb::for_getter(nb::sig("def gate(self) -> Gate | None")),
            nb::for_setter(nb::sig("def gate(self, gate: Gate | None, /) -> None")),
            "What looks at every item before it is accepted; None when nothing does.")
        .def(
            "drain",
            [](PyInbox& self) {
                self.engine.drain(self.taken);
                return to_list(self.taken, true);
            },
            nb::sig("def drain(self) -> list[object]"), "Takes everything that waits, in the order it came.")
        .def(
            "peek", [](PyInbox& self) { return to_list(self.engine.peek(), false); },
            nb::sig("def peek(self) -> list[object]"), "What waits, in order, and stays.")
        .def_prop_ro("pending", [](PyInbox& self) { return self.engine.pending(); }, "How many wait.")
        .def_prop_rw(
            "capacity", [](PyInbox& self) { return self.engine.capacity(); },
            [](PyInbox& self, std::size_t capacity) { self.engine.set_capacity(capacity); },
            "How many may wait.")
        .def(
            "wait_until",
            [](PyInbox& self, std::int64_t deadline_ns) {
                nb::gil_scoped_release release;
                return self.engine.wait_until(deadline_ns);
            },
            nb::arg("deadline_ns"),
            "Waits for an item, a `wake` or the deadline (monotonic); True when an item is there.")
        .def("wake", [](PyInbox& self) { self.engine.wake(); }, "Ends a wait that is under way.");
}
