#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_space(nb::module_& m) { (void)m; }
