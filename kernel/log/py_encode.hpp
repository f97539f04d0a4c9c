// The canonical encoding of Python values (see mainspring/state.py), for what is common and hot.
#pragma once

#include <Python.h>

#include "log/msgpack.hpp"

namespace mainspring::log {

/// Appends `value`; what is not a plain value is given to `fallback`, which returns its bytes.
/// False with an exception set when it cannot be encoded.
bool encode(PyObject* value, MsgpackWriter& out, PyObject* fallback);

/// Whether `value` consists of plain values only, which `encode` always manages; false says nothing.
bool is_plain(PyObject* value, int depth = 0);

/// A copy of a plain value, containers and all, that later changes to it do not reach. Null without
/// an exception when not all of it is plain.
PyObject* copy_plain(PyObject* value, int depth = 0);

}  // namespace mainspring::log
