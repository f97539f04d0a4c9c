#include "graph/graph.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace mainspring::graph {

// --- nodes -------------------------------------------------------------------------------------

Node::~Node() {
    if (seen) {
        graph->engine->token(this)->node = nullptr;
        graph->engine->forget(this);
    }
}

Obj* Node::save() {
    Fields told;
    fields(told);
    return told.all().take();
}

void Node::restore(Obj* state, Time) {
    if (state == nullptr) return;
    Fields saved(state);
    fields(saved);
}

ObjRef Fields::all() const {
    return told_.empty() ? ObjRef() : ObjRef::steal(host.pack(told_));
}

Raw Fields::number(Scalar kind, Raw raw) {
    if (loading()) return host.unbox(kind, host.item(saved_, at_++));
    told_.push_back(ObjRef::steal(host.box(kind, raw)));
    return raw;
}

void Fields::value(Scalar kind, Raw& raw, ObjRef& object) {
    if (kind == Scalar::object)
        one(object);
    else
        raw = number(kind, raw);
}

void Fields::one(bool& field) {
    Raw raw;
    raw.b = field;
    field = number(Scalar::boolean, raw).b;
}

void Fields::one(std::int64_t& field) {
    Raw raw;
    raw.i = field;
    field = number(Scalar::integer, raw).i;
}

void Fields::one(double& field) {
    Raw raw;
    raw.f = field;
    field = number(Scalar::real, raw).f;
}

void Fields::one(ObjRef& field) {
    if (loading())
        field = ObjRef(host.item(saved_, at_++));
    else
        told_.push_back(field);
}

std::unique_ptr<Out> Node::make_output() {
    return spec->out == nullptr ? nullptr : make_out(*spec->out, this, spec->link);
}

std::unique_ptr<Graph> HostNode::make_child(const std::shared_ptr<Template>& source) {
    return std::make_unique<Graph>(graph->engine, source, this);
}

void HostNode::discard(std::unique_ptr<Graph> child, Time now) {
    if (child == nullptr) return;
    forget_dirty(child.get());
    child->ended = true;
    Graph& ending = *child;
    graph->engine->bury(std::move(child));  // what it computed can be read until the cycle ends
    ending.stop(now);
}

void Template::visit(Visitor& visitor) const {
    for (const auto& plan : plans) plan->visit(visitor);
    for (const NodeSpec& spec : nodes) {
        for (const Param& param : spec.params) visitor(param.object.get());
        visitor(spec.payload.get());
        visitor(spec.description.get());
        for (const auto& inner : spec.templates) inner->visit(visitor);
    }
}

// --- Graph -------------------------------------------------------------------------------------

namespace {
constexpr std::size_t aligned(std::size_t bytes) {
    return (bytes + alignof(void*) - 1) / alignof(void*) * alignof(void*);
}
std::size_t room_for_node(const NodeSpec& spec) { return aligned(spec.kind.size(spec)); }
std::size_t room_for_output(const NodeSpec& spec) {
    if (spec.out == nullptr || spec.kind.own_output) return 0;
    return aligned(room_for_out(*spec.out, spec.link));
}
}  // namespace

std::size_t Template::bytes() const {
    std::call_once(measured_, [this] {
        bytes_ = ReadySet::words(nodes.size()) * sizeof(std::uint64_t) + nodes.size() * sizeof(Node*);
        for (const NodeSpec& spec : nodes) bytes_ += room_for_node(spec) + room_for_output(spec);
    });
    return bytes_;
}

std::size_t ReadySet::words(std::size_t count) {
    if (count <= 64) return 1;
    const std::size_t words = (count + 63) / 64, summaries = (words + 63) / 64;
    return words + summaries + (summaries + 63) / 64;
}

void ReadySet::use(std::uint64_t* words, std::size_t count) {
    words_ = words;
    if (count <= 64) return;
    summary_ = words_ + (count + 63) / 64;
    const std::size_t summaries = ((count + 63) / 64 + 63) / 64;
    top_ = summary_ + summaries;
    tops_ = static_cast<std::uint32_t>((summaries + 63) / 64);
}

std::uint32_t ReadySet::next_word() {
    std::uint32_t s = at_ >> 6U;
    summary_[s] &= ~(std::uint64_t{1} << (at_ & 63U));
    if (summary_[s] == 0) {
        std::uint32_t t = s >> 6U;
        do {
            top_[t] &= ~(std::uint64_t{1} << (s & 63U));
            while (top_[t] == 0) ++t;
            s = t * 64 + static_cast<std::uint32_t>(__builtin_ctzll(top_[t]));
        } while (summary_[s] == 0);
    }
    return s * 64 + static_cast<std::uint32_t>(__builtin_ctzll(summary_[s]));
}

Graph::Graph(Empty, Engine* runner, std::shared_ptr<const Template> description, Node* host_node)
    : engine(runner), source(std::move(description)), parent(host_node) {}

// Once the empty one is there its destructor clears up, should building fail half way.
Graph::Graph(Engine* runner, std::shared_ptr<const Template> description, Node* host_node)
    : Graph(Empty{}, runner, std::move(description), host_node) {
    build();
}

void Graph::build() {
    const std::size_t count = source->nodes.size();
    memory_ = std::make_unique_for_overwrite<std::byte[]>(source->bytes());
    auto* bits = reinterpret_cast<std::uint64_t*>(memory_.get());
    const std::size_t words = ReadySet::words(count);
    std::fill_n(bits, words, std::uint64_t{0});
    ready_.use(bits, count);
    auto* const first = reinterpret_cast<Node**>(bits + words);
    auto* room = reinterpret_cast<std::byte*>(first + count);
    for (std::uint32_t index = 0; index < count; ++index) {
        const NodeSpec& spec = source->nodes[index];
        Node* node = spec.kind.make(room, spec);
        room += room_for_node(spec);
        node->graph = this;
        node->spec = &spec;
        node->index = index;
        first[index] = node;
        nodes = {first, index + std::size_t{1}};
        if (const std::size_t wanted = room_for_output(spec); wanted != 0) {
            node->out.reset(place_out(room, *spec.out, node, spec.link));
            room += wanted;
        } else {
            node->out.reset(node->make_output().release());
        }
        if (spec.error != nullptr) node->error.reset(make_out(*spec.error, node).release());
        if (spec.is_push) engine->push_nodes.push_back(node);
        for (std::uint32_t i = 0; i < spec.inputs.size(); ++i) {
            const InputSpec& input = spec.inputs[i];
            Out* from = out_of(input);
            if (input.active) from->subscribe(node);
            node->wire(i, from);
        }
    }
}

Graph::~Graph() {
    // Readers go before what they read.
    for (std::size_t i = nodes.size(); i-- > 0;) {
        Node* node = nodes[i];
        if (node->heap_at != none) engine->reschedule(node, forever);
        if (node->spec->is_push) std::erase(engine->push_nodes, node);
        node->~Node();
    }
}

Out* Graph::out_of(const InputSpec& input) {
    Node* node = nodes[input.source];
    if (!input.path.empty() && input.path[0] == none) return node->error.get();
    Out* from = node->out.get();
    for (const std::uint32_t step : input.path) from = child_at(from, step);
    return from;
}

Out* Graph::output() {
    if (source->output == none) return nullptr;
    Node* node = nodes[source->output];
    if (!source->output_path.empty() && source->output_path[0] == none) return node->error.get();
    Out* from = node->out.get();
    for (const std::uint32_t step : source->output_path) from = child_at(from, step);
    return from;
}

void Graph::start(Time now) {
    Watcher* watcher = engine->watcher;
    if (watcher != nullptr) watcher->on_graph(Watcher::Event::before_start_graph, *this);
    started = true;
    for (Node* node : nodes) {
        if (watcher != nullptr) watcher->on_node(Watcher::Event::before_start_node, *node);
        try {
            node->start(now);
        } catch (...) {
            fail(*node);
            if (node->error == nullptr) throw;
        }
        node->started = true;
        if (watcher != nullptr) watcher->on_node(Watcher::Event::after_start_node, *node);
    }
    if (watcher != nullptr) watcher->on_graph(Watcher::Event::after_start_graph, *this);
}

void Graph::stop(Time now) {
    if (!started) return;
    started = false;
    Watcher* watcher = engine->watcher;
    if (watcher != nullptr) watcher->on_graph(Watcher::Event::before_stop_graph, *this);
    // Every node that was started is stopped, whatever another one's stop did; the first failure
    // goes on afterwards.
    std::exception_ptr first;
    for (std::size_t i = nodes.size(); i-- > 0;) {
        Node* node = nodes[i];
        if (!node->started) continue;
        try {
            if (watcher != nullptr) watcher->on_node(Watcher::Event::before_stop_node, *node);
            node->stop(now);
            if (watcher != nullptr) watcher->on_node(Watcher::Event::after_stop_node, *node);
        } catch (const NodeFailed&) {
            if (first == nullptr) first = std::current_exception();
        } catch (...) {
            try {
                if (node->error != nullptr || host.capture == nullptr) throw;
                throw NodeFailed{ObjRef::steal(
                    host.capture(*node, engine->trace_depth, engine->trace_values))};
            } catch (...) {
                if (first == nullptr) first = std::current_exception();
            }
        }
        node->started = false;
    }
    if (watcher != nullptr) watcher->on_graph(Watcher::Event::after_stop_graph, *this);
    if (first != nullptr) std::rethrow_exception(first);
}

void Graph::mark_dirty() {
    if (dirty) return;
    dirty = true;
    if (parent != nullptr && !ended) static_cast<HostNode*>(parent)->child_dirty(this);
}

void Graph::quiet() {
    next_ = 0;
    ready_.clear();
    dirty = false;
    std::vector<Graph*> inner;
    for (Node* node : nodes) {
        node->nested(inner);
        if (auto* host_node = dynamic_cast<HostNode*>(node)) host_node->quiet();
    }
    for (Graph* each : inner) each->quiet();
}

void Graph::schedule_later(std::uint32_t node) {
    engine->schedule(nodes[node], engine->now + tick_ns);
}

// Called inside a catch block: into the node's error output if it has one, else on as NodeFailed.
void Graph::fail(Node& node) {
    if (node.error != nullptr && node.error->kind == Kind::scalar) {
        ObjRef error;
        try {
            throw;
        } catch (const NodeFailed& inner) {
            error = inner.error;
        } catch (...) {
            error = ObjRef::steal(
                host.capture(node, node.spec->error_depth, node.spec->error_values));
        }
        as_scalar(*node.error).set_object(std::move(error), engine->now);
        return;
    }
    if (host.capture == nullptr) return;
    try {
        throw;
    } catch (const NodeFailed&) {
        throw;
    } catch (...) {
        throw NodeFailed{
            ObjRef::steal(host.capture(node, engine->trace_depth, engine->trace_values))};
    }
}

template <bool watched>
void Graph::sweep(Time now) {
    Node* const* const all = nodes.data();
    std::uint32_t at = passed_, stride = 1;
    // order: rank, then node id (a node's index is its place in that order)
    for (;;) {
        std::uint32_t next = next_;
        if (!ready_.empty()) {
            const std::uint32_t lowest = ready_.front() + 1;
            if (next <= at || lowest <= next) {
                ready_.pop();
                next = lowest;
            }
        } else if (next <= at) {
            return;
        }
        // Where alike parts of a graph run side by side, readers stand a constant distance behind what
        // they read. The guess is checked and not computed, so the processor is on its way to the
        // next node while this one is still at work. The copy keeps the compiler from undoing that:
        // it does not know that what was compared is the guess.
        at += stride;
        std::uint32_t guess = at;
        asm("" : "+r"(guess));
        if (next != guess) [[unlikely]] {
            stride += next - at;
            at = next;
        }
        passed_ = at;
        Node* node = all[at - 1];
        if constexpr (watched) engine->watcher->on_node(Watcher::Event::before_node, *node);
        node->eval(now);
        if constexpr (watched) engine->watcher->on_node(Watcher::Event::after_node, *node);
    }
}

void Graph::evaluate(Time now) {
    Watcher* watcher = engine->watcher;
    if (watcher != nullptr) watcher->on_graph(Watcher::Event::before_graph, *this);
    for (;;) {
        try {
            if (watcher == nullptr)
                sweep<false>(now);
            else
                sweep<true>(now);
            break;
        } catch (...) {
            Node& node = *nodes[passed_ - 1];
            try {
                fail(node);
                if (node.error == nullptr || node.error->kind != Kind::scalar) throw;
            } catch (...) {
                // What else was ready is dropped: a boundary outside may let the graph go on.
                passed_ = 0;
                quiet();
                throw;
            }
            if (watcher != nullptr) watcher->on_node(Watcher::Event::after_node, node);
        }
    }
    passed_ = next_ = 0;
    dirty = false;
    if (watcher != nullptr) watcher->on_graph(Watcher::Event::after_graph, *this);
}

std::string Graph::path() const {
    if (parent == nullptr) return {};
    return parent->graph->path() + parent->spec->name + "[" + std::to_string(parent->index) + "].";
}

// --- Engine ------------------------------------------------------------------------------------

Engine::Engine(std::shared_ptr<const Template> source) {
    root = std::make_unique<Graph>(this, std::move(source), nullptr);
}

Engine::~Engine() { dispose(); }

void Engine::dispose() {
    tearing_down = true;
    graveyard_.clear();
    root.reset();
    heap_.clear();
}

void Engine::start(Time time) {
    start_time = time;
    now = time;
    starting = true;
    try {
        root->start(time);
    } catch (...) {
        starting = false;
        throw;
    }
    starting = false;
    now = never;
}

void Engine::stop() {
    if (root == nullptr) return;
    if (now == never) now = start_time;
    stopping = true;
    std::exception_ptr first;
    try {
        root->stop(now);
    } catch (...) {
        first = std::current_exception();
    }
    stopping = false;
    if (first != nullptr) {
        call_after_failure();
        std::rethrow_exception(first);
    }
    while (!after_cycle.empty() || !before_cycle.empty()) {
        call_after();
        call_before();
    }
}

void Engine::call_before() {
    while (!before_cycle.empty()) {
        auto call = std::move(before_cycle.front());
        before_cycle.pop_front();
        call();
    }
}

// order: the last to be asked for first; what a call asks for comes after all that was there
void Engine::call_after() {
    while (!after_cycle.empty()) {
        auto calls = std::move(after_cycle);
        after_cycle.clear();
        for (auto call = calls.rbegin(); call != calls.rend(); ++call) (*call)();
    }
}

// The failure that is on its way out is the one to tell: one of a call's own is dropped.
void Engine::call_after_failure() {
    try {
        call_after();
    } catch (...) {
        after_cycle.clear();
    }
}

void Engine::cycle(Time time) {
    now = time;
    cycling = true;
    ++cycles;
    if (wall_clock != nullptr) cycle_begun = wall_clock();
    call_before();
    while (!heap_.empty() && heap_.front().time <= time) {  // C1
        Node* node = heap_.front().node;
        drop(0);
        node->graph->schedule(node->index);
    }
    if (wakeup->take())  // C2
        for (Node* node : push_nodes) node->graph->schedule(node->index);
    try {
        root->evaluate(time);  // C3
    } catch (...) {
        cycling = false;
        call_after_failure();
        throw;
    }
    settle();  // C4
    cycling = false;
    call_after();
}

void Engine::settle() {
    for (std::size_t i = 0; i < sweeps_.size(); ++i) {
        Out* out = sweeps_[i];
        if (out == nullptr) continue;
        sweeps_[i] = nullptr;
        out->sweeping = false;
        out->end_cycle();
    }
    sweeps_.clear();
    while (!graveyard_.empty()) {
        auto ending = std::move(graveyard_);
        graveyard_.clear();
        ending.clear();
    }
}

std::shared_ptr<NodeToken> Engine::token(Node* node) {
    auto& token = tokens_[node];
    if (token == nullptr) token = std::make_shared<NodeToken>(NodeToken{node});
    node->seen = true;
    return token;
}

void Engine::forget_sweep(Out* out) {
    if (tearing_down) return;
    std::replace(sweeps_.begin(), sweeps_.end(), out, static_cast<Out*>(nullptr));
}

void Engine::schedule(Node* node, Time time) {
    if (time <= now) {
        node->graph->schedule(node->index);
        return;
    }
    if (node->heap_at != none) {
        if (heap_[node->heap_at].time <= time) return;
        heap_[node->heap_at].time = time;
        sift_up(node->heap_at);
        return;
    }
    schedule_at(node, time);
}

void Engine::schedule_at(Node* node, Time time) {
    node->heap_at = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back(Entry{time, node});
    sift_up(node->heap_at);
}

void Engine::reschedule(Node* node, Time time) {
    if (node->heap_at != none) drop(node->heap_at);
    if (time != forever) schedule(node, time);
}

void Engine::drop(std::uint32_t at) {
    heap_[at].node->heap_at = none;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    put(at, last);
    sift_up(at);
    sift_down(last.node->heap_at);
}

void Engine::sift_up(std::uint32_t at) {
    const Entry entry = heap_[at];
    while (at > 0) {
        const std::uint32_t above = (at - 1) / 2;
        if (heap_[above].time <= entry.time) break;
        put(at, heap_[above]);
        at = above;
    }
    put(at, entry);
}

void Engine::sift_down(std::uint32_t at) {
    const Entry entry = heap_[at];
    const auto count = static_cast<std::uint32_t>(heap_.size());
    for (;;) {
        std::uint32_t below = 2 * at + 1;
        if (below >= count) break;
        if (below + 1 < count && heap_[below + 1].time < heap_[below].time) ++below;
        if (heap_[below].time >= entry.time) break;
        put(at, heap_[below]);
        at = below;
    }
    put(at, entry);
}

// --- Wakeup ------------------------------------------------------------------------------------

void Wakeup::ring() {
    if (rung_.exchange(true)) return;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

bool Wakeup::wait(std::int64_t for_ns) {
    std::unique_lock lock(mutex_);
    if (for_ns == forever) {
        changed_.wait(lock, [this] { return rung_.load(); });
        return true;
    }
    return changed_.wait_for(lock, std::chrono::nanoseconds(for_ns), [this] { return rung_.load(); });
}

// --- OpTable -----------------------------------------------------------------------------------

namespace {
std::map<std::string, Factory, std::less<>>& table() {
    static std::map<std::string, Factory, std::less<>> entries;
    return entries;
}
}  // namespace

void OpTable::add(std::string_view code, Factory factory) { table().emplace(code, factory); }

Factory OpTable::find(std::string_view code) {
    const auto at = table().find(code);
    return at == table().end() ? Factory{} : at->second;
}

std::vector<std::string> OpTable::codes() {
    std::vector<std::string> all;
    for (const auto& [code, factory] : table()) all.push_back(code);
    return all;
}

}  // namespace mainspring::graph
