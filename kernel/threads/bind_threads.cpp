// `mainspring._kernel.threads`: which thread am I on, and the render thread's queue.
#include <nanobind/nanobind.h>

#include "threads/py_threads.hpp"

namespace nb = nanobind;

void bind_threads(nb::module_& m) {
    if (mainspring::threads::add_guard(m.ptr()) < 0 ||
        mainspring::threads::add_command_queue(m.ptr()) < 0) {
        throw nb::python_error();
    }
}
