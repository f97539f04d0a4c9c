// The checks of `mainspring.threads`: functions and a callable that cost a few nanoseconds.
//
// Plain CPython rather than nanobind, because a check stands in front of calls that cost less
// than a general argument dispatch. What a broken check says is decided in Python (`on_broken`).
#include "threads/py_threads.hpp"

#include <structmember.h>

#include <cstddef>

#include "threads/contexts.hpp"

namespace mainspring::threads {
namespace {

PyObject* py_is_main_thread(PyObject*, PyObject*) {
    return PyBool_FromLong(is_main(PyThread_get_thread_ident()));
}

PyObject* py_main_ident(PyObject*, PyObject*) {
    return PyLong_FromUnsignedLong(main_ident.load(std::memory_order_relaxed));
}

PyObject* py_set_main_ident(PyObject*, PyObject* value) {
    const unsigned long ident = PyLong_AsUnsignedLong(value);
    if (ident == static_cast<unsigned long>(-1) && PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    main_ident.store(ident, std::memory_order_relaxed);
    Py_RETURN_NONE;
}

PyObject* py_current_contexts(PyObject*, PyObject*) {
    return PyLong_FromLong(current(PyThread_get_thread_ident()));
}

PyObject* py_declare(PyObject*, PyObject* value) {
    const long mask = PyLong_AsLong(value);
    if (mask == -1 && PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    if (mask < 0 || mask > 0xff) {
        PyErr_SetString(PyExc_ValueError, "a context mask has eight bits");
        return nullptr;
    }
    const ContextMask before = declared;
    declared = static_cast<ContextMask>(mask);
    return PyLong_FromLong(before);
}

/// A function that may run only in some contexts. Binds like a function, so it decorates methods.
///
/// As an assertion it is the other way round: called with nothing or a name in a context that
/// passes it answers at once, and everything else is left to the function it stands before.
struct Guard {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* dict;
    PyObject* weakrefs;
    PyObject* call;
    PyObject* on_broken;  ///< called with the guard; raises
    ContextMask allowed;
    ContextMask refused;
};

bool passes(const Guard* guard) noexcept {
    const ContextMask now = current(PyThread_get_thread_ident());
    return (guard->allowed == 0 || (now & guard->allowed) != 0) && (now & guard->refused) == 0;
}

PyObject* assertion_vectorcall(PyObject* self, PyObject* const* args, std::size_t nargsf,
                               PyObject* kwnames) {
    auto* guard = reinterpret_cast<Guard*>(self);
    const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    const bool asserts = kwnames == nullptr && (nargs == 0 || (nargs == 1 && PyUnicode_Check(args[0])));
    if (asserts && passes(guard)) {
        Py_RETURN_NONE;
    }
    return PyObject_Vectorcall(guard->call, args, nargsf, kwnames);
}

PyObject* guard_vectorcall(PyObject* self, PyObject* const* args, std::size_t nargsf,
                           PyObject* kwnames) {
    auto* guard = reinterpret_cast<Guard*>(self);
    if (!passes(guard)) {
        PyObject* answer = PyObject_CallOneArg(guard->on_broken, self);
        if (answer == nullptr) {
            return nullptr;
        }
        Py_DECREF(answer);
    }
    return PyObject_Vectorcall(guard->call, args, nargsf, kwnames);
}

PyObject* guard_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"call", "allowed", "refused", "on_broken", "asserts", nullptr};
    PyObject* call = nullptr;
    PyObject* on_broken = nullptr;
    unsigned char allowed = 0;
    unsigned char refused = 0;
    int asserts = 0;
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "ObbO|p", const_cast<char**>(names), &call,
                                    &allowed, &refused, &on_broken, &asserts) == 0) {
        return nullptr;
    }
    auto* guard = reinterpret_cast<Guard*>(type->tp_alloc(type, 0));
    if (guard == nullptr) {
        return nullptr;
    }
    guard->vectorcall = asserts != 0 ? assertion_vectorcall : guard_vectorcall;
    guard->call = Py_NewRef(call);
    guard->on_broken = Py_NewRef(on_broken);
    guard->allowed = allowed;
    guard->refused = refused;
    return reinterpret_cast<PyObject*>(guard);
}

int guard_traverse(PyObject* self, visitproc visit, void* arg) {
    auto* guard = reinterpret_cast<Guard*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(guard->dict);
    Py_VISIT(guard->call);
    Py_VISIT(guard->on_broken);
    return 0;
}

int guard_clear(PyObject* self) {
    auto* guard = reinterpret_cast<Guard*>(self);
    Py_CLEAR(guard->dict);
    Py_CLEAR(guard->call);
    Py_CLEAR(guard->on_broken);
    return 0;
}

void guard_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    if (reinterpret_cast<Guard*>(self)->weakrefs != nullptr) {
        PyObject_ClearWeakRefs(self);
    }
    guard_clear(self);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* guard_repr(PyObject* self) {
    return PyUnicode_FromFormat("<guarded %R>", reinterpret_cast<Guard*>(self)->call);
}

/// Pickled and copied as functions are: by where it is found.
PyObject* guard_reduce(PyObject* self, PyObject*) {
    return PyObject_GetAttrString(self, "__qualname__");
}

PyObject* guard_get(PyObject* self, PyObject* instance, PyObject*) {
    return instance == nullptr ? Py_NewRef(self) : PyMethod_New(self, instance);
}

PyMemberDef guard_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Guard, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Guard, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Guard, weakrefs), READONLY, nullptr},
    {"allowed", T_UBYTE, offsetof(Guard, allowed), READONLY, nullptr},
    {"refused", T_UBYTE, offsetof(Guard, refused), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef guard_methods[] = {
    {"__reduce__", guard_reduce, METH_NOARGS, "Its name: it is a function of its module."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef guard_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

template <class Function>
void* slot(Function* function) {
    return reinterpret_cast<void*>(function);
}

PyType_Slot guard_slots[] = {
    {Py_tp_doc, const_cast<char*>("A function that runs only on threads that may call it.")},
    {Py_tp_new, slot(guard_new)},
    {Py_tp_call, slot(PyVectorcall_Call)},
    {Py_tp_traverse, slot(guard_traverse)},
    {Py_tp_clear, slot(guard_clear)},
    {Py_tp_dealloc, slot(guard_dealloc)},
    {Py_tp_descr_get, slot(guard_get)},
    {Py_tp_repr, slot(guard_repr)},
    {Py_tp_methods, guard_methods},
    {Py_tp_members, guard_members},
    {Py_tp_getset, guard_getset},
    {0, nullptr},
};

PyType_Spec guard_spec = {
    "mainspring._kernel.threads.Guard",
    sizeof(Guard),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR,
    guard_slots,
};

PyMethodDef functions[] = {
    {"is_main_thread", py_is_main_thread, METH_NOARGS,
     "Whether this is the thread that was recorded at start-up; False before that."},
    {"main_ident", py_main_ident, METH_NOARGS, "The id of the main thread, 0 before start-up."},
    {"set_main_ident", py_set_main_ident, METH_O, "Record the main thread; 0 forgets it."},
    {"current_contexts", py_current_contexts, METH_NOARGS, "The calling thread's contexts as bits."},
    {"declare", py_declare, METH_O, "Set the calling thread's context bits; the ones before."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_guard(PyObject* module) {
    if (PyModule_AddFunctions(module, functions) < 0) {
        return -1;
    }
    PyObject* type = PyType_FromSpec(&guard_spec);
    if (type == nullptr) {
        return -1;
    }
    const int added = PyModule_AddObjectRef(module, "Guard", type);
    Py_DECREF(type);
    return added;
}

}  // namespace mainspring::threads
