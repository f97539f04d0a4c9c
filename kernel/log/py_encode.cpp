#include "log/py_encode.hpp"

namespace mainspring::log {

namespace {

// Extension code of a tuple: part of the format, as listed in mainspring/state.py.
constexpr std::int8_t kTuple = 3;
// Plain values lie in at most so many containers; what lies deeper is left to those who can say where.
constexpr int kDeep = 32;

bool encode_otherwise(PyObject* value, MsgpackWriter& out, PyObject* fallback) {
    PyObject* bytes = PyObject_CallOneArg(fallback, value);
    if (bytes == nullptr) return false;
    if (!PyBytes_CheckExact(bytes)) {
        PyErr_SetString(PyExc_TypeError, "the fallback of encode returns bytes");
        Py_DECREF(bytes);
        return false;
    }
    out.raw({PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes))});
    Py_DECREF(bytes);
    return true;
}

bool encode_text(PyObject* value, MsgpackWriter& out) {
    if (PyUnicode_IS_COMPACT_ASCII(value)) {
        out.text({static_cast<const char*>(PyUnicode_DATA(value)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(value))});
        return true;
    }
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) return false;
    out.text({text, static_cast<std::size_t>(size)});
    return true;
}

bool encode_integer(PyObject* value, MsgpackWriter& out, PyObject* fallback) {
    int overflow = 0;
    const long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) {
        out.integer(small);
        return true;
    }
    if (overflow > 0) {
        const unsigned long long large = PyLong_AsUnsignedLongLong(value);
        if (PyErr_Occurred() == nullptr) {
            out.natural(large);
            return true;
        }
        PyErr_Clear();
    }
    return encode_otherwise(value, out, fallback);
}

bool encode_items(PyObject* sequence, MsgpackWriter& out, PyObject* fallback) {
    out.list(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence)));
    // The size is asked for again each time: a fallback runs Python, which may change the list.
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
        if (!encode(PySequence_Fast_GET_ITEM(sequence, i), out, fallback)) return false;
    return true;
}

bool encode_dict(PyObject* dict, MsgpackWriter& out, PyObject* fallback) {
    const std::size_t start = out.size();
    const Py_ssize_t size = PyDict_GET_SIZE(dict);
    out.map(static_cast<std::size_t>(size));
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    // order: insertion, which is state
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (!PyUnicode_CheckExact(key)) {
            out.cut(start);
            return encode_otherwise(dict, out, fallback);
        }
        Py_INCREF(value);
        const bool ok = encode_text(key, out) && encode(value, out, fallback);
        Py_DECREF(value);
        if (!ok) return false;
        if (PyDict_GET_SIZE(dict) != size) {
            PyErr_SetString(PyExc_RuntimeError, "a dictionary changed while it was encoded");
            return false;
        }
    }
    return true;
}

bool encode_tuple(PyObject* tuple, MsgpackWriter& out, PyObject* fallback) {
    MsgpackWriter inner;
    if (!encode_items(tuple, inner, fallback)) return false;
    out.extension(kTuple, inner.bytes());
    return true;
}

/// What may hold itself, or run Python.
bool encode_deep(PyObject* value, MsgpackWriter& out, PyObject* fallback) {
    if (Py_EnterRecursiveCall(" while encoding state") != 0) return false;
    const bool ok = PyDict_CheckExact(value)    ? encode_dict(value, out, fallback)
                    : PyList_CheckExact(value)  ? encode_items(value, out, fallback)
                    : PyTuple_CheckExact(value) ? encode_tuple(value, out, fallback)
                                                : encode_otherwise(value, out, fallback);
    Py_LeaveRecursiveCall();
    return ok;
}

}  // namespace

bool is_plain(PyObject* value, int depth) {
    if (value == Py_None || PyFloat_CheckExact(value) || PyBool_Check(value) || PyBytes_CheckExact(value)) return true;
    // Only ASCII for certain: other text may hold surrogates, which have no encoding.
    if (PyUnicode_CheckExact(value)) return PyUnicode_IS_COMPACT_ASCII(value) != 0;
    if (PyLong_CheckExact(value)) {
        int overflow = 0;
        PyLong_AsLongLongAndOverflow(value, &overflow);
        return overflow == 0;
    }
    if (depth == kDeep) return false;
    if (PyDict_CheckExact(value)) {
        PyObject *key = nullptr, *item = nullptr;
        Py_ssize_t at = 0;
        while (PyDict_Next(value, &at, &key, &item))
            if (!PyUnicode_CheckExact(key) || PyUnicode_IS_COMPACT_ASCII(key) == 0 || !is_plain(item, depth + 1))
                return false;
        return true;
    }
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
            if (!is_plain(PySequence_Fast_GET_ITEM(value, i), depth + 1)) return false;
        return true;
    }
    return false;
}

namespace {

PyObject* copy_dict(PyObject* dict, int depth) {
    PyObject* copy = PyDict_New();
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    // Nothing here runs Python, so the dictionary stays as it is.
    while (copy != nullptr && PyDict_Next(dict, &at, &key, &value)) {
        PyObject* item = PyUnicode_CheckExact(key) ? copy_plain(value, depth) : nullptr;
        if (item == nullptr || PyDict_SetItem(copy, key, item) != 0) Py_CLEAR(copy);
        Py_XDECREF(item);
    }
    return copy;
}

PyObject* copy_sequence(PyObject* sequence, int depth) {
    const bool list = PyList_CheckExact(sequence);
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(sequence);
    PyObject* copy = list ? PyList_New(size) : PyTuple_New(size);
    for (Py_ssize_t i = 0; copy != nullptr && i < size; ++i) {
        PyObject* item = copy_plain(PySequence_Fast_GET_ITEM(sequence, i), depth);
        if (item == nullptr) Py_CLEAR(copy);
        else if (list) PyList_SET_ITEM(copy, i, item);
        else PyTuple_SET_ITEM(copy, i, item);
    }
    return copy;
}

}  // namespace

PyObject* copy_plain(PyObject* value, int depth) {
    if (PyUnicode_CheckExact(value) || PyFloat_CheckExact(value) || PyLong_CheckExact(value) ||
        value == Py_None || PyBool_Check(value) || PyBytes_CheckExact(value))
        return Py_NewRef(value);
    if (depth == kDeep) return nullptr;
    if (PyDict_CheckExact(value)) return copy_dict(value, depth + 1);
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) return copy_sequence(value, depth + 1);
    return nullptr;
}

bool encode(PyObject* value, MsgpackWriter& out, PyObject* fallback) {
    if (PyFloat_CheckExact(value)) return out.real(PyFloat_AS_DOUBLE(value)), true;
    if (PyLong_CheckExact(value)) return encode_integer(value, out, fallback);
    if (PyUnicode_CheckExact(value)) return encode_text(value, out);
    if (value == Py_None) return out.nil(), true;
    if (PyBool_Check(value)) return out.boolean(value == Py_True), true;
    if (PyBytes_CheckExact(value)) {
        out.binary({PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value))});
        return true;
    }
    return encode_deep(value, out, fallback);
}

}  // namespace mainspring::log
