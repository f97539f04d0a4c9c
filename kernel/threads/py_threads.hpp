#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace mainspring::threads {

/// Adds the checks (`is_main_thread`, `Guard`, ...) to the submodule; -1 with an error set on failure.
int add_guard(PyObject* module);

/// Adds `CommandQueue` to the submodule; -1 with an error set on failure.
int add_command_queue(PyObject* module);

}  // namespace mainspring::threads
