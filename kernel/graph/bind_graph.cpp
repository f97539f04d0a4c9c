// The graph engine for Python: schemas, templates, the running engine.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <ctime>

#include "graph/nested.hpp"
#include "graph/py_node.hpp"
#include "graph/py_state.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace mainspring::graph::py {
namespace {

Kind kind_of(const std::string& name) {
    static const std::pair<const char*, Kind> kinds[] = {
        {"TS", Kind::scalar}, {"TSB", Kind::bundle}, {"TSL", Kind::list},  {"TSD", Kind::dict},
        {"TSS", Kind::set},   {"TSW", Kind::window}, {"REF", Kind::ref},   {"SIGNAL", Kind::signal},
    };
    for (const auto& [known, kind] : kinds)
        if (name == known) return kind;
    throw nb::value_error("unknown kind of time series");
}

// Schemas and templates are shared with running engines.
struct TypeBox {
    TypeRef type;
};
struct TemplateBox {
    std::shared_ptr<Template> source = std::make_shared<Template>();
};

TypeBox make_type(const std::string& kind, nb::object scalar_type, const std::vector<TypeBox*>& children,
                  nb::list names, nb::object value_class, std::uint32_t size, std::int64_t window,
                  std::int64_t window_min, bool window_is_time) {
    auto type = std::make_shared<TsType>();
    type->kind = kind_of(kind);
    if (!scalar_type.is_none()) {
        PyObject* object = scalar_type.ptr();
        if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) type->scalar = Scalar::boolean;
        if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) type->scalar = Scalar::integer;
        if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) type->scalar = Scalar::real;
        if (type->kind != Kind::scalar) type->scalar = Scalar::object;
        type->scalar_type = ObjRef(object);
    }
    for (const TypeBox* child : children) type->children.push_back(child->type);
    for (nb::handle name : names) {
        type->names.emplace_back(nb::cast<std::string>(name));
        PyObject* interned = Py_NewRef(name.ptr());
        PyUnicode_InternInPlace(&interned);
        type->name_objects.push_back(ObjRef::steal(interned));
        type->hidden_names.push_back(is_bundle_word(type->names.back()));
    }
    if (!value_class.is_none()) type->value_class = ObjRef(value_class.ptr());
    type->size = size;
    type->window = window;
    type->window_min = window_min;
    type->window_is_time = window_is_time;
    return TypeBox{type};
}

// --- plans -------------------------------------------------------------------------------------

Call make_call(nb::handle source) {
    Call call;
    if (source.is_none()) return call;
    const nb::tuple parts = nb::cast<nb::tuple>(source);
    call.function = ObjRef(parts[0].ptr());
    for (nb::handle each : parts[1]) {
        const nb::tuple item = nb::cast<nb::tuple>(each);
        const auto what = nb::cast<std::string>(item[0]);
        Arg arg;
        if (what == "input") {
            arg.what = Arg::What::input;
            arg.input = nb::cast<std::uint32_t>(item[1]);
        } else {
            if (what == "state") arg.what = Arg::What::state;
            if (what == "state_part") arg.what = Arg::What::state_part;
            if (what == "scheduler") arg.what = Arg::What::scheduler;
            if (what == "clock") arg.what = Arg::What::clock;
            if (what == "output") arg.what = Arg::What::output;
            if (what == "engine_api") arg.what = Arg::What::engine_api;
            if (what == "node") arg.what = Arg::What::node;
            if (what == "sender") arg.what = Arg::What::sender;
            if (arg.what == Arg::What::state_part) {
                const nb::tuple part = nb::cast<nb::tuple>(item[1]);
                arg.object = ObjRef(part[0].ptr());
                arg.input = nb::cast<std::uint32_t>(part[1]);
            } else {
                arg.object = ObjRef(item[1].ptr());
            }
        }
        call.args.push_back(std::move(arg));
    }
    std::size_t named = 0;
    if (PyTuple_GET_SIZE(nb::object(parts[2]).ptr()) > 0) {
        call.keywords = ObjRef(parts[2].ptr());
        named = static_cast<std::size_t>(PyTuple_GET_SIZE(parts[2].ptr()));
    }
    call.positional = (call.args.size() - named) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    call.enter = PyVectorcall_Function(call.function.get());
    if (call.enter == nullptr) call.enter = PyObject_Vectorcall;
    return call;
}

template <class T>
T entry(const nb::dict& plan, const char* name, T otherwise) {
    return plan.contains(name) ? nb::cast<T>(plan[name]) : otherwise;
}

std::unique_ptr<const Plan> make_plan(const std::string& code, const nb::dict& plan) {
    if (code == "python" || code == "generator" || code == "push") {
        auto made = std::make_unique<PyPlan>();
        made->eval = make_call(plan["eval"]);
        made->start = make_call(plan["start"]);
        made->stop = make_call(plan["stop"]);
        made->scheduler = entry(plan, "scheduler", false);
        made->conflate = entry(plan, "conflate", false);
        made->burst = entry(plan, "burst", false);
        made->max_pending = entry<std::size_t>(plan, "max_pending", 0);
        return made;
    }
    if (code == "map") {
        auto made = std::make_unique<MapPlan>();
        for (nb::handle each : plan["inputs"]) {
            const nb::tuple item = nb::cast<nb::tuple>(each);
            MapPlan::Input input;
            const auto role = nb::cast<std::string>(item[0]);
            if (role == "each") input.role = MapPlan::Role::each;
            if (role == "no_key") input.role = MapPlan::Role::each_no_key;
            if (role == "keys") input.role = MapPlan::Role::keys;
            input.stub = item[1].is_none() ? none : nb::cast<std::uint32_t>(item[1]);
            input.counts = nb::cast<bool>(item[2]);
            made->inputs.push_back(input);
        }
        if (!nb::object(plan["key_stub"]).is_none())
            made->key_stub = nb::cast<std::uint32_t>(plan["key_stub"]);
        made->key_set = nb::cast<TypeBox&>(plan["key_set"]).type;
        return made;
    }
    if (code == "switch") {
        auto made = std::make_unique<SwitchPlan>();
        for (nb::handle each : plan["cases"]) {
            const nb::tuple item = nb::cast<nb::tuple>(each);
            made->cases.emplace_back(ObjRef(item[0].ptr()), nb::cast<std::uint32_t>(item[1]));
        }
        for (nb::handle each : plan["wiring"]) {
            const nb::tuple item = nb::cast<nb::tuple>(each);
            SwitchPlan::Case one;
            if (!item[0].is_none()) one.key_stub = nb::cast<std::uint32_t>(item[0]);
            for (nb::handle stub : item[1])
                one.stubs.push_back(stub.is_none() ? none : nb::cast<std::uint32_t>(stub));
            made->wiring.push_back(std::move(one));
        }
        if (!nb::object(plan["otherwise"]).is_none())
            made->otherwise = nb::cast<std::uint32_t>(plan["otherwise"]);
        made->reload = entry(plan, "reload", false);
        return made;
    }
    if (code == "box") {
        auto made = std::make_unique<BoxPlan>();
        made->catches = entry(plan, "catches", false);
        if (!nb::object(plan["out_field"]).is_none())
            made->out_field = nb::cast<std::uint32_t>(plan["out_field"]);
        return made;
    }
    if (code == "reduce" || code == "fold") {
        auto made = std::make_unique<ReducePlan>();
        made->has_zero = entry(plan, "has_zero", false);
        made->zero_waits = entry(plan, "zero_waits", true);
        return made;
    }
    throw nb::value_error("this kind of node takes no plan");
}

Param make_param(nb::handle value, const TsType* type) {
    Param param;
    PyObject* object = value.ptr();
    param.object = ObjRef(object);
    const bool plain = type == nullptr || type->kind == Kind::scalar;
    const Scalar wanted = type == nullptr ? Scalar::object : type->scalar;
    if (PyBool_Check(object) && plain && (type == nullptr || wanted == Scalar::boolean)) {
        param.kind = Scalar::boolean;
        param.raw.b = object == Py_True;
    } else if (PyLong_Check(object) && plain && (type == nullptr || wanted == Scalar::integer)) {
        int overflow = 0;
        param.raw.i = PyLong_AsLongLongAndOverflow(object, &overflow);
        param.kind = overflow == 0 ? Scalar::integer : Scalar::object;
    } else if (PyFloat_Check(object) && plain && (type == nullptr || wanted == Scalar::real)) {
        param.kind = Scalar::real;
        param.raw.f = PyFloat_AS_DOUBLE(object);
    } else if (is_timedelta(object) && type == nullptr) {
        param.kind = Scalar::integer;
        param.raw.i = from_timedelta(object);
    }
    return param;
}

std::uint32_t add_node(TemplateBox& box, const std::string& code, nb::object description,
                       const std::string& name, const std::string& label, TypeBox* out, bool link,
                       nb::list inputs, nb::list params, nb::object plan, nb::object payload,
                       const std::vector<TemplateBox*>& templates, TypeBox* error, int error_depth,
                       bool error_values) {
    NodeSpec spec;
    spec.kind = OpTable::find(code);
    if (!spec.kind) throw nb::key_error(("no native node for the code " + code).c_str());
    spec.name = name;
    spec.label = label;
    spec.id = static_cast<std::uint32_t>(box.source->nodes.size());
    if (out != nullptr) spec.out = out->type;
    spec.link = link;
    for (nb::handle each : inputs) {
        const nb::tuple item = nb::cast<nb::tuple>(each);
        InputSpec input;
        input.source = nb::cast<std::uint32_t>(item[0]);
        for (nb::handle step : item[1]) input.path.push_back(nb::cast<std::uint32_t>(step));
        input.active = nb::cast<bool>(item[2]);
        input.need = nb::cast<std::uint8_t>(item[3]);
        if (!item[4].is_none()) input.type = nb::cast<TypeBox&>(item[4]).type;
        spec.inputs.push_back(std::move(input));
    }
    const bool typed = code == "const";
    for (nb::handle each : params)
        spec.params.push_back(
            make_param(each, typed && spec.params.empty() ? spec.out.get() : nullptr));
    if (!plan.is_none()) spec.extra = box.source->plans.at(nb::cast<std::size_t>(plan)).get();
    if (!payload.is_none()) spec.payload = ObjRef(payload.ptr());
    spec.description = ObjRef(description.ptr());
    for (const TemplateBox* nested : templates) spec.templates.push_back(nested->source);
    if (error != nullptr) spec.error = error->type;
    spec.error_depth = error_depth;
    spec.error_values = error_values;
    spec.is_push = code == "push";
    box.source->nodes.push_back(std::move(spec));
    return static_cast<std::uint32_t>(box.source->nodes.size() - 1);
}

// --- what functions ask for --------------------------------------------------------------------

struct Token {
    std::shared_ptr<NodeToken> token;
    Node& get() const {
        if (token->node == nullptr)
            throw std::runtime_error("the node is gone: a view is good during the call it was made for");
        return *token->node;
    }
    Engine& engine() const { return *get().graph->engine; }
};
Token token_of(Node* node) { return Token{node->graph->engine->token(node)}; }

Time wall_clock() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

nb::object take(PyObject* object) {
    if (object == nullptr) throw nb::python_error();
    return nb::steal(object);
}

// Cycles are timed from the moment on that somebody may ask how long they take.
struct ClockView : Token {
    explicit ClockView(Token of) : Token(std::move(of)) {
        Engine& running = engine();
        if (running.wall_clock != nullptr) return;
        running.wall_clock = wall_clock;
        running.cycle_begun = wall_clock();
    }
};
struct SchedulerView : Token {};
struct ApiView : Token {};
struct NodeView : Token {};
struct GraphView {
    std::shared_ptr<NodeToken> first;  // a node of the graph: its life is the graph's
    Graph* graph;
    Graph& get() const {
        if (first->node == nullptr)
            throw std::runtime_error("the graph is gone: a view is good during the call it was made for");
        return *graph;
    }
};
struct Sender {
    std::shared_ptr<PushQueue> queue;
};

template <class T>
PyObject* as_python(T value) {
    return nb::cast(std::move(value)).release().ptr();
}

NodeSchedule& schedule_of(const SchedulerView& view) {
    return static_cast<PyNode&>(view.get()).schedule();
}

void schedule(const SchedulerView& view, nb::handle when, nb::handle tag, bool on_wall_clock) {
    Engine& engine = view.engine();
    const Time base = engine.now == never ? engine.start_time : engine.now;
    Time time = 0;
    try {
        if (is_timedelta(when.ptr()))
            time = (on_wall_clock && engine.realtime ? wall_clock() : base) + from_timedelta(when.ptr());
        else
            time = from_datetime(when.ptr());
    } catch (const HostError&) {
        throw nb::python_error();
    }
    ObjRef label = tag.is_none() ? ObjRef() : ObjRef(tag.ptr());
    if (time < base || (time == base && !engine.starting && view.get().started)) {
        // What is not ahead cannot happen any more; a replaced tag is gone all the same.
        if (label) schedule_of(view).remove(label.get());
        return;
    }
    schedule_of(view).add(time, std::move(label));
    if (time == base) engine.schedule(&view.get(), time);
}

nb::object node_path(Node& node) {
    std::vector<std::uint32_t> path;
    for (Node* at = &node; at != nullptr; at = at->graph->parent) path.push_back(at->index);
    nb::list items;
    for (std::size_t i = path.size(); i-- > 0;) items.append(path[i]);
    return nb::tuple(items);
}

nb::object view_of(Out* out, Node* reader) {
    if (out == nullptr) return nb::none();
    return take(reinterpret_cast<PyObject*>(new_view(out, reader, false, none, false)));
}

nb::list input_views(const NodeView& view) {
    nb::list all;
    Node& node = view.get();
    for (const InputSpec& input : node.spec->inputs)
        all.append(view_of(node.graph->out_of(input), nullptr));
    return all;
}

// --- the running engine ------------------------------------------------------------------------

class PyWatcher final : public Watcher {
public:
    explicit PyWatcher(nb::object target) : target_(std::move(target)) {}
    void on_graph(Event event, Graph& graph) override {
        call(event, take(graph_view(&graph)));
    }
    void on_node(Event event, Node& node) override { call(event, take(node_view(&node))); }
    PyObject* target() const { return target_.ptr(); }

private:
    void call(Event event, const nb::object& view) {
        try {
            target_(static_cast<int>(event), view);
        } catch (nb::python_error& error) {
            error.restore();
            throw HostError();
        }
    }
    nb::object target_;
};

struct Runner {
    std::unique_ptr<Engine> engine;
    std::shared_ptr<Template> source;
    std::unique_ptr<PyWatcher> watcher;
    nb::object context = nb::none();

    Engine& get() {
        if (engine == nullptr) throw std::runtime_error("the graph has been disposed of");
        return *engine;
    }
    bool at_work = false;
};

// What changes a running graph, or needs it whole, happens one at a time: a node that would have it done
// while its graph is evaluated is refused.
class Work {
public:
    explicit Work(Runner& runner) : runner_(runner) {
        if (runner.at_work)
            throw std::runtime_error(
                "the graph is at work: none of its nodes can run, stop, save or dispose of it meanwhile");
        runner.at_work = true;
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work() { runner_.at_work = false; }

private:
    Runner& runner_;
};

nb::object& exception_maker() {
    static auto* maker = new nb::object();
    return *maker;
}

// Runs something of the engine's, and turns its failures into Python's.
template <class F>
auto guarded(F body) {
    try {
        return body();
    } catch (const NodeFailed& failed) {
        const nb::object made = exception_maker()(nb::borrow(failed.error.get()));
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
        throw nb::python_error();
    } catch (const HostError&) {
        throw nb::python_error();
    }
}

// A call a node asked for. An error that is on its way out meanwhile is left as it was.
std::function<void()> notification(nb::object call) {
    return [call = std::move(call)] {
        const nb::error_scope on_its_way;
        call();
    };
}

void run_simulation(Runner& runner, std::int64_t end) {
    Engine& engine = runner.get();
    const Work work(runner);
    guarded([&] {
        for (std::uint64_t n = 1; !engine.stop_requested; ++n) {
            const Time next = engine.next_time();
            if (next >= end) return;  // the end is not part of the run
            engine.cycle(next);
            if (n % 4096 == 0 && PyErr_CheckSignals() != 0) throw HostError();
        }
    });
}

// The wall clock leads: a scheduled time is evaluated once it has come, a message at once.
void run_realtime(Runner& runner, std::int64_t end) {
    Engine& engine = runner.get();
    const Work work(runner);
    engine.realtime = true;
    guarded([&] {
        while (!engine.stop_requested) {
            const bool rung = engine.wakeup->rung() || engine.root->dirty;
            const Time wall = wall_clock();
            const Time floor = engine.now == never ? engine.start_time : engine.now + tick_ns;
            const Time timed = engine.timed();
            if (engine.now == never && engine.root->dirty) {
                engine.cycle(engine.start_time);
                continue;
            }
            if (rung) {
                const Time at = std::max(floor, std::min(wall - wall % tick_ns, timed));
                if (at >= end) return;
                engine.cycle(at);
            } else if (timed <= wall) {
                if (timed >= end) return;
                engine.cycle(std::max(floor, timed));
            } else {
                if (wall >= end) return;
                // Signals are looked at from time to time; a message ends the wait at once.
                const Time until = std::min({timed, end, wall + 100'000'000});
                {
                    const nb::gil_scoped_release released;
                    engine.wakeup->wait(until - wall);
                }
                if (PyErr_CheckSignals() != 0) throw HostError();
            }
        }
    });
}

void visit_graph(Graph& graph, Visitor& visitor) {
    std::vector<Graph*> inner;
    for (Node* node : graph.nodes) {
        node->visit(visitor);
        if (node->out != nullptr) node->out->visit(visitor);
        if (node->error != nullptr) node->error->visit(visitor);
        node->nested(inner);
    }
    visitor(graph.key.get());
    for (Graph* each : inner) visit_graph(*each, visitor);
}

int runner_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    Runner* runner = nb::inst_ptr<Runner>(self);
    if (runner->watcher != nullptr) Py_VISIT(runner->watcher->target());
    Py_VISIT(runner->context.ptr());
    if (runner->engine == nullptr || runner->engine->root == nullptr) return 0;
    Visitor visitor{visit, arg};
    visit_graph(*runner->engine->root, visitor);
    // The template is this runner's own unless somebody still holds it to make another.
    if (runner->source.use_count() == 2) runner->source->visit(visitor);
    return visitor.result;
}
int runner_clear(PyObject* self) {
    Runner* runner = nb::inst_ptr<Runner>(self);
    if (runner->engine != nullptr) runner->engine->watcher = nullptr;
    runner->engine.reset();
    runner->source.reset();
    runner->watcher.reset();
    runner->context = nb::none();
    return 0;
}

PyType_Slot runner_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(runner_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(runner_clear)},
    {0, nullptr},
};

void bind_views(nb::module_& m) {
    nb::class_<ClockView>(m, "Clock", "The time of the cycle, and the wall clock beside it.")
        .def_prop_ro("evaluation_time",
                     [](const ClockView& v) {
                         const Engine& e = v.engine();
                         return take(to_datetime(e.now == never ? e.start_time : e.now));
                     })
        .def_prop_ro("evaluation_time_ns", [](const ClockView& v) { return v.engine().now; })
        .def_prop_ro("now",
                     [](const ClockView& v) {
                         const Engine& e = v.engine();
                         if (e.realtime) return take(to_datetime(wall_clock()));
                         return take(to_datetime(e.now + (wall_clock() - e.cycle_begun)));
                     })
        .def_prop_ro("cycle_time",
                     [](const ClockView& v) {
                         return take(to_timedelta(wall_clock() - v.engine().cycle_begun));
                     })
        .def_prop_ro("next_cycle_evaluation_time",
                     [](const ClockView& v) { return take(to_datetime(v.engine().now + tick_ns)); });

    nb::class_<SchedulerView>(m, "Scheduler", "A node's own schedule: times, with tags.")
        .def("schedule", schedule, "when"_a, "tag"_a.none() = nb::none(), "on_wall_clock"_a = false)
        .def(
            "un_schedule",
            [](const SchedulerView& v, nb::handle tag) {
                schedule_of(v).remove(tag.is_none() ? nullptr : tag.ptr());
            },
            "tag"_a.none() = nb::none())
        .def(
            "pop_tag",
            [](const SchedulerView& v, nb::handle tag, nb::object otherwise) {
                Time was = never;
                if (!schedule_of(v).remove(tag.ptr(), &was)) return otherwise;
                return take(to_datetime(was));
            },
            "tag"_a, "default"_a.none() = nb::none())
        .def("has_tag", [](const SchedulerView& v, nb::handle tag) { return schedule_of(v).has(tag.ptr()); })
        .def("reset", [](const SchedulerView& v) { schedule_of(v).reset(); })
        .def_prop_ro("is_scheduled", [](const SchedulerView& v) { return !schedule_of(v).events.empty(); })
        .def_prop_ro("is_scheduled_now",
                     [](const SchedulerView& v) { return schedule_of(v).due(v.engine().now); })
        .def_prop_ro("next_scheduled_time", [](const SchedulerView& v) {
            const auto& events = schedule_of(v).events;
            return take(to_datetime(events.empty() ? 0 : events.front().time));
        });

    nb::class_<ApiView>(m, "EngineApi", "The running engine, as a node may use it.")
        .def_prop_ro("start_time", [](const ApiView& v) { return take(to_datetime(v.engine().start_time)); })
        .def_prop_ro("end_time", [](const ApiView& v) { return take(to_datetime(v.engine().end_time)); })
        .def_prop_ro("is_realtime", [](const ApiView& v) { return v.engine().realtime; })
        .def_prop_ro("is_stop_requested", [](const ApiView& v) { return v.engine().stop_requested; })
        .def("request_engine_stop", [](const ApiView& v) { v.engine().stop_requested = true; })
        .def_prop_ro("evaluation_clock", [](const ApiView& v) { return ClockView(v); })
        .def("add_after_evaluation_notification",
             [](const ApiView& v, nb::object call) {
                 v.engine().after_cycle.emplace_back(notification(std::move(call)));
             })
        .def("add_before_evaluation_notification", [](const ApiView& v, nb::object call) {
            v.engine().before_cycle.emplace_back(notification(std::move(call)));
        });

    nb::class_<NodeView>(m, "Node", "A node of a running graph.")
        .def_prop_ro("node_ndx", [](const NodeView& v) { return v.get().index; })
        .def_prop_ro("node_index", [](const NodeView& v) { return v.get().index; })
        .def_prop_ro("node_id", [](const NodeView& v) { return node_path(v.get()); })
        .def_prop_ro("name", [](const NodeView& v) { return v.get().spec->name; })
        .def_prop_ro("label",
                     [](const NodeView& v) {
                         const NodeSpec& spec = *v.get().spec;
                         return spec.label.empty() ? spec.name : spec.label;
                     })
        .def_prop_ro("owning_graph_id",
                     [](const NodeView& v) {
                         Node* parent = v.get().graph->parent;
                         return parent == nullptr ? nb::object(nb::make_tuple()) : node_path(*parent);
                     })
        .def_prop_ro("description",
                     [](const NodeView& v) { return nb::borrow(v.get().spec->description.get()); })
        .def_prop_ro("graph", [](const NodeView& v) { return take(graph_view(v.get().graph)); })
        .def_prop_ro("input_views", input_views)
        .def_prop_ro("has_input", [](const NodeView& v) { return !v.get().spec->inputs.empty(); })
        .def_prop_ro("has_output", [](const NodeView& v) { return v.get().out != nullptr; })
        .def_prop_ro("output", [](const NodeView& v) { return view_of(v.get().out.get(), nullptr); })
        .def_prop_ro("error_output",
                     [](const NodeView& v) { return view_of(v.get().error.get(), nullptr); })
        .def_prop_ro("state",
                     [](const NodeView& v) {
                         const auto* node = dynamic_cast<const PyNode*>(&v.get());
                         if (node == nullptr || node->state() == nullptr) return nb::object(nb::none());
                         return nb::object(nb::borrow(node->state()));
                     })
        .def_prop_ro("scheduler",
                     [](const NodeView& v) {
                         auto* node = dynamic_cast<PyNode*>(&v.get());
                         return node == nullptr ? nb::object(nb::none()) : take(make_scheduler(node));
                     })
        .def_prop_ro("next_scheduled_ns", [](const NodeView& v) { return v.engine().scheduled(&v.get()); })
        .def_prop_ro("nested_graphs",
                     [](const NodeView& v) {
                         std::vector<Graph*> inner;
                         v.get().nested(inner);
                         nb::list all;
                         for (Graph* each : inner) all.append(take(graph_view(each)));
                         return all;
                     })
        .def_prop_ro("started", [](const NodeView& v) { return v.get().started; })
        .def_prop_ro("is_started", [](const NodeView& v) { return v.get().started; })
        .def_prop_ro("is_starting", [](const NodeView& v) { return v.engine().starting; })
        .def_prop_ro("is_stopping", [](const NodeView& v) { return v.engine().stopping; })
        .def("notify_next_cycle",
             [](const NodeView& v) { v.engine().schedule(&v.get(), v.engine().now + tick_ns); })
        .def("__eq__",
             [](const NodeView& v, nb::handle other) {
                 return nb::isinstance<NodeView>(other) &&
                        nb::cast<NodeView&>(other).token->node == v.token->node;
             })
        .def("__hash__", [](const NodeView& v) {
            return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(v.token->node) >> 4U);
        });

    nb::class_<GraphView>(m, "Graph", "A running graph.")
        .def_prop_ro("nodes",
                     [](const GraphView& v) {
                         nb::list all;
                         for (Node* node : v.get().nodes) all.append(take(node_view(node)));
                         return nb::tuple(all);
                     })
        .def_prop_ro("graph_id",
                     [](const GraphView& v) {
                         Node* parent = v.get().parent;
                         return parent == nullptr ? nb::object(nb::make_tuple()) : node_path(*parent);
                     })
        .def_prop_ro("label", [](const GraphView& v) { return v.get().source->name; })
        .def_prop_ro("key",
                     [](const GraphView& v) {
                         return v.get().key ? nb::object(nb::borrow(v.get().key.get())) : nb::none();
                     })
        .def_prop_ro("parent_node",
                     [](const GraphView& v) {
                         Node* parent = v.get().parent;
                         return parent == nullptr ? nb::object(nb::none()) : take(node_view(parent));
                     })
        .def_prop_ro("evaluation_clock", [](const GraphView& v) { return ClockView(Token{v.first}); })
        .def_prop_ro("evaluation_engine_api", [](const GraphView& v) { return ApiView{{v.first}}; })
        .def_prop_ro("started", [](const GraphView& v) { return v.get().started; })
        .def_prop_ro("is_started", [](const GraphView& v) { return v.get().started; })
        .def_prop_ro("is_starting", [](const GraphView& v) { return v.get().engine->starting; })
        .def_prop_ro("is_stopping", [](const GraphView& v) { return v.get().engine->stopping; })
        .def_prop_ro("evaluating", [](const GraphView& v) { return v.get().evaluating(); });

    nb::class_<Sender>(m, "Sender", "Gives a push source its messages, from any thread.")
        .def("__call__",
             [](const Sender& sender, nb::handle value) {
                 PushQueue& queue = *sender.queue;
                 while (!queue.put(ObjRef(value.ptr()))) {
                     if (queue.closed()) return false;
                     if (PyThread_get_thread_ident() == queue.engine_thread)
                         throw std::runtime_error(
                             "the queue is full, and the thread that evaluates the graph cannot wait "
                             "for itself to empty it");
                     const nb::gil_scoped_release released;
                     if (!queue.wait_for_room()) return false;
                 }
                 return true;
             },
             "value"_a.none())
        .def_prop_ro("pending", [](const Sender& sender) { return sender.queue->pending(); });
}

}  // namespace

PyObject* node_view(Node* node) { return as_python(NodeView{token_of(node)}); }
PyObject* graph_view(Graph* graph) {
    return as_python(GraphView{graph->engine->token(graph->nodes.front()), graph});
}
PyObject* make_scheduler(Node* node) { return as_python(SchedulerView{token_of(node)}); }
PyObject* make_clock(Node* node) { return as_python(ClockView(token_of(node))); }
PyObject* make_engine_api(Node* node) { return as_python(ApiView{token_of(node)}); }
PyObject* make_push_sender(Node* node) {
    return as_python(Sender{static_cast<PushNode*>(node)->queue});
}

}  // namespace mainspring::graph::py

void bind_graph(nb::module_& m) {
    using namespace mainspring::graph;
    using namespace mainspring::graph::py;
    // Types of time series are interned for the life of the process, and so are their schemas.
    nb::set_leak_warnings(false);
    install_host();
    if (!init_views(m.ptr())) throw nb::python_error();
    symbols.empty = PyTuple_New(0);

    m.def("set_symbols", [](nb::dict given) {
        const auto keep = [&](const char* name, PyObject*& at) {
            PyObject* old = at;
            at = nb::object(given[name]).release().ptr();
            Py_XDECREF(old);
        };
        keep("remove", symbols.remove);
        keep("remove_if_exists", symbols.remove_if_exists);
        keep("removed_type", symbols.removed_type);
        keep("set_delta", symbols.set_delta);
        keep("key_set", symbols.key_set);
        keep("ordered", symbols.ordered);
        keep("make_window", symbols.make_window);
        keep("make_node_error", symbols.make_node_error);
        exception_maker() = given["make_exception"];
    });
    m.def("op_codes", &OpTable::codes, "The codes of every native node.");
    m.def("has_op", [](const std::string& code) { return static_cast<bool>(OpTable::find(code)); });
    m.def("to_ns", [](nb::handle value) {
        return guarded([&] { return is_timedelta(value.ptr()) ? from_timedelta(value.ptr())
                                                               : from_datetime(value.ptr()); });
    });
    m.def("to_datetime", [](std::int64_t ns) { return take(to_datetime(ns)); });
    m.def("wall_clock_ns", &wall_clock);
    m.def("make_reference", [](nb::handle view) {
        Out* out = PyObject_TypeCheck(view.ptr(), view_type) != 0
                       ? out_of(reinterpret_cast<View*>(view.ptr()))
                       : nullptr;
        if (out != nullptr) out = out->resolve();
        if (out != nullptr && out->kind == Kind::ref)
            return nb::borrow(as_scalar(*out).object());
        return take(make_reference(out));
    }, "view"_a.none() = nb::none());

    nb::class_<TypeBox>(m, "TsType", "The kernel's form of a time-series type.");
    m.def("ts_type", &make_type, "kind"_a, "scalar_type"_a.none() = nb::none(),
          "children"_a = std::vector<TypeBox*>{}, "names"_a = nb::list(),
          "value_class"_a.none() = nb::none(), "size"_a = 0, "window"_a = 0, "window_min"_a = 0,
          "window_is_time"_a = false);

    nb::class_<TemplateBox>(m, "Template", "A graph that can be instantiated any number of times.")
        .def(nb::init<>())
        .def("add_plan",
             [](TemplateBox& box, const std::string& code, const nb::dict& plan) {
                 box.source->plans.push_back(make_plan(code, plan));
                 return box.source->plans.size() - 1;
             },
             "code"_a, "plan"_a, "What nodes of one kind that were wired alike share: its place, for `add_node`.")
        .def("add_node", &add_node, "code"_a, "description"_a, "name"_a, "label"_a, "out"_a.none(),
             "link"_a, "inputs"_a, "params"_a, "plan"_a.none(), "payload"_a.none(), "templates"_a,
             "error"_a.none(), "error_depth"_a, "error_values"_a)
        .def("finish",
             [](TemplateBox& box, const std::string& name, std::vector<std::uint32_t> stubs,
                nb::object output, std::vector<std::uint32_t> path) {
                 box.source->name = name;
                 box.source->stubs = std::move(stubs);
                 if (!output.is_none()) box.source->output = nb::cast<std::uint32_t>(output);
                 box.source->output_path = std::move(path);
             },
             "name"_a, "stubs"_a, "output"_a.none(), "output_path"_a)
        .def("__len__", [](const TemplateBox& box) { return box.source->nodes.size(); });

    bind_views(m);

    nb::class_<Runner>(m, "Runner", nb::type_slots(runner_slots), "A graph, instantiated.")
        .def("__init__",
             [](Runner* self, const TemplateBox& box) {
                 new (self) Runner();
                 self->source = box.source;
                 guarded([&] { self->engine = std::make_unique<Engine>(box.source); });
             })
        .def("watch",
             [](Runner& r, nb::object target) {
                 Engine& engine = r.get();
                 engine.watcher = nullptr;
                 r.watcher = target.is_none() ? nullptr : std::make_unique<PyWatcher>(target);
                 engine.watcher = r.watcher.get();
             },
             "target"_a.none())
        .def("start",
             [](Runner& r, std::int64_t start, std::int64_t end, bool realtime, int trace_depth,
                bool trace_values) {
                 Engine& engine = r.get();
                 const Work work(r);
                 engine.end_time = end;
                 engine.realtime = realtime;
                 engine.trace_depth = trace_depth;
                 engine.trace_values = trace_values;
                 guarded([&] { engine.start(start); });
             },
             "start"_a, "end"_a, "realtime"_a = false, "trace_depth"_a = 1, "trace_values"_a = false)
        .def("stop",
             [](Runner& r) {
                 const Work work(r);
                 guarded([&] { r.get().stop(); });
             })
        .def("dispose",
             [](Runner& r) {
                 const Work work(r);
                 if (r.engine != nullptr) r.engine->watcher = nullptr;
                 r.engine.reset();
                 r.source.reset();
             })
        .def("run_simulation", &run_simulation, "end"_a)
        .def("run_realtime", &run_realtime, "end"_a)
        .def("cycle",
             [](Runner& r, std::int64_t time) {
                 const Work work(r);
                 guarded([&] { r.get().cycle(time); });
             })
        .def("save",
             [](Runner& r) {
                 const Work work(r);
                 return guarded([&] { return nb::steal(save_engine(r.get())); });
             })
        .def("restore",
             [](Runner& r, nb::handle state) {
                 const Work work(r);
                 guarded([&] { load_engine(r.get(), state.ptr()); });
             })
        .def_prop_ro("next_time", [](Runner& r) { return r.get().next_time(); })
        .def_prop_ro("now", [](Runner& r) { return r.get().now; })
        .def_prop_ro("cycles", [](Runner& r) { return r.get().cycles; })
        .def_prop_rw("stop_requested", [](Runner& r) { return r.get().stop_requested; },
                     [](Runner& r, bool stop) {
                         r.get().stop_requested = stop;
                         r.get().wakeup->ring();
                     })
        .def_prop_ro("root", [](Runner& r) { return take(graph_view(r.get().root.get())); })
        .def_rw("context", &Runner::context);
}
