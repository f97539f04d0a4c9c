// Nodes whose work is a Python function.
#pragma once

#include "graph/py_object.hpp"

namespace mainspring::graph::py {

// What stands at one place of a function's argument list.
struct Arg {
    enum class What : std::uint8_t {
        input, scalar, state, state_part, scheduler, clock, output, engine_api, node, sender
    };
    What what = What::scalar;
    std::uint32_t input = 0;  // or the place of a state that is one of several, in their tuple
    ObjRef object;  // the scalar, or the factory of a state
};

struct Call {
    ObjRef function;
    std::vector<Arg> args;  // the last ones by keyword, when there are keywords
    ObjRef keywords;        // a tuple of names, or null
    vectorcallfunc enter = nullptr;
    std::size_t positional = 0;  // as a vectorcall takes it

    void visit(Visitor& visitor) const {
        visitor(function.get());
        for (const Arg& arg : args) visitor(arg.object.get());
        visitor(keywords.get());
    }
};

// Shared by all instances of a Python node.
struct PyPlan final : Plan {
    Call eval, start, stop;
    bool scheduler = false;
    bool sink = false;
    // push sources
    bool conflate = false, burst = false;
    std::size_t max_pending = 0;

    void visit(Visitor& visitor) const override {
        for (const Call* call : {&eval, &start, &stop}) call->visit(visitor);
    }
};

// A node's own schedule: times with tags, of which the engine knows the first.
class NodeSchedule {
public:
    struct Event {
        Time time;
        std::uint64_t order;
        ObjRef tag;  // null for none
    };
    explicit NodeSchedule(Node& node) : node_(node) {}
    void add(Time time, ObjRef tag);
    bool remove(PyObject* tag, Time* was = nullptr);  // null: the earliest
    bool has(PyObject* tag) const;
    void reset();
    bool due(Time now) const { return !events.empty() && events.front().time <= now; }
    void done(Time now);  // the evaluation at `now` is over

    std::vector<Event> events;  // by time, then by order of asking

private:
    void tell();
    Node& node_;
    std::uint64_t order_ = 0;
};

// The messages of a push source. Any thread may put, the engine's thread takes.
class PushQueue {
public:
    explicit PushQueue(std::shared_ptr<Wakeup> wakeup) : wakeup_(std::move(wakeup)) {}
    // False when the queue is closed, or full.
    bool put(ObjRef message);
    bool closed() const;
    // Waits (without the GIL) until there is room; false when the queue was closed meanwhile.
    bool wait_for_room();
    bool take(ObjRef& message);
    void put_back(ObjRef message);
    std::size_t pending() const;
    void close();
    std::size_t capacity = 0;
    bool conflate = false;
    unsigned long engine_thread = 0;

private:
    mutable std::mutex mutex_;
    std::condition_variable room_;
    std::deque<ObjRef> waiting_;
    std::shared_ptr<Wakeup> wakeup_;
    bool open_ = true;
};

// Its inputs and the arguments of its function follow the node in memory: a tick touches few lines.
class PyNode : public Node {
protected:
    struct Input {
        Out* out;
        View* view;
        std::uint8_t need;
        bool scalar;
    };

public:
    template <class N>
    static constexpr Factory kind = {
        [](const NodeSpec& spec) {
            const auto& plan = *static_cast<const PyPlan*>(spec.extra);
            return sizeof(N) + spec.inputs.size() * sizeof(Input) +
                   (plan.eval.args.size() + 1) * sizeof(PyObject*);
        },
        [](void* memory, const NodeSpec& spec) -> Node* {
            N* node = new (memory) N();
            node->inputs_ = reinterpret_cast<Input*>(static_cast<char*>(memory) + sizeof(N));
            node->args_ = reinterpret_cast<PyObject**>(node->inputs_ + spec.inputs.size());
            node->plan_ = static_cast<const PyPlan*>(spec.extra);
            return node;
        },
        false,
    };
    ~PyNode() override;
    void wire(std::uint32_t i, Out* source) override;
    void eval(Time now) override;
    void start(Time now) override;
    void stop(Time now) override;
    void visit(Visitor& visitor) const override;
    Obj* save() override;
    void restore(Obj* state, Time now) override;

    NodeSchedule& schedule();
    const PyPlan& plan() const { return *plan_; }
    PyObject* state() const { return state_.get(); }

protected:
    const Input* begin() const { return inputs_; }
    const Input* end() const { return inputs_ + input_count_; }
    bool ready(Time now);
    void prepare(Time now);
    void look_up();
    void forget_args();
    void listen(std::size_t input, bool active);
    void finish(PyObject* result, Time now);
    PyObject* argument(const Arg& arg);
    std::vector<PyObject*> arguments(const Call& call);
    PyObject* call(const Call& call);

    const PyPlan* plan_ = nullptr;
    Input* inputs_ = nullptr;
    PyObject** args_ = nullptr;  // of `eval`, one free place in front for vectorcall
    std::uint32_t input_count_ = 0;
    bool has_args_ = false;    // looked up at the first evaluation
    bool direct_ = false;      // and there is no schedule to ask
    bool scalar_out_ = false;  // the output is a scalar of its own
    std::unique_ptr<NodeSchedule> schedule_;
    ObjRef state_;
};

class GeneratorNode final : public PyNode {
public:
    void start(Time now) override;
    void stop(Time now) override;
    void eval(Time now) override;
    void visit(Visitor& visitor) const override;
    Obj* save() override;
    void restore(Obj* state, Time now) override;

private:
    void advance(Time now);
    std::int64_t taken_ = 0;  // items so far: how a saved generator is brought back to its place
    ObjRef iterator_, pending_;
    Time due_ = never;
};

class PushNode final : public PyNode {
public:
    std::shared_ptr<PushQueue> queue;
    void start(Time now) override;
    void stop(Time now) override;
    void eval(Time now) override;
};

// What a function gives for the value of the input: it is shown nothing of the node, so there is no view to
// keep up.
class CallNode final : public NativeNode<1> {
public:
    void wire(std::uint32_t i, Out* source) override;
    void eval(Time now) override;

private:
    vectorcallfunc enter_ = nullptr;
};

// Ticks the items of a list, one for each cycle from the start on; None does not tick.
class ReplayNode final : public Node {
public:
    void start(Time now) override;
    void eval(Time now) override;
    Obj* save() override { return PyLong_FromSsize_t(at_); }
    void restore(Obj* state, Time) override {
        if (state != nullptr) at_ = PyLong_AsSsize_t(state);
    }

private:
    Py_ssize_t at_ = 0;
};

// Appends (time, change) to a list.
class RecordNode final : public NativeNode<1> {
public:
    void eval(Time now) override;
};

}  // namespace mainspring::graph::py
