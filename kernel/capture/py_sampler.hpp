// The sampler: copies what a recording looks at, at each step, in one call.
#pragma once

#include <nanobind/nanobind.h>

void bind_sampler(nanobind::module_& m);
