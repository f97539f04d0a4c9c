#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_inbox(nb::module_& m) { (void)m; }
