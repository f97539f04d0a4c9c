// The tape: inputs encoded as they are drained, gathered into one chunk for the writer.
#pragma once

#include <nanobind/nanobind.h>

#include "inbox/py_inbox.hpp"
#include "log/py_encode.hpp"

namespace mainspring::clock {
class Timeline;
}

namespace mainspring::log {

namespace nb = nanobind;

/// All methods hold the interpreter's lock, which is what guards the buffer.
struct PyTape : inbox::Gate {
    nb::object manager;   ///< whose `_owner` is the thread that runs instants
    nb::object timeline;  ///< whose `inside` says that an instant is under way
    nb::object fallback;  ///< encodes what is not plain
    nb::object check;     ///< raises when an input cannot be encoded
    nb::object on_own;    ///< told of an input that the simulation itself puts
    nb::object on_first;  ///< told when the tape has something again
    MsgpackWriter out;
    std::uint32_t groups = 0;
    std::int64_t first_ns = 0;
    std::int64_t last_ns = 0;
    std::int64_t last_seq = 0;

    PyTape(nb::object manager_, nb::object timeline_, nb::object fallback_, nb::object check_,
           nb::object on_own_, nb::object on_first_);

    void admit(PyObject* given) override;
    void inputs(std::int64_t time_ns, nb::handle list);
    nb::object take();

    int traverse(visitproc visit, void* arg) const;
    void clear();

private:
    void group(std::int64_t time_ns, nb::handle list);

    const clock::Timeline* engine_;  ///< that of `timeline`, and alive as long
    MsgpackWriter group_;  ///< the instant being encoded; only the simulation's thread uses it
    std::int64_t drained_ = 0;
};

}  // namespace mainspring::log
