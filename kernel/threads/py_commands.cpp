// The render thread's command queue: `submit(call, *arguments)` remembers the call and the place
// that submitted it, and nothing else, because it runs hundreds of times a frame. Which line the
// place is, is looked up by whoever has to tell.
//
// What submitted work submits itself comes before everything else in the next drain, so that the
// order does not depend on which thread was faster.
//
// Safe from any thread: each method runs under the interpreter lock from start to end.
#include <new>
#include <utility>
#include <vector>

#include "threads/contexts.hpp"
#include "threads/py_threads.hpp"

namespace mainspring::threads {
namespace {

struct Command {
    // Filled in its place in the queue: a copy would wait for its parts to reach the cache.
    Command(PyObject* call_, PyObject* arguments_, PyObject* code_, Py_ssize_t lasti_) noexcept
        : call(call_), arguments(arguments_), code(code_), lasti(lasti_) {}

    PyObject* call;
    PyObject* arguments;  ///< a tuple, or null for none
    PyObject* code;       ///< of the submitting function, or null when there is none
    Py_ssize_t lasti;     ///< the instruction of the submission, -1 when there is none
};

struct CommandQueue {
    PyObject_HEAD
    std::vector<Command> commands;
    std::vector<Command> follow_ups;  ///< submitted by submitted work
    PyObject* diverted;               ///< called with what is submitted, once the queue is closed
};

CommandQueue* as_queue(PyObject* self) { return reinterpret_cast<CommandQueue*>(self); }

void release(std::vector<Command>& commands) {
    for (Command& command : commands) {
        Py_DECREF(command.call);
        Py_XDECREF(command.arguments);
        Py_XDECREF(command.code);
    }
}

PyObject* queue_submit(PyObject* self, PyObject* const* args, Py_ssize_t nargs) {
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "submit() takes a callable and its arguments");
        return nullptr;
    }
    if (Py_TYPE(args[0])->tp_call == nullptr) {  // PyCallable_Check, without its call
        PyErr_Format(PyExc_TypeError, "submit() takes a callable, not %.200s",
                     Py_TYPE(args[0])->tp_name);
        return nullptr;
    }
    CommandQueue* queue = as_queue(self);
    if (queue->diverted != nullptr) {
        PyObject* call = Py_NewRef(queue->diverted);
        PyObject* answer = PyObject_Vectorcall(call, args, static_cast<std::size_t>(nargs), nullptr);
        Py_DECREF(call);
        return answer;
    }
    PyObject* arguments = nullptr;
    if (nargs > 1) {
        arguments = PyTuple_New(nargs - 1);
        if (arguments == nullptr) {
            return nullptr;
        }
        for (Py_ssize_t i = 1; i < nargs; ++i) {
            PyTuple_SET_ITEM(arguments, i - 1, Py_NewRef(args[i]));
        }
    }
    PyObject* code = nullptr;
    Py_ssize_t lasti = -1;
    if (PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get())) {
        code = reinterpret_cast<PyObject*>(PyFrame_GetCode(frame));
        lasti = PyFrame_GetLasti(frame);
        Py_DECREF(frame);
    }
    try {
        ((declared & kRender) != 0 ? queue->follow_ups : queue->commands)
            .emplace_back(args[0], arguments, code, lasti);
    } catch (const std::bad_alloc&) {
        Py_XDECREF(arguments);
        Py_XDECREF(code);
        return PyErr_NoMemory();
    }
    Py_INCREF(args[0]);
    Py_RETURN_NONE;
}

PyObject* queue_divert(PyObject* self, PyObject* call) {
    Py_XSETREF(as_queue(self)->diverted, Py_NewRef(call));
    Py_RETURN_NONE;
}

PyObject* row_of(const Command& command) {
    PyObject* row = PyTuple_New(4);
    PyObject* arguments = command.arguments ? Py_NewRef(command.arguments) : PyTuple_New(0);
    PyObject* lasti = PyLong_FromSsize_t(command.lasti);
    if (row == nullptr || arguments == nullptr || lasti == nullptr) {
        Py_XDECREF(row);
        Py_XDECREF(arguments);
        Py_XDECREF(lasti);
        return nullptr;
    }
    PyTuple_SET_ITEM(row, 0, Py_NewRef(command.call));
    PyTuple_SET_ITEM(row, 1, arguments);
    PyTuple_SET_ITEM(row, 2, Py_NewRef(command.code ? command.code : Py_None));
    PyTuple_SET_ITEM(row, 3, lasti);
    return row;
}

PyObject* queue_take(PyObject* self, PyObject*) {
    // Swapped out first: building the list can run Python, and that may submit.
    // order: what submitted work submitted, then what was submitted from outside
    std::vector<Command> taken = std::exchange(as_queue(self)->follow_ups, {});
    std::vector<Command> outside = std::exchange(as_queue(self)->commands, {});
    try {
        as_queue(self)->commands.reserve(outside.size());  // the next frame is like this one
    } catch (const std::bad_alloc&) {
    }
    if (taken.empty()) {
        taken.swap(outside);
    } else {
        try {
            taken.insert(taken.end(), outside.begin(), outside.end());
        } catch (const std::bad_alloc&) {
            release(taken);
            release(outside);
            return PyErr_NoMemory();
        }
    }
    PyObject* list = PyList_New(static_cast<Py_ssize_t>(taken.size()));
    if (list == nullptr) {
        release(taken);
        return nullptr;
    }
    for (std::size_t i = 0; i < taken.size(); ++i) {
        PyObject* row = row_of(taken[i]);
        if (row == nullptr) {
            Py_DECREF(list);
            release(taken);
            return nullptr;
        }
        PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), row);
    }
    release(taken);
    return list;
}

Py_ssize_t queue_length(PyObject* self) {
    return static_cast<Py_ssize_t>(as_queue(self)->commands.size() +
                                   as_queue(self)->follow_ups.size());
}

PyObject* queue_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    if (PyTuple_GET_SIZE(args) != 0 || (kwargs != nullptr && PyDict_GET_SIZE(kwargs) != 0)) {
        PyErr_SetString(PyExc_TypeError, "CommandQueue takes no arguments");
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self != nullptr) {
        new (&as_queue(self)->commands) std::vector<Command>();
        new (&as_queue(self)->follow_ups) std::vector<Command>();
    }
    return self;
}

int queue_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(as_queue(self)->diverted);
    for (const auto* commands : {&as_queue(self)->commands, &as_queue(self)->follow_ups}) {
        for (const Command& command : *commands) {
            Py_VISIT(command.call);
            Py_VISIT(command.arguments);
            Py_VISIT(command.code);
        }
    }
    return 0;
}

int queue_clear(PyObject* self) {
    Py_CLEAR(as_queue(self)->diverted);
    for (auto* commands : {&as_queue(self)->commands, &as_queue(self)->follow_ups}) {
        std::vector<Command> taken = std::exchange(*commands, {});
        release(taken);
    }
    return 0;
}

void queue_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    queue_clear(self);
    as_queue(self)->commands.~vector();
    as_queue(self)->follow_ups.~vector();
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

template <class Function>
void* slot(Function* function) {
    return reinterpret_cast<void*>(function);
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef queue_methods[] = {
    {"submit", fast(queue_submit), METH_FASTCALL,
     "Remember a call, its arguments, and the place that submits it."},
    {"take", queue_take, METH_NOARGS,
     "Everything submitted so far, in order, as (call, arguments, code, instruction); the queue is empty then."},
    {"divert", queue_divert, METH_O,
     "From now on a submission is not remembered: it calls this with the call and its arguments."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot queue_slots[] = {
    {Py_tp_doc, const_cast<char*>("Calls in the order they were submitted, each with its place.")},
    {Py_tp_new, slot(queue_new)},
    {Py_tp_traverse, slot(queue_traverse)},
    {Py_tp_clear, slot(queue_clear)},
    {Py_tp_dealloc, slot(queue_dealloc)},
    {Py_tp_methods, queue_methods},
    {Py_sq_length, slot(queue_length)},
    {0, nullptr},
};

PyType_Spec queue_spec = {
    "mainspring._kernel.threads.CommandQueue",
    sizeof(CommandQueue),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    queue_slots,
};

}  // namespace

int add_command_queue(PyObject* module) {
    PyObject* type = PyType_FromSpec(&queue_spec);
    if (type == nullptr) {
        return -1;
    }
    const int added = PyModule_AddObjectRef(module, "CommandQueue", type);
    Py_DECREF(type);
    return added;
}

}  // namespace mainspring::threads
