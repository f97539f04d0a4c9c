// A running graph's state as plain data, and back.
//
// What is saved of a node: its time in the schedule, what it keeps, its outputs, the graphs inside
// it. Bindings are not saved: they follow from the rest, and are made again. What cannot be
// encoded is refused later, by name, where the state becomes bytes.
#include "graph/py_state.hpp"

#include "graph/py_node.hpp"

namespace mainspring::graph::py {
namespace {

ObjRef number(std::int64_t value) { return steal(PyLong_FromLongLong(value)); }
std::int64_t as_number(PyObject* object) {
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred() != nullptr) throw HostError();
    return value;
}
PyObject* at(PyObject* tuple, Py_ssize_t i) {
    if (!PyTuple_Check(tuple) || i >= PyTuple_GET_SIZE(tuple)) {
        PyErr_SetString(PyExc_ValueError, "this is not the saved state of this graph");
        throw HostError();
    }
    return PyTuple_GET_ITEM(tuple, i);
}
PyObject* item(PyObject* list, std::size_t i) {
    if (!PyList_Check(list) || i >= static_cast<std::size_t>(PyList_GET_SIZE(list))) {
        PyErr_SetString(PyExc_ValueError, "this is not the saved state of this graph");
        throw HostError();
    }
    return PyList_GET_ITEM(list, static_cast<Py_ssize_t>(i));
}
void append(const ObjRef& list, ObjRef object) { check(PyList_Append(list.get(), object.get())); }

// The first step inside a node that leads to its error output and not to its output.
constexpr std::int64_t to_error = -1;

// Where an output stands: for references, which are saved as the way to what they lead to.
ObjRef way_to(Out* out) {
    ObjRef steps = steal(PyList_New(0));
    std::vector<std::int64_t> places;
    Out* top = out;
    while (top->parent != nullptr) {
        places.push_back(top->slot);
        top = top->parent;
    }
    if (top == out->owner->error.get()) places.push_back(to_error);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> graphs;
    for (Node* node = out->owner; node != nullptr; node = node->graph->parent)
        graphs.emplace_back(node->index, node->graph->place);
    for (std::size_t i = graphs.size(); i-- > 0;) {
        append(steps, number(graphs[i].first));
        if (i > 0) append(steps, number(graphs[i - 1].second));
    }
    ObjRef inner = steal(PyList_New(0));
    for (std::size_t i = places.size(); i-- > 0;) append(inner, number(places[i]));
    return steal(PyTuple_Pack(2, steps.get(), inner.get()));
}

Out* find_way(Graph& root, PyObject* way) {
    PyObject* steps = at(way, 0);
    PyObject* inner = at(way, 1);
    Graph* graph = &root;
    Node* node = nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(steps); ++i) {
        const auto step = static_cast<std::uint32_t>(as_number(PyList_GET_ITEM(steps, i)));
        if (i % 2 == 0) {
            if (step >= graph->nodes.size()) return nullptr;
            node = graph->nodes[step];
            continue;
        }
        std::vector<Graph*> all;
        node->nested(all);
        graph = nullptr;
        for (Graph* each : all)
            if (each->place == step) graph = each;
        if (graph == nullptr) return nullptr;
    }
    if (node == nullptr) return nullptr;
    Out* out = node->out.get();
    Py_ssize_t i = 0;
    if (PyList_GET_SIZE(inner) > 0 && as_number(PyList_GET_ITEM(inner, 0)) == to_error) {
        out = node->error.get();
        ++i;
    }
    for (; out != nullptr && i < PyList_GET_SIZE(inner); ++i) {
        const auto step = static_cast<std::uint32_t>(as_number(PyList_GET_ITEM(inner, i)));
        if (out->kind == Kind::dict)
            out = step == none ? static_cast<Out*>(&static_cast<DictOut*>(out)->key_set)
                               : static_cast<DictOut*>(out)->children[step];
        else
            out = child_at(out, step);
    }
    return out;
}

ObjRef save_out(Out& out) {
    if (out.is_link) return number(out.stamp());
    const ObjRef time = number(out.stamp());
    switch (out.kind) {
        case Kind::bundle:
        case Kind::list: {
            ObjRef children = steal(PyList_New(0));
            for (Out* child : static_cast<GroupOut&>(out).children) append(children, save_out(*child));
            return steal(PyTuple_Pack(2, time.get(), children.get()));
        }
        case Kind::set:
        case Kind::dict: {
            const bool is_dict = out.kind == Kind::dict;
            const KeyTable& keys =
                is_dict ? static_cast<DictOut&>(out).keys() : static_cast<SetOut&>(out).keys;
            ObjRef slots = steal(PyList_New(0));
            for (std::uint32_t i = 0; i < keys.slots(); ++i) {
                if (!keys.live(i)) {
                    append(slots, ObjRef(Py_None));
                    continue;
                }
                const ObjRef child =
                    is_dict ? save_out(*static_cast<DictOut&>(out).children[i]) : ObjRef(Py_None);
                append(slots, steal(PyTuple_Pack(2, keys.key(i), child.get())));
            }
            ObjRef free = steal(PyList_New(0));
            for (const std::uint32_t slot : keys.free_slots()) append(free, number(slot));
            const ObjRef key_time =
                number(is_dict ? static_cast<DictOut&>(out).key_set.last_modified : never);
            return steal(PyTuple_Pack(4, time.get(), slots.get(), free.get(), key_time.get()));
        }
        case Kind::window: {
            const auto& window = static_cast<WindowOut&>(out);
            ObjRef values = steal(PyList_New(0));
            ObjRef times = steal(PyList_New(0));
            for (std::size_t i = window.first; i < window.values.size(); ++i) {
                append(values, window.values[i]);
                append(times, number(window.times[i]));
            }
            const ObjRef since = number(window.since);
            return steal(PyTuple_Pack(4, time.get(), values.get(), times.get(), since.get()));
        }
        case Kind::ref: {
            Out* to = out.valid() ? follow_reference(as_scalar(out).boxed) : nullptr;
            const ObjRef way = to == nullptr ? ObjRef(Py_None) : way_to(to);
            return steal(PyTuple_Pack(2, time.get(), way.get()));
        }
        default: {
            PyObject* value = out.valid() ? as_scalar(out).object() : nullptr;
            return steal(PyTuple_Pack(2, time.get(), value == nullptr ? Py_None : value));
        }
    }
}

void load_scalar(ScalarOut& out, PyObject* value) {
    const ObjRef kept(value);
    if (out.type->scalar == Scalar::boolean) out.raw.b = value == Py_True;
    if (out.type->scalar == Scalar::integer) out.raw.i = as_number(value);
    if (out.type->scalar == Scalar::real) out.raw.f = PyFloat_AsDouble(value);
    if (out.boxed != nullptr) Py_DECREF(out.boxed);
    out.boxed = Py_NewRef(value);
}

void load_out(Out& out, PyObject* state) {
    if (out.is_link) {
        out.set_stamp(as_number(state));
        return;
    }
    out.set_stamp(as_number(at(state, 0)));
    switch (out.kind) {
        case Kind::bundle:
        case Kind::list: {
            PyObject* children = at(state, 1);
            auto& group = static_cast<GroupOut&>(out);
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(children); ++i)
                load_out(*group.grow(static_cast<std::uint32_t>(i)), PyList_GET_ITEM(children, i));
            return;
        }
        case Kind::set:
        case Kind::dict: {
            PyObject* slots = at(state, 1);
            std::vector<Obj*> keys;
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(slots); ++i) {
                PyObject* pair = PyList_GET_ITEM(slots, i);
                keys.push_back(pair == Py_None ? nullptr : at(pair, 0));
            }
            std::vector<std::uint32_t> free;
            PyObject* freed = at(state, 2);
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(freed); ++i)
                free.push_back(static_cast<std::uint32_t>(as_number(PyList_GET_ITEM(freed, i))));
            if (out.kind == Kind::set) {
                static_cast<SetOut&>(out).keys.load(keys, free);
                return;
            }
            auto& dict = static_cast<DictOut&>(out);
            dict.load_keys(keys, free);
            dict.key_set.last_modified = as_number(at(state, 3));
            for (std::size_t i = 0; i < keys.size(); ++i)
                if (keys[i] != nullptr) load_out(*dict.children[i], at(item(slots, i), 1));
            return;
        }
        case Kind::window: {
            auto& window = static_cast<WindowOut&>(out);
            window.values.clear();
            window.times.clear();
            window.removed.clear();
            window.first = 0;
            PyObject* values = at(state, 1);
            PyObject* times = at(state, 2);
            for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); ++i) {
                window.values.emplace_back(PyList_GET_ITEM(values, i));
                window.times.push_back(as_number(item(times, static_cast<std::size_t>(i))));
            }
            window.since = as_number(at(state, 3));
            return;
        }
        case Kind::ref:
            return;  // once everything is there
        default:
            if (out.valid()) load_scalar(as_scalar(out), at(state, 1));
    }
}

void load_references(Graph& root, Out& out, PyObject* state) {
    if (out.is_link) return;
    if (out.kind == Kind::ref) {
        if (!out.valid()) return;
        PyObject* way = at(state, 1);
        Out* to = way == Py_None ? nullptr : find_way(root, way);
        auto& scalar = as_scalar(out);
        Py_XDECREF(std::exchange(scalar.boxed, make_reference(to)));
    } else if (out.kind == Kind::bundle || out.kind == Kind::list) {
        auto& group = static_cast<GroupOut&>(out);
        for (std::uint32_t i = 0; i < group.size(); ++i)
            load_references(root, *group.children[i], item(at(state, 1), i));
    } else if (out.kind == Kind::dict) {
        auto& dict = static_cast<DictOut&>(out);
        for (std::uint32_t i = 0; i < dict.keys().slots(); ++i)
            if (dict.keys().live(i))
                load_references(root, *dict.children[i], at(item(at(state, 1), i), 1));
    }
}

ObjRef save_graph(Graph& graph) {
    ObjRef nodes = steal(PyList_New(0));
    for (Node* node : graph.nodes) {
        // What is ready between cycles waits for the next one, or for the first.
        const Engine& engine = *graph.engine;
        const bool host = dynamic_cast<HostNode*>(node) != nullptr;
        const Time soon = engine.now == never ? engine.start_time : engine.now + tick_ns;
        const ObjRef due =
            number(graph.ready(node->index) && !host ? soon : engine.scheduled(node));
        const ObjRef own = ObjRef::steal(node->save());
        const ObjRef out = node->out == nullptr ? ObjRef(Py_None) : save_out(*node->out);
        const ObjRef error = node->error == nullptr ? ObjRef(Py_None) : save_out(*node->error);
        std::vector<Graph*> inner;
        node->nested(inner);
        ObjRef graphs = steal(PyList_New(0));
        for (Graph* each : inner) {
            const ObjRef place = number(each->place);
            const ObjRef state = save_graph(*each);
            append(graphs, steal(PyTuple_Pack(3, each->key ? each->key.get() : Py_None, place.get(),
                                              state.get())));
        }
        append(nodes, steal(PyTuple_Pack(5, due.get(), own ? own.get() : Py_None, out.get(),
                                         error.get(), graphs.get())));
    }
    return nodes;
}

// Links got their times from being bound: they are what they were.
void load_link_times(Out& out, PyObject* state) {
    if (out.is_link) {
        out.set_stamp(as_number(state));
        static_cast<Link&>(out).bound_at = never;
        static_cast<Link&>(out).refresh_parts();
    } else if (out.kind == Kind::bundle || out.kind == Kind::list) {
        auto& group = static_cast<GroupOut&>(out);
        out.set_stamp(as_number(at(state, 0)));
        for (std::uint32_t i = 0; i < group.size(); ++i)
            load_link_times(*group.children[i], item(at(state, 1), i));
    } else if (out.kind == Kind::dict) {
        auto& dict = static_cast<DictOut&>(out);
        out.set_stamp(as_number(at(state, 0)));
        for (std::uint32_t i = 0; i < dict.keys().slots(); ++i)
            if (dict.keys().live(i))
                load_link_times(*dict.children[i], at(item(at(state, 1), i), 1));
    }
}

enum class Pass : std::uint8_t { outputs, references, bindings, times };

void load_graph(Graph& graph, PyObject* nodes, Pass pass, Time now, std::vector<Node*>& links) {
    Graph& root = *graph.engine->root;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        Node* node = graph.nodes[i];
        PyObject* state = item(nodes, i);
        PyObject* out = at(state, 2);
        PyObject* error = at(state, 3);
        PyObject* inner = at(state, 4);
        if (pass == Pass::outputs) {
            if (node->out != nullptr) load_out(*node->out, out);
            if (node->error != nullptr) load_out(*node->error, error);
            PyObject* own = at(state, 1);
            node->restore(own == Py_None ? nullptr : own, now);
        } else if (pass == Pass::references) {
            if (node->out != nullptr) load_references(root, *node->out, out);
        } else if (pass == Pass::bindings) {
            node->rebind(now);
        } else {
            const Time due = as_number(at(state, 0));
            graph.engine->reschedule(node, forever);
            if (due != forever) graph.engine->schedule_at(node, due);
            if (node->out != nullptr) load_link_times(*node->out, out);
            links.push_back(node);
        }
        for (Py_ssize_t j = 0; j < PyList_GET_SIZE(inner); ++j) {
            PyObject* one = PyList_GET_ITEM(inner, j);
            const auto place = static_cast<std::uint32_t>(as_number(at(one, 1)));
            Graph* child = nullptr;
            if (pass == Pass::outputs) {
                child = node->revive(at(one, 0), place, now);
            } else {
                std::vector<Graph*> all;
                node->nested(all);
                for (Graph* each : all)
                    if (each->place == place) child = each;
            }
            if (child != nullptr) load_graph(*child, at(one, 2), pass, now, links);
        }
    }
}

}  // namespace

PyObject* save_engine(Engine& engine) {
    const ObjRef now = number(engine.now);
    const ObjRef start = number(engine.start_time);
    const ObjRef nodes = save_graph(*engine.root);
    return steal(PyTuple_Pack(3, now.get(), start.get(), nodes.get())).take();
}

void load_engine(Engine& engine, PyObject* state) {
    const Time now = as_number(at(state, 0));
    engine.start_time = as_number(at(state, 1));
    engine.now = now == never ? engine.start_time : now;
    PyObject* nodes = at(state, 2);
    std::vector<Node*> links;
    for (const Pass pass : {Pass::outputs, Pass::references, Pass::bindings})
        load_graph(*engine.root, nodes, pass, engine.now, links);
    engine.root->quiet();
    load_graph(*engine.root, nodes, Pass::times, engine.now, links);
    for (Node* node : links) node->refresh_links();
    engine.now = now;
}

}  // namespace mainspring::graph::py
