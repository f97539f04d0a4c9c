// The extension module `mainspring._kernel`: one submodule for each folder of the kernel.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_capture(nb::module_& m);
void bind_clock(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_inbox(nb::module_& m);
void bind_log(nb::module_& m);
void bind_space(nb::module_& m);
void bind_threads(nb::module_& m);

NB_MODULE(_kernel, m) {
    m.doc() = "The hot loops of mainspring, with no policy of their own.";
    auto clock = m.def_submodule("clock", "Rates, boundaries and the timeline.");
    bind_clock(clock);
    auto graph = m.def_submodule("graph", "The engine that evaluates reactive graphs.");
    bind_graph(graph);
    auto inbox = m.def_submodule("inbox", "The one queue through which the outside comes in.");
    bind_inbox(inbox);
    auto log = m.def_submodule("log", "The canonical encoding of state, and the tape of inputs.");
    bind_log(log);
    auto space = m.def_submodule("space", "The uniform grid under spatial queries.");
    bind_space(space);
    auto threads = m.def_submodule("threads", "Which thread am I on, and the render thread's queue.");
    bind_threads(threads);
    auto capture = m.def_submodule("capture", "Sampling and encoding of recordings.");
    bind_capture(capture);
}
