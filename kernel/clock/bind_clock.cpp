#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_clock(nb::module_& m) { (void)m; }
