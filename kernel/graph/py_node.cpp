#include "graph/py_node.hpp"

#include <algorithm>

namespace mainspring::graph::py {

// --- NodeSchedule ------------------------------------------------------------------------------

void NodeSchedule::add(Time time, ObjRef tag) {
    if (tag) remove(tag.get());
    const Event event{time, order_++, std::move(tag)};
    const auto at = std::upper_bound(events.begin(), events.end(), event,
                                     [](const Event& a, const Event& b) {
                                         return a.time != b.time ? a.time < b.time : a.order < b.order;
                                     });
    events.insert(at, event);
    tell();
}

bool NodeSchedule::has(PyObject* tag) const {
    return std::any_of(events.begin(), events.end(), [&](const Event& event) {
        return event.tag && host.equal(event.tag.get(), tag);
    });
}

bool NodeSchedule::remove(PyObject* tag, Time* was) {
    const auto at = tag == nullptr ? events.begin()
                                   : std::find_if(events.begin(), events.end(), [&](const Event& e) {
                                         return e.tag && host.equal(e.tag.get(), tag);
                                     });
    if (at == events.end()) return false;
    if (was != nullptr) *was = at->time;
    const Event gone = std::move(*at);
    events.erase(at);
    tell();
    return true;
}

void NodeSchedule::reset() {
    events.clear();
    tell();
}

void NodeSchedule::done(Time now) {
    while (!events.empty() && events.front().time <= now) events.erase(events.begin());
    tell();
}

void NodeSchedule::tell() {
    const Time now = node_.graph->engine->now;
    for (const Event& event : events)
        if (event.time > now) {
            node_.graph->engine->reschedule(&node_, event.time);
            return;
        }
    if (node_.heap_at != none) node_.graph->engine->reschedule(&node_, forever);
}

// --- PushQueue ---------------------------------------------------------------------------------

bool PushQueue::put(ObjRef message) {
    ObjRef replaced;
    {
        const std::lock_guard lock(mutex_);
        if (!open_) return false;
        if (conflate && !waiting_.empty()) {
            replaced = std::move(waiting_.back());
            waiting_.back() = std::move(message);
        } else {
            if (capacity != 0 && waiting_.size() >= capacity) return false;
            waiting_.push_back(std::move(message));
        }
    }
    wakeup_->ring();
    return true;
}

bool PushQueue::take(ObjRef& message) {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return false;
    message = std::move(waiting_.front());
    waiting_.pop_front();
    room_.notify_one();
    return true;
}

bool PushQueue::closed() const {
    const std::lock_guard lock(mutex_);
    return !open_;
}

bool PushQueue::wait_for_room() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return !open_ || waiting_.size() < capacity; });
    return open_;
}

void PushQueue::put_back(ObjRef message) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_front(std::move(message));
    }
    wakeup_->ring();
}

std::size_t PushQueue::pending() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
}

void PushQueue::close() {
    std::deque<ObjRef> left;
    const std::lock_guard lock(mutex_);
    open_ = false;
    left.swap(waiting_);
    room_.notify_all();
}

// --- PyNode ------------------------------------------------------------------------------------

PyNode::~PyNode() {
    forget_args();
    for (const Input& input : *this) {
        // The view may be kept by the function; what it shows is gone.
        Handle::release(std::exchange(input.view->handle, nullptr));
        input.view->node = nullptr;
        Py_DECREF(reinterpret_cast<PyObject*>(input.view));
    }
}

void PyNode::forget_args() {
    if (!std::exchange(has_args_, false)) return;
    for (std::size_t i = 1; i <= plan().eval.args.size(); ++i) Py_DECREF(args_[i]);
}

void PyNode::wire(std::uint32_t i, Out* source) {
    const InputSpec& input = spec->inputs[i];
    View* view = new_view(source, this, false, i, false);
    view->active = input.active;
    inputs_[input_count_++] = Input{source, view, input.need, Py_TYPE(view) == scalar_view_type};
}

NodeSchedule& PyNode::schedule() {
    if (schedule_ == nullptr) {
        schedule_ = std::make_unique<NodeSchedule>(*this);
        direct_ = false;
    }
    return *schedule_;
}

bool PyNode::ready(Time now) {
    if (schedule_ != nullptr || plan().scheduler) {
        // Something must have asked for this: a tick, or the node's own schedule.
        if (!schedule().due(now) &&
            std::none_of(begin(), end(), [&](const Input& input) {
                return input.view->active &&
                       (input.out->modified(now) || sampled(input.out, now));
            }))
            return false;
    }
    for (const Input& input : *this) {
        if (input.need == 0) continue;
        if (!input.out->valid() || (input.need == 2 && !input.out->all_valid())) return false;
    }
    return true;
}

void PyNode::prepare(Time now) {
    for (const Input& input : *this)
        if (input.scalar) refresh(input.view, *input.out, now);
}

PyObject* PyNode::argument(const Arg& arg) {
    switch (arg.what) {
        case Arg::What::input:
            return Py_NewRef(reinterpret_cast<PyObject*>(inputs_[arg.input].view));
        case Arg::What::scalar:
            return Py_NewRef(arg.object.get());
        case Arg::What::state:
            if (!state_) state_ = steal(PyObject_CallNoArgs(arg.object.get()));
            return Py_NewRef(state_.get());
        case Arg::What::state_part: {
            if (!state_) state_ = steal(PyObject_CallNoArgs(arg.object.get()));
            PyObject* part = PyTuple_GetItem(state_.get(), arg.input);
            if (part == nullptr) throw HostError();
            return Py_NewRef(part);
        }
        case Arg::What::scheduler:
            schedule();
            return make_scheduler(this);
        case Arg::What::clock:
            return make_clock(this);
        case Arg::What::output:
            return reinterpret_cast<PyObject*>(new_view(out.get(), this, true, none, false));
        case Arg::What::engine_api:
            return make_engine_api(this);
        case Arg::What::node:
            return node_view(this);
        case Arg::What::sender:
            return make_push_sender(this);
    }
    Py_RETURN_NONE;
}

std::vector<PyObject*> PyNode::arguments(const Call& call_plan) {
    std::vector<PyObject*> made;
    made.reserve(call_plan.args.size() + 1);
    made.push_back(nullptr);
    try {
        for (const Arg& arg : call_plan.args) {
            PyObject* object = argument(arg);
            if (object == nullptr) throw HostError();
            made.push_back(object);
        }
    } catch (...) {
        for (PyObject* object : made) Py_XDECREF(object);
        throw;
    }
    return made;
}

PyObject* PyNode::call(const Call& call_plan) {
    const std::vector<PyObject*> made = arguments(call_plan);
    PyObject* result = call_plan.enter(call_plan.function.get(), made.data() + 1, call_plan.positional,
                                       call_plan.keywords.get());
    for (PyObject* object : made) Py_XDECREF(object);
    if (result == nullptr) throw HostError();
    return result;
}

// What does not change from call to call.
void PyNode::look_up() {
    const std::vector<PyObject*> made = arguments(plan().eval);
    std::copy(made.begin(), made.end(), args_);
    has_args_ = true;
    direct_ = schedule_ == nullptr && !plan().scheduler;
    scalar_out_ = out != nullptr && out->kind == Kind::scalar && !out->is_link;
}

void PyNode::eval(Time now) {
    if (!direct_) [[unlikely]] {
        if (!has_args_) look_up();
        if (!ready(now)) {
            if (schedule_ != nullptr) schedule_->done(now);
            return;
        }
        prepare(now);
    } else {
        for (const Input& input : *this) {
            if (input.need != 0 && (!input.out->valid() || (input.need == 2 && !input.out->all_valid())))
                return;
            if (input.scalar) refresh(input.view, *input.out, now);
        }
    }
    const Call& eval = plan().eval;
    PyObject* result =
        eval.enter(eval.function.get(), args_ + 1, eval.positional, eval.keywords.get());
    if (result == nullptr) [[unlikely]] throw HostError();
    if (!scalar_out_ || result == Py_None || !apply_exact(static_cast<ScalarOut&>(*out), result, now))
        finish(result, now);
    if (schedule_ != nullptr) [[unlikely]] schedule_->done(now);
}

// What a function returned, where it is not just what a scalar output holds.
void PyNode::finish(PyObject* result, Time now) {
    const ObjRef kept = ObjRef::steal(result);
    if (result != Py_None && out != nullptr) apply(*out, result, now);
}

void PyNode::start(Time now) {
    if (plan().start.function) {
        prepare(now);
        Py_DECREF(call(plan().start));
    }
    if (input_count_ == 0 && plan().eval.function) graph->engine->schedule(this, now);
}

void PyNode::stop(Time now) {
    if (!plan().stop.function) return;
    prepare(now);
    Py_DECREF(call(plan().stop));
}

void PyNode::visit(Visitor& visitor) const {
    if (has_args_)
        for (std::size_t i = 1; i <= plan().eval.args.size(); ++i) visitor(args_[i]);
    for (const Input& input : *this) visitor(reinterpret_cast<PyObject*>(input.view));
    visitor(state_.get());
    if (schedule_ != nullptr)
        for (const auto& event : schedule_->events) visitor(event.tag.get());
}

void PyNode::listen(std::size_t input, bool active) {
    View& view = *inputs_[input].view;
    if (view.active == active) return;
    view.active = active;
    if (active)
        inputs_[input].out->subscribe(this);
    else
        inputs_[input].out->unsubscribe(this);
}

// A state, what is scheduled, and which inputs are listened to where the function changed that.
Obj* PyNode::save() {
    ObjRef active;
    for (std::size_t i = 0; i < input_count_ && !active; ++i)
        if (inputs_[i].view->active != spec->inputs[i].active) active = steal(PyList_New(0));
    if (!state_ && !active && (schedule_ == nullptr || schedule_->events.empty())) return nullptr;
    for (std::size_t i = 0; i < input_count_ && active; ++i)
        check(PyList_Append(active.get(), inputs_[i].view->active ? Py_True : Py_False));
    ObjRef events = steal(PyList_New(0));
    if (schedule_ != nullptr)
        for (const auto& event : schedule_->events) {
            const ObjRef pair = steal(Py_BuildValue(
                "(LO)", static_cast<long long>(event.time), event.tag ? event.tag.get() : Py_None));
            check(PyList_Append(events.get(), pair.get()));
        }
    PyObject* state = state_ ? state_.get() : Py_None;
    return steal(active ? PyTuple_Pack(3, state, events.get(), active.get())
                        : PyTuple_Pack(2, state, events.get()))
        .take();
}

void PyNode::restore(Obj* saved, Time) {
    const Py_ssize_t parts =
        saved == nullptr ? 0 : PyTuple_Check(saved) ? PyTuple_GET_SIZE(saved) : -1;
    if (parts != 0 && parts != 2 && parts != 3) return;
    forget_args();
    direct_ = false;
    PyObject* active = parts == 3 ? PyTuple_GET_ITEM(saved, 2) : nullptr;
    for (std::size_t i = 0; i < input_count_; ++i)
        listen(i, active == nullptr ? spec->inputs[i].active
                                    : PyList_GetItem(active, static_cast<Py_ssize_t>(i)) == Py_True);
    if (PyErr_Occurred() != nullptr) throw HostError();
    if (saved == nullptr) {  // what its start put there is not the state that was saved
        state_ = ObjRef();
        if (schedule_ != nullptr) schedule_->reset();
        return;
    }
    PyObject* state = PyTuple_GET_ITEM(saved, 0);
    state_ = state == Py_None ? ObjRef() : ObjRef(state);
    PyObject* events = PyTuple_GET_ITEM(saved, 1);
    if (schedule_ != nullptr) schedule_->reset();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(events); ++i) {
        PyObject* pair = PyList_GET_ITEM(events, i);
        PyObject* tag = PyTuple_GET_ITEM(pair, 1);
        schedule().add(PyLong_AsLongLong(PyTuple_GET_ITEM(pair, 0)),
                       tag == Py_None ? ObjRef() : ObjRef(tag));
    }
}

// --- GeneratorNode -----------------------------------------------------------------------------

void GeneratorNode::start(Time now) {
    if (plan().start.function) Py_DECREF(call(plan().start));
    const ObjRef made = steal(call(plan().eval));
    iterator_ = steal(PyObject_GetIter(made.get()));
    advance(now - 1);
}

// The next item that is later than `now` waits; what is late is skipped.
void GeneratorNode::advance(Time now) {
    while (iterator_) {
        PyObject* item = PyIter_Next(iterator_.get());
        if (item == nullptr) {
            iterator_ = ObjRef();
            if (PyErr_Occurred() != nullptr) throw HostError();
            return;
        }
        const ObjRef kept = ObjRef::steal(item);
        ++taken_;
        if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2) {
            PyErr_Format(PyExc_TypeError,
                         "a generator yields pairs of time and value, this one gave %R", item);
            throw HostError();
        }
        PyObject* when = PyTuple_GET_ITEM(item, 0);
        due_ = is_timedelta(when)
                   ? std::max(graph->engine->now, graph->engine->start_time) + from_timedelta(when)
                   : from_datetime(when);
        if (due_ <= now) {
            if (now < graph->engine->start_time) {  // before the run: there is nothing to tick for
                iterator_ = ObjRef();
                return;
            }
            PyErr_SetString(PyExc_ValueError, "the times a generator yields must strictly increase");
            throw HostError();
        }
        pending_ = ObjRef(PyTuple_GET_ITEM(item, 1));
        graph->engine->schedule(this, due_);
        return;
    }
}

void GeneratorNode::eval(Time now) {
    if (!pending_ || due_ > now) return;
    ObjRef value = std::move(pending_);
    pending_ = ObjRef();
    if (value.get() != Py_None) {
        if (out->kind == Kind::scalar && apply_exact(static_cast<ScalarOut&>(*out), value.get(), now))
            (void)value.take();
        else
            apply(*out, value.get(), now);
    }
    advance(now);
}

Obj* GeneratorNode::save() {
    return steal(Py_BuildValue("(LiL)", static_cast<long long>(taken_), iterator_ ? 1 : 0,
                               static_cast<long long>(due_)))
        .take();
}

// The generator runs again from its start, silently, up to the item it waited with.
void GeneratorNode::restore(Obj* state, Time) {
    if (state == nullptr) return;
    const std::int64_t wanted = PyLong_AsLongLong(PyTuple_GET_ITEM(state, 0));
    while (iterator_ && taken_ < wanted) {
        pending_ = ObjRef();
        due_ = never;
        PyObject* item = PyIter_Next(iterator_.get());
        if (item == nullptr) {
            iterator_ = ObjRef();
            if (PyErr_Occurred() != nullptr) throw HostError();
            break;
        }
        const ObjRef kept = ObjRef::steal(item);
        ++taken_;
        pending_ = ObjRef(PyTuple_GET_ITEM(item, 1));
    }
    due_ = PyLong_AsLongLong(PyTuple_GET_ITEM(state, 2));
    if (PyLong_AsLong(PyTuple_GET_ITEM(state, 1)) == 0) {
        iterator_ = ObjRef();
        pending_ = ObjRef();
    }
}

void GeneratorNode::stop(Time now) {
    PyNode::stop(now);
    iterator_ = ObjRef();
    pending_ = ObjRef();
}

void GeneratorNode::visit(Visitor& visitor) const {
    PyNode::visit(visitor);
    visitor(iterator_.get());
    visitor(pending_.get());
}

// --- PushNode ----------------------------------------------------------------------------------

void PushNode::start(Time) {
    queue = std::make_shared<PushQueue>(graph->engine->wakeup);
    queue->capacity = plan().max_pending;
    queue->conflate = plan().conflate;
    queue->engine_thread = PyThread_get_thread_ident();
    Py_DECREF(call(plan().eval));
}

void PushNode::stop(Time now) {
    if (queue != nullptr) queue->close();
    PyNode::stop(now);
}

void PushNode::eval(Time now) {
    if (queue == nullptr) return;
    ObjRef message;
    if (plan().burst) {
        ObjRef all = steal(PyList_New(0));
        while (queue->take(message)) check(PyList_Append(all.get(), message.get()));
        if (PyList_GET_SIZE(all.get()) == 0) return;
        const ObjRef tuple = steal(PyList_AsTuple(all.get()));
        apply(*out, tuple.get(), now);
        return;
    }
    if (!queue->take(message)) return;
    if (!can_apply(*out, now)) {
        queue->put_back(std::move(message));
        return;
    }
    apply(*out, message.get(), now);
    if (queue->pending() != 0) graph->engine->wakeup->ring();
}

// --- CallNode ----------------------------------------------------------------------------------

void CallNode::wire(std::uint32_t i, Out* source) {
    NativeNode::wire(i, source);
    PyObject* function = spec->payload.get();
    if (function == nullptr)
        throw EngineError(EngineError::What::type, "this node was given no function to call");
    enter_ = PyVectorcall_Function(function);
    if (enter_ == nullptr) enter_ = PyObject_Vectorcall;
}

void CallNode::eval(Time now) {
    if (!valid(0)) return;
    const ObjRef value = steal(read_value(in_[0], now));
    PyObject* args[] = {nullptr, value.get()};  // the free place is vectorcall's
    const ObjRef result = steal(
        enter_(spec->payload.get(), args + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    if (result.get() != Py_None) apply(*out, result.get(), now);
}

// --- replay and record -------------------------------------------------------------------------

void ReplayNode::start(Time now) {
    at_ = 0;
    graph->engine->schedule(this, now);
}

void ReplayNode::eval(Time now) {
    PyObject* items = spec->payload.get();
    const Py_ssize_t count = PyList_GET_SIZE(items);
    if (at_ >= count) return;
    PyObject* item = PyList_GET_ITEM(items, at_);
    if (item != Py_None) apply(*out, item, now);
    Py_ssize_t next = at_ + 1;
    while (next < count && PyList_GET_ITEM(items, next) == Py_None) ++next;
    if (next < count)
        graph->engine->schedule(this, now + (next - at_) * tick_ns);
    at_ = next;
}

void RecordNode::eval(Time now) {
    if (!in_[0]->modified(now) && !sampled(in_[0], now)) return;
    const ObjRef delta = steal(read_delta(in_[0], now));
    // A bundle or list whose part lost its value ticked, and has nothing to tell.
    const Kind kind = in_[0]->kind;
    if ((kind == Kind::bundle || kind == Kind::list) && PyDict_Check(delta.get()) &&
        PyDict_GET_SIZE(delta.get()) == 0)
        return;
    const ObjRef time = steal(to_datetime(now));
    const ObjRef pair = steal(PyTuple_Pack(2, time.get(), delta.get()));
    check(PyList_Append(spec->payload.get(), pair.get()));
}

namespace {
const OpEntry entries[] = {
    {"python", PyNode::kind<PyNode>},  {"generator", PyNode::kind<GeneratorNode>},
    {"push", PyNode::kind<PushNode>},  {"replay", make_node<ReplayNode>},
    {"record", make_node<RecordNode>}, {"call", make_node<CallNode>},
};
}  // namespace

// --- the services the engine asks for ----------------------------------------------------------

PyObject* take_error() {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value != nullptr && trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

namespace {

PyObject* exception_of(EngineError::What what) {
    switch (what) {
        case EngineError::What::overflow:
            return PyExc_OverflowError;
        case EngineError::What::zero_division:
            return PyExc_ZeroDivisionError;
        case EngineError::What::value:
            return PyExc_ValueError;
        case EngineError::What::type:
            return PyExc_TypeError;
        default:
            return PyExc_RuntimeError;
    }
}

Obj* capture(Node& node, int depth, bool values) {
    try {
        throw;
    } catch (const HostError&) {
    } catch (const EngineError& error) {
        PyErr_SetString(exception_of(error.kind), error.what());
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    const ObjRef exception = ObjRef::steal(take_error());
    const ObjRef view = steal(node_view(&node));
    const ObjRef depth_object = steal(PyLong_FromLong(depth));
    PyObject* args[] = {view.get(), exception ? exception.get() : Py_None, depth_object.get(),
                        values ? Py_True : Py_False};
    return steal(PyObject_Vectorcall(symbols.make_node_error, args, 4, nullptr)).take();
}

bool equal(Obj* a, Obj* b) {
    if (a == b) return true;
    const int same = PyObject_RichCompareBool(a, b, Py_EQ);
    if (same < 0) throw HostError();
    return same == 1;
}

std::int64_t hash_of(Obj* object) {
    const Py_hash_t hash = PyObject_Hash(object);
    if (hash == -1 && PyErr_Occurred() != nullptr) throw HostError();
    return hash;
}

Obj* box(Scalar kind, Raw raw) {
    switch (kind) {
        case Scalar::boolean:
            return Py_NewRef(raw.b ? Py_True : Py_False);
        case Scalar::integer:
            return steal(PyLong_FromLongLong(raw.i)).take();
        default:
            return steal(PyFloat_FromDouble(raw.f)).take();
    }
}

Raw unbox(Scalar kind, Obj* object) {
    Raw raw;
    if (object == nullptr) {
        PyErr_SetString(PyExc_ValueError, "this is not the saved state of this graph");
    } else if (kind == Scalar::boolean) {
        raw.b = object == Py_True;
    } else if (kind == Scalar::integer) {
        raw.i = PyLong_AsLongLong(object);
    } else {
        raw.f = PyFloat_AsDouble(object);
    }
    if (PyErr_Occurred() != nullptr) throw HostError();
    return raw;
}

Obj* pack(const std::vector<ObjRef>& objects) {
    const ObjRef row = steal(PyTuple_New(static_cast<Py_ssize_t>(objects.size())));
    for (std::size_t i = 0; i < objects.size(); ++i)
        PyTuple_SET_ITEM(row.get(), static_cast<Py_ssize_t>(i),
                         Py_NewRef(objects[i] ? objects[i].get() : Py_None));
    return ObjRef(row).take();
}

Obj* item(Obj* row, std::size_t place) {
    const auto at = static_cast<Py_ssize_t>(place);
    if (!PyTuple_Check(row) || at >= PyTuple_GET_SIZE(row)) {
        PyErr_SetString(PyExc_ValueError, "this is not the saved state of this graph");
        throw HostError();
    }
    PyObject* found = PyTuple_GET_ITEM(row, at);
    return found == Py_None ? nullptr : found;
}

}  // namespace

void install_host() {
    host.retain = [](Obj* object) { Py_INCREF(object); };
    host.release = [](Obj* object) { Py_DECREF(object); };
    host.equal = equal;
    host.hash = hash_of;
    host.box = box;
    host.unbox = unbox;
    host.pack = pack;
    host.item = item;
    host.delta = [](Out& out, Time now) -> Obj* { return steal(read_delta(&out, now)).take(); };
    host.value = [](Out& out, Time now) -> Obj* { return steal(read_value(&out, now)).take(); };
    host.apply = [](Out& out, Obj* value, Time now) { apply(out, value, now); };
    host.reference = [](Out* out) -> Obj* { return make_reference(out); };
    host.dereference = [](Obj* reference) { return follow_reference(reference); };
    host.capture = capture;
}

}  // namespace mainspring::graph::py
