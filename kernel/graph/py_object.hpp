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
bool apply_exact(ScalarOut& out, PyObject* value, Time now);
bool can_apply(Out& out, Time now);

// A reference value: a weak, counted way to an output.
struct Reference {
    PyObject_HEAD
    Handle* handle;   // null for the empty reference
    PyObject* items;  // a tuple of references, for one made of parts; else null
    std::unique_ptr<Out>* made;  // the output that stands for the parts
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
View* new_view(Out* out, Node* reader, bool writable, std::uint32_t input, bool whole);
inline Out* out_of(const View* view) { return view->handle == nullptr ? nullptr : view->handle->out; }
void refresh(View* view, Out& out, Time now);
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

}  // namespace mainspring::graph::py
