#include "clock/py_host.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

namespace mainspring::clock {

volatile std::sig_atomic_t interrupts = 0;

std::int64_t monotonic_ns() noexcept {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * kSecond + t.tv_nsec;
}

PyObject* take_error() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    if (type == nullptr) return nullptr;
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

void Callback::set_function(PyObject* value) noexcept {
    PyObject* old = function;
    function = Py_NewRef(value);
    const bool method = PyMethod_Check(value);
    callee = method ? PyMethod_GET_FUNCTION(value) : value;
    bound = method ? PyMethod_GET_SELF(value) : nullptr;
    plain = PyFunction_Check(callee);
    Py_XDECREF(old);
}

void Callback::clear() noexcept {
    callee = bound = nullptr;
    Py_CLEAR(function);
    Py_CLEAR(registration);
}

int PyTimeline::traverse(visitproc visit, void* arg) {
    for (auto& c : callbacks) {
        if (!c) continue;
        Py_VISIT(c->function);
        Py_VISIT(c->registration);
    }
    for (auto& each : arguments)
        for (PyObject* o : each) Py_VISIT(o);
    for (PyObject* o : {swarm, inbox_owner, on_changes, on_inputs, on_begin, on_end, on_call, on_feed, on_mark,
                        on_error, wall, sleep})
        Py_VISIT(o);
    return 0;
}

void PyTimeline::clear() noexcept {
    for (auto& c : callbacks) {
        if (c) c->clear();
    }
    for (auto& each : arguments)
        for (PyObject*& o : each) Py_CLEAR(o);
    inbox = nullptr;
    for (PyObject** o : {&swarm, &inbox_owner, &on_changes, &on_inputs, &on_begin, &on_end, &on_call,
                         &on_feed, &on_mark, &on_error, &wall, &sleep})
        Py_CLEAR(*o);
}

PyObject** PyTimeline::hook(const char* name) noexcept {
    const std::pair<const char*, PyObject**> hooks[] = {
        {"changes", &on_changes}, {"inputs", &on_inputs}, {"begin", &on_begin}, {"end", &on_end},
        {"call", &on_call},       {"feed", &on_feed},     {"mark", &on_mark},   {"error", &on_error}, {"wall", &wall},
        {"sleep", &sleep}};
    for (const auto& [known, place] : hooks)
        if (std::strcmp(known, name) == 0) return place;
    return nullptr;
}

bool PyHost::notify(PyObject* hook, PyObject* argument) {
    if (hook == nullptr) return true;
    PyObject* result = argument == nullptr ? PyObject_CallNoArgs(hook) : PyObject_CallOneArg(hook, argument);
    if (result == nullptr) return false;
    Py_DECREF(result);
    return true;
}

bool PyHost::notify_time(PyObject* hook, std::int64_t time_ns) {
    PyObject* time = PyLong_FromLongLong(time_ns);
    if (time == nullptr) return false;
    const bool ok = notify(hook, time);
    Py_DECREF(time);
    return ok;
}

// A callback raised. With the policy "disable" it is switched off, told, and the instant goes on.
bool PyHost::forgive(const Slot& slot) {
    const Callback* callback = static_cast<const Callback*>(slot.user);
    if (!callback->disable_on_error || !PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyObject* value = take_error();
    self.engine.enable(slot.entry, false);
    PyObject* result = self.on_error == nullptr
                           ? Py_NewRef(Py_None)
                           : PyObject_CallFunctionObjArgs(self.on_error, callback->registration, value, nullptr);
    Py_DECREF(value);
    if (result == nullptr) return false;
    Py_DECREF(result);
    return true;
}

std::int64_t PyHost::wall() {
    if (self.wall == nullptr) return monotonic_ns();
    PyObject* result = PyObject_CallNoArgs(self.wall);
    const std::int64_t ns = result == nullptr ? 0 : PyLong_AsLongLong(result);
    Py_XDECREF(result);
    if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(self.wall);
    return ns;
}

bool PyHost::sleep_until(std::int64_t wall_ns) {
    if (self.sleep != nullptr) return notify_time(self.sleep, wall_ns);
    const timespec deadline{static_cast<time_t>(wall_ns / kSecond), static_cast<long>(wall_ns % kSecond)};
    if (monotonic_ns() >= wall_ns) return PyErr_CheckSignals() == 0 && interrupts == 0;
    for (;;) {
        int error = 0;
        Py_BEGIN_ALLOW_THREADS
        error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() != 0 || interrupts != 0) return false;
        if (error != EINTR) return true;
    }
}

// -- StepContext -----------------------------------------------------------------------------

namespace {

struct Context {
    PyObject_HEAD
    PyTimeline* timeline;
    PyObject* owner;
    PyObject* runner;
    PyObject* ts;
    int id;
};

Context* cast(PyObject* self) { return reinterpret_cast<Context*>(self); }
const Beat& beat(PyObject* self) {
    return std::as_const(cast(self)->timeline->engine).runner(cast(self)->id).beat;
}

PyObject* get_dt(PyObject* self, void*) { return PyLong_FromLongLong(beat(self).dt()); }
PyObject* get_time(PyObject* self, void*) { return PyLong_FromLongLong(cast(self)->timeline->engine.now()); }
PyObject* get_step_field(PyObject* self, void*) { return PyLong_FromLongLong(beat(self).index()); }
PyObject* get_id(PyObject* self, void*) { return PyLong_FromLong(cast(self)->id); }
PyObject* get_runner(PyObject* self, void*) { return Py_NewRef(cast(self)->runner); }
PyObject* get_ts(PyObject* self, void*) { return Py_NewRef(cast(self)->ts); }
PyObject* get_swarm(PyObject* self, void*) {
    PyObject* swarm = cast(self)->timeline->swarm;
    return Py_NewRef(swarm == nullptr ? Py_None : swarm);
}

// A runner named by id, by name or by its handle; -1 with an error set when there is none.
int resolve(PyObject* self, PyObject* key) {
    const PyTimeline* timeline = cast(self)->timeline;
    if (PyLong_CheckExact(key)) {
        const long id = PyLong_AsLong(key);
        if (id >= 0 && id < kMaxRunners && timeline->engine.runner(static_cast<int>(id)).live)
            return static_cast<int>(id);
        PyErr_Clear();
    }
    PyObject* handle = PyObject_GetItem(timeline->swarm, key);
    if (handle == nullptr) return -1;
    PyObject* id = PyObject_GetAttrString(handle, "id");
    Py_DECREF(handle);
    if (id == nullptr) return -1;
    const long value = PyLong_AsLong(id);
    Py_DECREF(id);
    return static_cast<int>(value);
}

PyObject* get_alpha(PyObject* self, PyObject* key) {
    const int id = resolve(self, key);
    if (id < 0) return nullptr;
    const Timeline& engine = cast(self)->timeline->engine;
    return PyFloat_FromDouble(engine.runner(id).beat.alpha(engine.now()));
}

PyObject* get_step(PyObject* self, PyObject* key) {
    const int id = resolve(self, key);
    if (id < 0) return nullptr;
    return PyLong_FromLongLong(cast(self)->timeline->engine.runner(id).beat.index());
}

PyObject* repr(PyObject* self) {
    PyObject* dt = get_dt(self, nullptr);
    PyObject* time = get_time(self, nullptr);
    PyObject* step = get_step_field(self, nullptr);
    PyObject* text = PyUnicode_FromFormat("StepContext(runner=%R, step=%S, time=%S, dt=%S, ts=%S)",
                                          cast(self)->runner, step, time, dt, cast(self)->ts);
    Py_XDECREF(dt);
    Py_XDECREF(time);
    Py_XDECREF(step);
    return text;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(cast(self)->owner);
    Py_VISIT(cast(self)->runner);
    return 0;
}

// `owner` stays until the end: every getter reads the timeline that it keeps alive.
int clear(PyObject* self) {
    Py_CLEAR(cast(self)->runner);
    return 0;
}

void dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(cast(self)->runner);
    Py_CLEAR(cast(self)->ts);
    Py_CLEAR(cast(self)->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

PyGetSetDef getters[] = {
    {"dt", get_dt, nullptr, "The exact length of this step, in nanoseconds.", nullptr},
    {"ts", get_ts, nullptr, "The runner's step in seconds; the same at every step.", nullptr},
    {"time", get_time, nullptr, "The time of this instant, in nanoseconds since the start.", nullptr},
    {"step", get_step_field, nullptr, "Which of its runner's steps this is, counted from 0.", nullptr},
    {"id", get_id, nullptr, "The id of the runner that fires the callback.", nullptr},
    {"runner", get_runner, nullptr, "The runner that fires the callback.", nullptr},
    {"swarm", get_swarm, nullptr, "Every runner's live state, by id or name.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef methods[] = {
    {"get_alpha", get_alpha, METH_O,
     "How far a runner is from its last boundary to its next, in [0, 1)."},
    {"get_step", get_step, METH_O, "The index of a runner's current step; -1 before its first."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("What a callback is told of its step. Live: read it during the call.")},
    {Py_tp_getset, getters},
    {Py_tp_methods, methods},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {0, nullptr},
};
PyType_Spec spec = {"mainspring._kernel.clock.StepContext", sizeof(Context), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
PyTypeObject* context_type = nullptr;

}  // namespace

bool add_context_type(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return false;
    context_type = reinterpret_cast<PyTypeObject*>(type);
    return PyModule_AddObjectRef(module, "StepContext", type) == 0;
}

PyObject* make_context(PyObject* owner, PyTimeline* timeline, int runner, PyObject* handle, PyObject* ts) {
    auto* context = PyObject_GC_New(Context, context_type);
    if (context == nullptr) return nullptr;
    context->timeline = timeline;
    context->owner = Py_NewRef(owner);
    context->runner = Py_NewRef(handle);
    context->ts = Py_NewRef(ts);
    context->id = runner;
    PyObject_GC_Track(context);
    return reinterpret_cast<PyObject*>(context);
}

}  // namespace mainspring::clock
