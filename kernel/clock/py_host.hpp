// The timeline's host in Python: calls callbacks, drains the inbox, watches, waits.
#pragma once

#include <Python.h>

#include <array>
#include <csignal>
#include <cstdint>

#include "clock/timeline.hpp"
#include "inbox/inbox.hpp"

namespace mainspring::clock {

/// What a callback may take: its runner's StepContext, or just the runner's step in seconds.
inline constexpr std::size_t kContext = 0;
inline constexpr std::size_t kSeconds = 1;

/// What a registration calls. Owned by the PyTimeline that made it.
struct Callback {
    PyObject* function = nullptr;
    PyObject* registration = nullptr;  ///< the Python handle, shown to watchers
    std::size_t takes = kContext;
    bool disable_on_error = false;

    // What `function` comes down to, borrowed from it: a bound method is its function and its
    // object, and a plain function is entered at once.
    PyObject* callee = nullptr;
    PyObject* bound = nullptr;
    bool plain = false;

    void set_function(PyObject* value) noexcept;
    void clear() noexcept;
    [[nodiscard]] PyObject* call(PyObject* argument) const noexcept {
        PyObject* stack[3] = {nullptr, bound, argument};  // the first is scratch for who is called
        const std::size_t count = bound == nullptr ? 1 : 2;
        PyObject* const* arguments = stack + 3 - count;
        if (plain)
            return reinterpret_cast<PyFunctionObject*>(callee)->vectorcall(
                callee, arguments, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
        return PyObject_Vectorcall(callee, arguments, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    }
};

/// The timeline as Python sees it: the engine, and every Python object it needs.
struct PyTimeline {
    Timeline engine;
    std::vector<std::unique_ptr<Callback>> callbacks;
    /// What each runner's callbacks are called with, made once for each that is set.
    std::array<std::array<PyObject*, 2>, kMaxRunners> arguments{};
    PyObject* swarm = nullptr;
    inbox::Inbox* inbox = nullptr;  ///< alive as long as inbox_owner
    PyObject* inbox_owner = nullptr;

    // Hooks; null when nobody wants them.
    PyObject* on_changes = nullptr;
    PyObject* on_inputs = nullptr;
    PyObject* on_begin = nullptr;
    PyObject* on_end = nullptr;
    PyObject* on_call = nullptr;
    PyObject* on_feed = nullptr;  ///< told of the beginning of the first instant at or after feed_at
    PyObject* on_mark = nullptr;  ///< told of the end of the first instant at or after mark_at
    PyObject* on_error = nullptr;
    PyObject* wall = nullptr;   ///< stands in for CLOCK_MONOTONIC
    PyObject* sleep = nullptr;  ///< stands in for clock_nanosleep

    std::int64_t feed_at = kNever;
    std::int64_t mark_at = kNever;
    bool changes_waiting = false;
    bool stop_asked = false;

    PyTimeline() = default;
    PyTimeline(const PyTimeline&) = delete;
    PyTimeline& operator=(const PyTimeline&) = delete;
    ~PyTimeline() { clear(); }

    int traverse(visitproc visit, void* arg);
    void clear() noexcept;
    PyObject** hook(const char* name) noexcept;
};

extern volatile std::sig_atomic_t interrupts;

std::int64_t monotonic_ns() noexcept;

/// The exception that is set, with its traceback, as a new reference; null when none is.
PyObject* take_error() noexcept;

struct PyHost {
    PyTimeline& self;

    bool call(const Slot& slot) {
        const Callback* callback = static_cast<const Callback*>(slot.user);
        PyObject* result = callback->call(self.arguments[slot.runner][callback->takes]);
        if (result == nullptr && !forgive(slot)) return false;
        Py_XDECREF(result);
        return self.on_call == nullptr || notify(self.on_call, callback->registration);
    }

    bool begin(std::int64_t time_ns) {
        // I3: the inbox, in the order it was filled; a replay fills it now
        if (time_ns >= self.feed_at) {
            self.feed_at = kNever;  // the hook sets the next one
            if (!notify_time(self.on_feed, time_ns)) return false;
        }
        if (self.inbox != nullptr && self.inbox->pending() != 0 && !notify_time(self.on_inputs, time_ns))
            return false;
        return self.on_begin == nullptr || notify_time(self.on_begin, time_ns);
    }

    bool end(std::int64_t time_ns) {
        // I6: what callbacks asked to change
        if (self.changes_waiting) {
            self.changes_waiting = false;
            if (!notify(self.on_changes, nullptr)) return false;
        }
        // I7: whoever watches
        if (time_ns >= self.mark_at) {
            self.mark_at = kNever;  // the hook sets the next one
            if (!notify_time(self.on_mark, time_ns)) return false;
        }
        return self.on_end == nullptr || notify_time(self.on_end, time_ns);
    }

    [[nodiscard]] bool interrupted() const noexcept { return interrupts != 0; }
    [[nodiscard]] bool stop_asked() const noexcept { return self.stop_asked; }

    std::int64_t wall();
    bool sleep_until(std::int64_t wall_ns);

private:
    bool notify(PyObject* hook, PyObject* argument);
    bool notify_time(PyObject* hook, std::int64_t time_ns);
    bool forgive(const Slot& slot);
};

/// Adds the StepContext type to the module.
bool add_context_type(PyObject* module);
/// A context bound to a runner of `timeline`, which `owner` keeps alive.
PyObject* make_context(PyObject* owner, PyTimeline* timeline, int runner, PyObject* handle, PyObject* ts);

}  // namespace mainspring::clock
