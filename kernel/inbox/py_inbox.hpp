// The inbox as Python sees it: a queue that holds a reference to everything that waits.
#pragma once

#include <Python.h>

#include "inbox/inbox.hpp"

namespace mainspring::inbox {

struct PyInbox {
    Inbox engine;
    std::vector<void*> taken;

    explicit PyInbox(std::size_t capacity) : engine(capacity) {}
    PyInbox(const PyInbox&) = delete;
    PyInbox& operator=(const PyInbox&) = delete;
    ~PyInbox() { clear(); }

    int traverse(visitproc visit, void* arg) const {
        for (void* item : engine.peek()) Py_VISIT(static_cast<PyObject*>(item));
        return 0;
    }
    void clear() {
        std::vector<void*> rest;
        engine.drain(rest);
        for (void* item : rest) Py_DECREF(static_cast<PyObject*>(item));
    }
};

}  // namespace mainspring::inbox
