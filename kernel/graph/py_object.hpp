// What the Python side of the graph engine shares: conversions between outputs and objects, views,
// nodes whose work is a Python function.
//
// The GIL is held in every function here. A failing Python call leaves its error pending and
// throws `HostError`; whoever is called from Python turns it back into a null result.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "graph/graph.hpp"

namespace mainspring::graph::py {

// Objects that the Python package defines and the kernel needs.
struct Symbols {
    PyObject* remove = nullptr;
    PyObject* remove_if_exists = nullptr;
    PyObject* removed_type = nullptr;    // Removed(item)
    PyObject* set_delta = nullptr;       // set_delta(added, removed)
    PyObject* key_set = nullptr;         // key_set(list of keys) -> a set in that order
    PyObject* ordered = nullptr;         // ordered(elements of a set) -> list
    PyObject* make_window = nullptr;     // (list of values, Python type) -> array
    PyObject* make_node_error = nullptr;  // (node view, exception, depth, values) -> NodeError
    PyObject* empty = nullptr;           // ()
};
extern Symbols symbols;

inline ObjRef steal(PyObject* object) {
    if (object == nullptr) throw HostError();
    return ObjRef::steal(object);
}
inline void check(int status) {
    if (status < 0) throw HostError();
}

// The wall clock's and a graph's own times are int64 nanoseconds since 1970; Python sees datetimes.
void init_times();
PyObject* to_datetime(Time time);
PyObject* to_timedelta(std::int64_t ns);
Time from_datetime(PyObject* value);            // throws HostError
std::int64_t from_timedelta(PyObject* value);   // throws HostError
bool is_datetime(PyObject* value);
bool is_timedelta(PyObject* value);

// Reading and writing outputs. `read_*` give new references; None for what is not there.
PyObject* read_value(Out* out, Time now);
PyObject* read_delta(Out* out, Time now, bool whole = false);
void apply(Out& out, PyObject* value, Time now);
// The common case of `apply`: takes over the reference when the value is just what the output
// holds, and says whether it did.
inline bool apply_exact(ScalarOut& out, PyObject* value, Time now);
bool can_apply(Out& out, Time now);

// A reference value: a weak, counted way to an output.
struct Reference {
    PyObject_HEAD
    Handle* handle;  // null for the empty reference
};
extern PyTypeObject* reference_type;
PyObject* make_reference(Out* out);
Out* follow_reference(PyObject* reference);

// The view of a time series a node's function gets, or reaches through another one.
struct View {
    PyObject_HEAD
    // Set before each call for inputs that are scalars: reading them is a plain member access.
    PyObject* value;
    PyObject* modified;
    PyObject* valid;
    Handle* handle;
    Node* node;         // the reader; null for a child's view
    bool writable;
    bool whole;         // everything counts as modified: it was bound anew in this cycle
    bool within;        // reached through a time series that ticked: reads as the whole if it did not
    bool active;
    std::uint32_t input;
};
extern PyTypeObject* view_type;         // any kind
extern PyTypeObject* scalar_view_type;  // a scalar input: `value`, `modified`, `valid` are members
extern PyTypeObject* bundle_view_type;  // fields are attributes
bool is_bundle_word(std::string_view name);  // does every bundle call something of its own this?
// `now` where the caller knows it.
View* new_view(Out* out, Node* reader, bool writable, std::uint32_t input, bool whole,
               Time now = never);
inline Out* out_of(const View* view) { return view->handle == nullptr ? nullptr : view->handle->out; }
inline void refresh(View* view, Out& out, Time now);
bool init_views(PyObject* module);

// Node views, schedulers, clocks and the like, for functions that ask for them.
PyObject* node_view(Node* node);
PyObject* graph_view(Graph* graph);
PyObject* make_scheduler(Node* node);
PyObject* make_clock(Node* node);
PyObject* make_engine_api(Node* node);
PyObject* make_push_sender(Node* node);

void install_host();
// The pending Python error as an exception object (a new reference), or null.
PyObject* take_error();

// --- on the way of every tick of a Python node ---------------------------------------------------

inline void put(PyObject*& at, PyObject* value) {
    PyObject* old = at;
    if (old == value) return;
    at = Py_NewRef(value);
    Py_XDECREF(old);
}

inline void refresh(View* view, Out& source, Time now) {
    Out* out = source.resolve();
    if (out == nullptr || !out->valid()) [[unlikely]] {
        put(view->value, Py_None);
        put(view->modified, Py_False);
        put(view->valid, Py_False);
        return;
    }
    PyObject* object = as_scalar(*out).object();
    put(view->value, object == nullptr ? Py_None : object);
    put(view->modified, source.modified(now) || view->whole ? Py_True : Py_False);
    put(view->valid, Py_True);
}

// The value of an int that is no subclass's; false when it does not fit 64 bits.
inline bool exact_int(PyObject* value, std::int64_t& number) {
    const auto* digits = reinterpret_cast<const PyLongObject*>(value);
#if PY_VERSION_HEX >= 0x030C0000
    if (PyUnstable_Long_IsCompact(digits) != 0) [[likely]] {
        number = PyUnstable_Long_CompactValue(digits);
        return true;
    }
#else
    if (const Py_ssize_t size = Py_SIZE(value); size >= -1 && size <= 1) [[likely]] {
        number = size * static_cast<std::int64_t>(digits->ob_digit[0]);
        return true;
    }
#endif
    int overflow = 0;
    number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow == 0;
}

inline bool apply_exact(ScalarOut& out, PyObject* value, Time now) {
    switch (out.type->scalar) {
        case Scalar::integer: {
            std::int64_t number = 0;
            if (!PyLong_CheckExact(value) || !exact_int(value, number)) return false;
            out.raw.i = number;
            break;
        }
        case Scalar::real:
            if (!PyFloat_CheckExact(value)) return false;
            out.raw.f = PyFloat_AS_DOUBLE(value);
            break;
        case Scalar::boolean:
            if (!PyBool_Check(value)) return false;
            out.raw.b = value == Py_True;
            break;
        default:
            if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != out.type->scalar_type.get())
                return false;
    }
    PyObject* old = std::exchange(out.boxed, value);
    out.mark(now);
    Py_XDECREF(old);
    return true;
}

}  // namespace mainspring::graph::py
