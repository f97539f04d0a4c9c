// The engine: nodes in rank order, the set of those that are ready, the times others wait for.
//
// One cycle, in order:
//   C1  time moves to the least pending one; nodes that waited for it become ready
//   C2  push sources with waiting messages become ready (they come first in rank order)
//   C3  ready nodes are evaluated in rank order until none is left; what they modify makes
//       others, always further on, ready
//   C4  what was removed in this cycle is let go of; nested graphs that ended are destroyed
//
// Nothing scans nodes: the ready set is a bitset in rank order with two summaries above it, the times
// a heap in which a node stands at most once. A failure leaves the cycle at once; whoever runs the
// engine then calls `stop`, which reaches every started node.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <type_traits>

#include "graph/output.hpp"
#include "graph/types.hpp"

namespace mainspring::graph {

class Engine;
struct NodeSpec;
struct Template;

inline constexpr Time tick_ns = 1000;  // the distance of neighbouring cycles (hgraph's MIN_TD)

// What a node keeps besides its output, one field after another: to be saved, or as it was saved.
class Fields {
public:
    Fields() = default;
    explicit Fields(Obj* saved) : saved_(saved) {}

    template <class... F>
    void operator()(F&... fields) {
        (one(fields), ...);
    }
    // A value as it is kept: unboxed, or as an object.
    void value(Scalar kind, Raw& raw, ObjRef& object);
    // Is a saved state put back? Else it is being saved.
    bool loading() const { return saved_ != nullptr; }
    // Everything told of, as one object; null when that is nothing.
    ObjRef all() const;

private:
    void one(bool& field);
    void one(std::int64_t& field);
    void one(double& field);
    void one(ObjRef& field);
    Raw number(Scalar kind, Raw raw);

    Obj* saved_ = nullptr;
    std::size_t at_ = 0;
    std::vector<ObjRef> told_;
};

class Node {
public:
    Node() = default;
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    virtual ~Node();

    virtual void eval(Time now) = 0;
    virtual void start(Time) {}
    virtual void stop(Time) {}
    // Called once for each input while the graph is built, in order.
    virtual void wire(std::uint32_t, Out*) {}
    virtual std::unique_ptr<Out> make_output();
    // The graphs running inside this node, in order.
    virtual void nested(std::vector<Graph*>&) const {}
    virtual void visit(Visitor&) const {}
    // What the node keeps besides its output: whatever outlives an evaluation is told of here, or a
    // run that was saved goes on differently.
    virtual void fields(Fields&) {}
    // The same as an object of the embedding; null for nothing.
    virtual Obj* save();
    // Null when there was nothing to keep.
    virtual void restore(Obj* state, Time);
    // While a saved state is put back: the graph that ran for `key` at `place`, made anew.
    virtual Graph* revive(Obj*, std::uint32_t, Time) { return nullptr; }
    // After it: bind again what was bound by evaluation.
    virtual void rebind(Time) {}
    // And then: let links of its own know the times of what they lead to.
    virtual void refresh_links() {}

    Graph* graph = nullptr;
    const NodeSpec* spec = nullptr;
    OutPtr out;
    OutPtr error;  // where failures go instead of ending the run
    std::uint32_t index = 0;
    std::uint32_t heap_at = none;
    bool started = false;
    bool seen = false;  // somebody outside holds a token for it
};

// A safe way to a node for those who may outlive it.
struct NodeToken {
    Node* node;
};

struct InputSpec {
    std::uint32_t source = 0;
    std::vector<std::uint32_t> path;  // into bundles and lists
    bool active = true;
    std::uint8_t need = 1;  // 0 nothing, 1 valid, 2 all valid
    TypeRef type;
};

// A constant a native node was wired with.
struct Param {
    Scalar kind = Scalar::object;
    Raw raw{};
    ObjRef object;
};

// How a kind of node is made: in memory of the size it asks for, aligned as pointers are.
struct Factory {
    std::size_t (*size)(const NodeSpec&) = nullptr;
    Node* (*make)(void* memory, const NodeSpec&) = nullptr;
    bool own_output = false;  // the node has a `make_output` of its own
    explicit operator bool() const { return make != nullptr; }
};

// One node of a description, ready to be instantiated any number of times.
struct NodeSpec {
    std::string name, label;
    std::uint32_t id = 0;
    Factory kind;
    TypeRef out;
    bool link = false;  // the output is a link
    std::vector<InputSpec> inputs;
    std::vector<Param> params;
    ObjRef payload;               // for nodes of the embedding
    ObjRef description;           // what wiring knows of the node
    const Plan* extra = nullptr;  // what a kind of node keeps for all its instances; the template's
    std::vector<std::shared_ptr<Template>> templates;  // for nodes with graphs inside
    TypeRef error;
    int error_depth = 1;
    bool error_values = false;
    bool is_push = false;
};

// A graph that can be instantiated.
struct Template {
    Template() = default;
    Template(const Template&) = delete;
    Template& operator=(const Template&) = delete;

    std::string name;
    std::vector<NodeSpec> nodes;       // in rank order
    std::vector<std::unique_ptr<const Plan>> plans;  // nodes wired alike share one
    std::vector<std::uint32_t> stubs;  // the nodes that stand for the inputs
    std::uint32_t output = none;
    std::vector<std::uint32_t> output_path;

    void visit(Visitor& visitor) const;
    // The memory one instance needs for its nodes and their outputs: known at the first of them,
    // and nothing is added after that.
    std::size_t bytes() const;

private:
    mutable std::once_flag measured_;
    mutable std::size_t bytes_ = 0;
};

// A set of small numbers that are taken lowest first. Three levels of bits: members, words with a
// member, words of those; a word that was emptied is forgotten above once the search has left it.
// Fewer than 65 have a word and no levels above it.
class ReadySet {
public:
    // How many words a set of `count` needs; they are the owner's, and zero.
    static std::size_t words(std::size_t count);
    void use(std::uint64_t* words, std::size_t count);

    bool empty() const { return members_ == 0; }
    bool has(std::uint32_t member) const {
        return ((words_[member >> 6U] >> (member & 63U)) & 1U) != 0;
    }
    void add(std::uint32_t member) {
        const std::uint32_t at = member >> 6U;
        const std::uint64_t before = words_[at];
        const std::uint64_t after = before | std::uint64_t{1} << (member & 63U);
        if (before == after) return;
        words_[at] = after;
        ++members_;
        if (before == 0 && tops_ != 0) tell(at);
    }
    void remove(std::uint32_t member) {
        if (!has(member)) return;
        words_[member >> 6U] &= ~(std::uint64_t{1} << (member & 63U));
        --members_;
    }
    // The lowest member; there is one.
    std::uint32_t front() {
        while (words_[at_] == 0) at_ = next_word();
        return at_ * 64 + static_cast<std::uint32_t>(__builtin_ctzll(words_[at_]));
    }
    // Takes out what `front` just gave.
    void pop() {
        words_[at_] &= words_[at_] - 1;
        --members_;
    }
    void clear() {
        while (members_ != 0) {
            front();
            members_ -= static_cast<std::uint32_t>(__builtin_popcountll(words_[at_]));
            words_[at_] = 0;
        }
    }

private:
    void tell(std::uint32_t at) {
        summary_[at >> 6U] |= std::uint64_t{1} << (at & 63U);
        top_[at >> 12U] |= std::uint64_t{1} << ((at >> 6U) & 63U);
        if (at < at_) at_ = at;
    }
    std::uint32_t next_word();

    std::uint64_t* words_ = nullptr;
    std::uint64_t* summary_ = nullptr;
    std::uint64_t* top_ = nullptr;
    std::uint32_t tops_ = 0;
    std::uint32_t at_ = 0;  // no word before this one has a member
    std::uint32_t members_ = 0;
};

class Graph {
public:
    Graph(Engine* engine, std::shared_ptr<const Template> source, Node* parent);
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph();

    void start(Time now);
    void stop(Time now);
    void evaluate(Time now);

    // Make a node ready in this cycle; one whose turn has passed is ready in the next.
    void schedule(std::uint32_t node) {
        const std::uint32_t turn = node + 1;
        if (turn <= passed_) [[unlikely]] {
            schedule_later(node);
        } else if (next_ <= passed_) {
            next_ = turn;
            if (passed_ == 0) mark_dirty();
        } else if (next_ != turn) {
            ready_.add(node);
        }
    }
    bool evaluating() const { return passed_ != 0; }
    bool ready(std::uint32_t node) const { return next_ == node + 1 || ready_.has(node); }
    // Forget what is ready, here and inside: after a failure, and when a state that is put back says
    // itself what waits.
    void quiet();
    Out* output();
    Out* out_of(const InputSpec& input);
    std::string path() const;

    Engine* engine;
    std::shared_ptr<const Template> source;
    Node* parent;  // the node this graph runs inside; null at the top
    std::span<Node*> nodes;
    ObjRef key;                 // of a keyed graph, for its path
    std::uint32_t place = none;  // where the parent keeps it
    bool dirty = false, started = false, ended = false;

private:
    struct Empty {};
    Graph(Empty, Engine* engine, std::shared_ptr<const Template> source, Node* parent);
    void build();
    void mark_dirty();
    void schedule_later(std::uint32_t node);
    template <bool watched>
    void sweep(Time now);
    void fail(Node& node);

    // A node's turn is its index and one.
    std::uint32_t passed_ = 0;  // the last turn; 0 while not evaluating
    // The turn in hand, when it is still to come: of those that are ready one is in hand, the others
    // are in the set (which may have that one as well). Along a chain the set is never touched.
    std::uint32_t next_ = 0;
    ReadySet ready_;
    // One block for the ready set, the table of nodes, and each node with its output behind it: what
    // ticks together stands together, and an instance costs one allocation.
    std::unique_ptr<std::byte[]> memory_;
};

// A node with graphs inside. They tell it when they have something to evaluate.
class HostNode : public Node {
public:
    virtual void child_dirty(Graph* child) {
        dirty_.push_back(child);
        if (!busy_) graph->schedule(index);
    }
    void wire(std::uint32_t i, Out* source) override {
        if (in_.size() <= i) in_.resize(i + std::size_t{1});
        in_[i] = source;
    }
    // A graph that ends has nothing to evaluate any more.
    virtual void forget_dirty(Graph* child) { std::erase(dirty_, child); }
    // Nor does any of them.
    virtual void quiet() { dirty_.clear(); }

protected:
    std::unique_ptr<Graph> make_child(const std::shared_ptr<Template>& source);
    void discard(std::unique_ptr<Graph> child, Time now);
    // Evaluate what has something to evaluate; a failure goes to `failed`, which may throw it on.
    template <class F>
    void evaluate_dirty(Time now, F failed) {
        for (std::size_t i = 0; i < dirty_.size(); ++i) {
            Graph* child = dirty_[i];
            if (child == nullptr) continue;
            dirty_[i] = nullptr;
            try {
                child->evaluate(now);
            } catch (...) {
                try {
                    failed(*child);
                } catch (...) {
                    // What else was ready is dropped, as in a graph.
                    const std::vector<Graph*> rest = std::move(dirty_);
                    dirty_.clear();
                    for (Graph* each : rest)
                        if (each != nullptr) each->quiet();
                    throw;
                }
            }
        }
        dirty_.clear();
    }
    void evaluate_dirty(Time now) {
        evaluate_dirty(now, [](Graph&) { throw; });
    }
    // Says that this node is at work, so that its graphs need not call it.
    struct Busy {
        explicit Busy(HostNode& host_node) : node(host_node) { node.busy_ = true; }
        Busy(const Busy&) = delete;
        Busy& operator=(const Busy&) = delete;
        ~Busy() { node.busy_ = false; }
        HostNode& node;
    };
    std::vector<Graph*> dirty_;
    std::vector<Out*> in_;
    bool busy_ = false;
};

// Stands for an input of a nested graph: a link, or a value of its own (a key).
class StubNode final : public Node {
public:
    void eval(Time) override {}
    Link& link() const { return static_cast<Link&>(*out); }
};

// What a failing node leaves on its way out, once it has been captured.
struct NodeFailed {
    ObjRef error;
};

// Wakes the engine from other threads.
class Wakeup {
public:
    void ring();
    // True when rung, false at the deadline (`until`: steady nanoseconds from now, or forever).
    bool wait(std::int64_t for_ns);
    bool take() { return rung_.exchange(false); }
    bool rung() const { return rung_.load(); }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> rung_{false};
};

// Looks on. Every method is called on the engine's thread.
class Watcher {
public:
    Watcher() = default;
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;
    virtual ~Watcher() = default;
    enum class Event : std::uint8_t {
        before_start_graph, after_start_graph, before_start_node, after_start_node,
        before_graph, after_graph, before_node, after_node, after_push,
        before_stop_node, after_stop_node, before_stop_graph, after_stop_graph,
        start_node_failed, start_graph_failed, stop_node_failed, stop_graph_failed,
    };
    virtual void on_graph(Event event, Graph& graph) = 0;
    virtual void on_node(Event event, Node& node) = 0;
};

class Engine {
public:
    explicit Engine(std::shared_ptr<const Template> source);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine();

    void start(Time time);
    void stop();
    void dispose();
    Time next_time() const {
        if (root->dirty || wakeup->rung()) return now == never ? start_time : now + tick_ns;
        return heap_.empty() ? forever : heap_.front().time;
    }
    void cycle(Time time);
    Time timed() const { return heap_.empty() ? forever : heap_.front().time; }
    // When the cycle began, by the wall clock the embedding gives where somebody may ask.
    std::int64_t (*wall_clock)() = nullptr;
    std::int64_t cycle_begun = 0;
    // Evaluate `node` at `time` or before (the least of what was asked for).
    void schedule(Node* node, Time time);
    // The same, for a node that is not in the schedule, at any time.
    void schedule_at(Node* node, Time time);
    // Evaluate `node` at `time`, whatever was asked for before; `forever` for not at all.
    void reschedule(Node* node, Time time);
    Time scheduled(const Node* node) const {
        return node->heap_at == none ? forever : heap_[node->heap_at].time;
    }
    void sweep_later(Out* out) { sweeps_.push_back(out); }
    void forget_sweep(Out* out);
    std::shared_ptr<NodeToken> token(Node* node);
    void forget(Node* node) { tokens_.erase(node); }
    void bury(std::unique_ptr<Graph> graph) { graveyard_.push_back(std::move(graph)); }

    Time start_time = 0, end_time = forever, now = never;
    std::unique_ptr<Graph> root;
    std::shared_ptr<Wakeup> wakeup = std::make_shared<Wakeup>();
    std::vector<Node*> push_nodes;
    Watcher* watcher = nullptr;
    bool stop_requested = false, realtime = false, cycling = false;
    bool starting = false, stopping = false;
    bool tearing_down = false;
    int trace_depth = 1;
    bool trace_values = false;
    std::uint64_t cycles = 0;
    void* owner = nullptr;  // the embedding's running graph
    // Called once: `before_cycle` in order when the next cycle begins, `after_cycle` in the reverse
    // order when this one ends, also when it fails. What is left is called once all has stopped.
    std::deque<std::function<void()>> after_cycle, before_cycle;

private:
    struct Entry {
        Time time;
        Node* node;
    };
    void sift_up(std::uint32_t at);
    void sift_down(std::uint32_t at);
    void put(std::uint32_t at, Entry entry) {
        heap_[at] = entry;
        entry.node->heap_at = at;
    }
    void drop(std::uint32_t at);
    void settle();
    void call_before();
    void call_after();
    void call_after_failure();

    std::vector<Entry> heap_;
    std::vector<Out*> sweeps_;
    std::map<Node*, std::shared_ptr<NodeToken>> tokens_;  // never iterated
    std::vector<std::unique_ptr<Graph>> graveyard_;
};

// Most outputs have one reader and stand alone: on every path of every tick.
inline void Out::mark(Time now) {
    if (last_modified == now) return;
    last_modified = now;
    const Subscribers::Entry sole = subscribers.sole();
    if (sole != 0 && (sole & 1U) == 0 && parent == nullptr) [[likely]] {
        const Node* node = reinterpret_cast<const Node*>(sole);
        node->graph->schedule(node->index);
    } else {
        tell(now);
    }
}

// --- native nodes ------------------------------------------------------------------------------

// The kinds of node an op code stands for. `ops_*.cpp` and `nodes_*.cpp` fill the table before
// `main`; wiring looks codes up by name (for example "add:int,int").
struct OpTable {
    static void add(std::string_view code, Factory factory);
    static Factory find(std::string_view code);
    static std::vector<std::string> codes();
};

struct OpEntry {
    OpEntry(std::string_view code, Factory factory) { OpTable::add(code, factory); }
};

// The base of a native node with a fixed number of inputs. Inputs may be links: read through
// `at(i)`, which is null while an input leads nowhere.
template <std::size_t n>
class NativeNode : public Node {
public:
    void wire(std::uint32_t i, Out* source) override {
        if (i < n) in_[i] = source;
    }

protected:
    bool valid(std::size_t i) const { return in_[i]->valid(); }
    bool modified(std::size_t i, Time now) const { return in_[i]->modified(now); }
    ScalarOut& at(std::size_t i) const {
        return static_cast<ScalarOut&>(*in_[i]->resolve());
    }
    ScalarOut& result() const { return static_cast<ScalarOut&>(*out); }
    bool b(std::size_t i) const { return at(i).raw.b; }
    std::int64_t i64(std::size_t i) const { return at(i).raw.i; }
    double f64(std::size_t i) const { return at(i).raw.f; }

    Out* in_[n] = {};
};

template <class N>
inline constexpr Factory make_node = {
    [](const NodeSpec&) { return sizeof(N); },
    [](void* memory, const NodeSpec&) -> Node* {
        static_assert(alignof(N) <= alignof(void*));
        return new (memory) N();
    },
    !std::is_same_v<decltype(&N::make_output), decltype(&Node::make_output)>,
};

}  // namespace mainspring::graph
