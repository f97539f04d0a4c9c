// Saving and restoring a running graph.
#pragma once

#include "graph/py_object.hpp"

namespace mainspring::graph::py {

PyObject* save_engine(Engine& engine);              // a new reference; throws HostError
void load_engine(Engine& engine, PyObject* state);  // into a graph that was started

}  // namespace mainspring::graph::py
