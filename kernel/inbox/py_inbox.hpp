// The inbox as Python sees it: a queue that holds a reference to everything that waits.
#pragma once

#include <Python.h>

#include "inbox/inbox.hpp"

namespace mainspring::inbox {

/// Looks at every item before it is accepted, in the thread that puts it. An exception refuses it.
class Gate {
public:
    Gate() = default;
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;
    virtual ~Gate() = default;
    virtual void admit(PyObject* item) = 0;
};

struct PyInbox {
    Inbox engine;
    std::vector<void*> taken;
    Gate* gate = nullptr;  ///< alive as long as gate_owner
    PyObject* gate_owner = nullptr;

    explicit PyInbox(std::size_t capacity) : engine(capacity) {}
    PyInbox(const PyInbox&) = delete;
    PyInbox& operator=(const PyInbox&) = delete;
    ~PyInbox() { clear(); }

    int traverse(visitproc visit, void* arg) const {
        for (void* item : engine.peek()) Py_VISIT(static_cast<PyObject*>(item));
        Py_VISIT(gate_owner);
        return 0;
    }
    void clear() {
        std::vector<void*> rest;
        engine.drain(rest);
        for (void* item : rest) Py_DECREF(static_cast<PyObject*>(item));
        gate = nullptr;
        Py_CLEAR(gate_owner);
    }
};

}  // namespace mainspring::inbox
