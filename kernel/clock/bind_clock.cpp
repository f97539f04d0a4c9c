#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <sys/prctl.h>

#include "clock/py_host.hpp"
#include "inbox/py_inbox.hpp"

namespace nb = nanobind;
using namespace mainspring::clock;
using nb::literals::operator""_a;

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<PyTimeline>(self)->traverse(visit, arg) : 0;
}
int clear(PyObject* self) {
    nb::inst_ptr<PyTimeline>(self)->clear();
    return 0;
}
PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {0, nullptr}};

void replace(PyObject*& place, PyObject* value) {
    PyObject* old = place;
    place = Py_XNewRef(value);
    Py_XDECREF(old);
}

// While a run is under way Ctrl-C only leaves a note, so that the instant is finished first.
// A second Ctrl-C goes through: a callback that hangs can still be broken off.
void on_sigint(int) {
    interrupts = interrupts + 1;
    if (interrupts > 1) PyErr_SetInterrupt();
}

// Holds Ctrl-C while it lives. No note is ever lost: what nobody asked for goes to Python at the
// end, and what Python had noted before comes first. A run inside a callback of another finds it
// held already.
class Interruptible {
public:
    explicit Interruptible(bool wanted) : wanted_(wanted && !held) {
        if (!wanted_) return;
        held = true;
        interrupts = 0;
        struct sigaction action {};
        action.sa_handler = on_sigint;
        sigemptyset(&action.sa_mask);
        sigaction(SIGINT, &action, &old_);
        if (PyErr_CheckSignals() != 0) {
            release();
            throw nb::python_error();
        }
    }
    ~Interruptible() {
        if (wanted_) release();
    }
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

    /// Whether Ctrl-C came; who asks has to act on it.
    [[nodiscard]] bool came() noexcept {
        seen_ = interrupts;
        return seen_ != 0;
    }

private:
    void release() noexcept {
        sigaction(SIGINT, &old_, nullptr);
        if (interrupts > seen_) PyErr_SetInterrupt();
        interrupts = 0;
        held = false;
    }

    static inline bool held = false;  // signals are the main thread's alone
    bool wanted_;
    std::sig_atomic_t seen_ = 0;
    struct sigaction old_ {};
};

// The kernel may round a sleep up by its timer slack, 50 µs by default; a paced run asks for less.
class PreciseSleep {
public:
    explicit PreciseSleep(bool wanted) : wanted_(wanted) {
        if (!wanted_) return;
        old_ = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    }
    ~PreciseSleep() {
        if (wanted_ && old_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(old_), 0, 0, 0);
    }
    PreciseSleep(const PreciseSleep&) = delete;
    PreciseSleep& operator=(const PreciseSleep&) = delete;

private:
    bool wanted_;
    int old_ = 0;
};

using CostRow = std::tuple<std::uint64_t, double, std::uint64_t, std::uint64_t, std::uint64_t>;
CostRow cost_row(const std::unique_ptr<Costs>& costs) {
    if (!costs) return {0, 0.0, 0, 0, 0};
    return {costs->count(), costs->mean(), costs->quantile(0.5), costs->quantile(0.99), costs->max()};
}

Callback* callback_of(PyTimeline& self, std::uint32_t entry) { return self.callbacks.at(entry).get(); }

constexpr const char* kEndings[] = {"reached", "counted", "budget", "interrupted", "stopped", "failed"};

nb::tuple run(PyTimeline& self, std::int64_t until, std::int64_t leave, std::uint64_t instants, int runner,
              std::uint64_t steps, std::int64_t budget_ns, bool paced, std::int64_t wall_anchor,
              std::int64_t sim_anchor, std::uint32_t measure_every, bool catch_interrupt) {
    Limits limits;
    limits.until = until;
    limits.leave = leave;
    limits.instants = instants;
    limits.runner = runner;
    limits.steps = steps;
    limits.budget_ns = budget_ns;
    limits.paced = paced;
    limits.wall_anchor = wall_anchor;
    limits.sim_anchor = sim_anchor;
    limits.measure_every = measure_every;
    self.stop_asked = false;
    Interruptible interruptible(catch_interrupt);
    const PreciseSleep precise(paced && self.sleep == nullptr);
    PyHost host{self};
    Outcome out = self.engine.run(limits, host);
    // Ctrl-C inside the last instant there was time for: nobody else would hear of it.
    if (interruptible.came() && out.ending != Ending::failed) out.ending = Ending::interrupted;
    PyObject* error = take_error();
    const nb::object raised = error == nullptr ? nb::none() : nb::steal(error);
    const nb::object failed =
        out.failed_entry == kNoEntry ? nb::none() : nb::object(nb::int_(out.failed_entry));
    return nb::make_tuple(kEndings[static_cast<std::size_t>(out.ending)], out.instants, out.used_ns, failed,
                          raised);
}

}  // namespace

void bind_clock(nb::module_& m) {
    if (!add_context_type(m.ptr())) throw nb::python_error();

    m.attr("MAX_RUNNERS") = kMaxRunners;

    nb::class_<PyTimeline>(m, "Timeline", nb::type_slots(slots),
                           "Runners, wake-ups and the order of an instant.")
        .def(nb::init<>())
        // -- runners
        .def(
            "set_runner",
            [](nb::handle_t<PyTimeline> object, int id, std::int64_t num, std::int64_t den,
               std::int64_t origin, std::int64_t k, nb::object handle, double ts) {
                auto& self = nb::cast<PyTimeline&>(object);
                const auto i = static_cast<std::size_t>(id);
                self.engine.set_runner(id, Beat(num, den, origin, k));
                const nb::float_ seconds(ts);
                replace(self.arguments[i][kSeconds], seconds.ptr());
                PyObject* context = make_context(object.ptr(), &self, id, handle.ptr(), seconds.ptr());
                if (context == nullptr) throw nb::python_error();
                replace(self.arguments[i][kContext], context);
                Py_DECREF(context);
            },
            "id"_a, "num"_a, "den"_a, "origin"_a, "k"_a, "handle"_a, "ts"_a,
            nb::sig("def set_runner(self, id: int, num: int, den: int, origin: int, k: int, handle: object, "
                    "ts: float) -> None"),
            "Sets a runner's rate; its next boundary is its `k`-th from `origin`.")
        .def("clear_runner", [](PyTimeline& self, int id) { self.engine.clear_runner(id); }, "id"_a)
        .def(
            "runner",
            [](PyTimeline& self, int id) {
                const Beat& b = self.engine.runner(id).beat;
                return std::make_tuple(b.index(), b.last(), b.next(), b.dt(), b.origin());
            },
            "id"_a, "Index, time of the last boundary, of the next one, length of the step, origin.")
        .def(
            "alpha", [](PyTimeline& self, int id) { return self.engine.runner(id).beat.alpha(self.engine.now()); },
            "id"_a)
        .def(
            "counts",
            [](PyTimeline& self, int id) {
                const RunnerState& r = self.engine.runner(id);
                return std::make_tuple(r.steps, r.shared, r.skipped, r.missed);
            },
            "id"_a, "Steps, shared steps, skipped boundaries, missed deadlines.")
        .def_prop_ro(
            "current_context",
            [](PyTimeline& self) {
                const int id = self.engine.current_runner();
                return id < 0 ? nb::none() : nb::borrow(self.arguments[static_cast<std::size_t>(id)][kContext]);
            },
            nb::sig("def current_context(self) -> StepContext | None"))
        // -- entries
        .def(
            "add",
            [](PyTimeline& self, nb::object function, nb::object registration, int runner, int phase,
               std::int64_t priority, bool enabled, bool wants_ts, bool disable_on_error) {
                auto callback = std::make_unique<Callback>();
                callback->set_function(function.ptr());
                callback->registration = registration.release().ptr();
                callback->takes = wants_ts ? kSeconds : kContext;
                callback->disable_on_error = disable_on_error;
                Entry entry;
                entry.user = callback.get();
                entry.runner = static_cast<std::uint8_t>(runner);
                entry.phase = static_cast<std::uint8_t>(phase);
                entry.priority = priority;
                entry.enabled = enabled;
                const std::uint32_t index = self.engine.add(std::move(entry));
                if (index == self.callbacks.size()) self.callbacks.emplace_back();
                self.callbacks[index] = std::move(callback);
                return index;
            },
            "function"_a, "registration"_a, "runner"_a, "phase"_a, "priority"_a, "enabled"_a, "wants_ts"_a,
            "disable_on_error"_a)
        .def(
            "place",
            [](PyTimeline& self, std::uint32_t entry, int runner, int phase, std::int64_t priority) {
                self.engine.place(entry, runner, phase, priority);
            },
            "entry"_a, "runner"_a, "phase"_a, "priority"_a)
        .def(
            "enable", [](PyTimeline& self, std::uint32_t entry, bool on) { self.engine.enable(entry, on); },
            "entry"_a, "on"_a)
        .def(
            "set_function",
            [](PyTimeline& self, std::uint32_t entry, nb::object function) {
                callback_of(self, entry)->set_function(function.ptr());
            },
            "entry"_a, "function"_a)
        .def(
            "remove",
            [](PyTimeline& self, std::uint32_t entry) {
                self.engine.remove(entry);
                const std::unique_ptr<Callback> gone = std::move(self.callbacks.at(entry));
                if (gone) gone->clear();
            },
            "entry"_a)
        .def(
            "entry",
            [](PyTimeline& self, std::uint32_t index) {
                const Entry& e = self.engine.entry(index);
                return std::make_tuple(static_cast<int>(e.runner), static_cast<int>(e.phase), e.priority,
                                       e.enabled, e.calls);
            },
            "entry"_a, "Runner, phase, priority, enabled, calls.")
        .def("order", [](PyTimeline& self) { return self.engine.order(); },
             "Every entry in the order of a step that all runners share.")
        // -- wake-ups
        .def(
            "wake",
            [](PyTimeline& self, std::int64_t time_ns, std::int64_t entry) {
                self.engine.wake(time_ns, entry < 0 ? kNoEntry : static_cast<std::uint32_t>(entry));
            },
            "time_ns"_a, "entry"_a = -1)
        .def_prop_rw(
            "wakeups",
            [](PyTimeline& self) {
                std::vector<Wakeup> sorted = self.engine.wakeups();
                std::sort(sorted.begin(), sorted.end(),
                          [](const Wakeup& a, const Wakeup& b) { return b.later_than(a); });
                std::vector<std::pair<std::int64_t, std::int64_t>> rows;
                for (const Wakeup& w : sorted)
                    rows.emplace_back(w.time_ns, w.entry == kNoEntry ? -1 : std::int64_t{w.entry});
                return rows;
            },
            [](PyTimeline& self, const std::vector<std::pair<std::int64_t, std::int64_t>>& rows) {
                std::vector<Wakeup> wakeups;
                for (const auto& [time_ns, entry] : rows)
                    wakeups.push_back({time_ns, 0, entry < 0 ? kNoEntry : static_cast<std::uint32_t>(entry)});
                self.engine.set_wakeups(std::move(wakeups));
            },
            "Pending wake-ups as (time, entry or -1), earliest first.")
        // -- time
        .def_prop_rw(
            "now", [](PyTimeline& self) { return self.engine.now(); },
            [](PyTimeline& self, std::int64_t ns) { self.engine.set_now(ns); })
        .def_prop_rw(
            "last_instant", [](PyTimeline& self) { return self.engine.last_instant(); },
            [](PyTimeline& self, std::int64_t ns) { self.engine.set_last_instant(ns); })
        .def_prop_rw(
            "instants", [](PyTimeline& self) { return self.engine.instants(); },
            [](PyTimeline& self, std::uint64_t n) { self.engine.set_instants(n); })
        .def_prop_ro("shared_instants", [](PyTimeline& self) { return self.engine.shared_instants(); })
        .def_prop_ro("inside", [](PyTimeline& self) { return self.engine.inside(); })
        .def_prop_ro("next_instant", [](PyTimeline& self) { return self.engine.next_instant(); })
        .def("skip_to", [](PyTimeline& self, std::int64_t ns) { self.engine.skip_to(ns); }, "time_ns"_a)
        .def(
            "preview",
            [](PyTimeline& self, std::int64_t until, std::size_t most) {
                std::vector<std::pair<std::int64_t, int>> rows;
                for (const auto& [time_ns, due] : self.engine.preview(until, most))
                    rows.emplace_back(time_ns, static_cast<int>(due));
                return rows;
            },
            "until"_a, "most"_a, "The instants before `until` as (time, due runners as bits); runs nothing.")
        .def("run", &run, "until"_a = kNever, "leave"_a = -1, "instants"_a = UINT64_MAX, "runner"_a = -1,
             "steps"_a = 0, "budget_ns"_a = kNever, "paced"_a = false, "wall_anchor"_a = 0, "sim_anchor"_a = 0,
             "measure_every"_a = 1, "catch_interrupt"_a = false,
             nb::sig("def run(self, until: int = ..., leave: int = -1, instants: int = ..., runner: int = -1, "
                     "steps: int = 0, budget_ns: int = ..., paced: bool = False, wall_anchor: int = 0, "
                     "sim_anchor: int = 0, measure_every: int = 1, catch_interrupt: bool = False) "
                     "-> tuple[str, int, int, int | None, BaseException | None]"),
             "Runs instants up to the limits: how it ended, how many, wall time used, who failed and why.")
        .def("stop", [](PyTimeline& self) { self.stop_asked = true; }, "Ends the run after this instant.")
        .def("request_changes", [](PyTimeline& self) { self.changes_waiting = true; },
             "Calls the hook `changes` at the end of this instant.")
        .def("wall", [](PyTimeline& self) { return PyHost{self}.wall(); })
        // -- hooks
        .def(
            "hook",
            [](PyTimeline& self, const std::string& name, nb::object function) {
                PyObject** place = self.hook(name.c_str());
                if (place == nullptr) throw nb::key_error(name.c_str());
                replace(*place, function.is_none() ? nullptr : function.ptr());
            },
            "name"_a, "function"_a.none(), "Sets a hook: changes, inputs, begin, end, call, feed, mark, error, wall, sleep.")
        .def_prop_rw(
            "feed_at", [](PyTimeline& self) { return self.feed_at; },
            [](PyTimeline& self, std::int64_t time_ns) { self.feed_at = time_ns; },
            "The hook `feed` is called once, at the beginning of the first instant at or after this "
            "time, before the inbox is drained.")
        .def_prop_rw(
            "mark_at", [](PyTimeline& self) { return self.mark_at; },
            [](PyTimeline& self, std::int64_t time_ns) { self.mark_at = time_ns; },
            "The hook `mark` is called once, at the end of the first instant at or after this time.")
        .def(
            "set_swarm", [](PyTimeline& self, nb::object swarm) { replace(self.swarm, swarm.ptr()); }, "swarm"_a)
        .def(
            "set_inbox",
            [](PyTimeline& self, nb::handle_t<mainspring::inbox::PyInbox> inbox) {
                replace(self.inbox_owner, inbox.ptr());
                self.inbox = &nb::cast<mainspring::inbox::PyInbox&>(inbox).engine;
            },
            "inbox"_a)
        .def(
            "runner_costs", [](PyTimeline& self, int id) { return cost_row(self.engine.runner(id).costs); },
            "id"_a, "Samples, mean, p50, p99 and maximum cost of the instants a runner was due in.")
        .def(
            "lateness", [](PyTimeline& self, int id) { return cost_row(self.engine.runner(id).lateness); },
            "id"_a)
        .def(
            "entry_costs", [](PyTimeline& self, std::uint32_t e) { return cost_row(self.engine.entry(e).costs); },
            "entry"_a)
        .def("clear_costs", [](PyTimeline& self) { self.engine.clear_costs(); });
}
