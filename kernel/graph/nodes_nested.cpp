// Nodes with graphs inside: one for each key, one for the current case, a tree of them.
//
// A nested graph reads the outer one through links, and its output is read through a link, so a
// tick inside costs what ticks and nothing is copied. The graph of a key that went is stopped at
// once and destroyed when the cycle ends.
#include <algorithm>

#include "graph/graph.hpp"
#include "graph/nested.hpp"

namespace mainspring::graph {
namespace {

void bind_stub(Graph& child, std::uint32_t stub, Out* to, Time now) {
    static_cast<StubNode*>(child.nodes[child.source->stubs[stub]])->link().bind(to, now);
}

void set_stub(Graph& child, std::uint32_t stub, Obj* value, Time now) {
    host.apply(*child.nodes[child.source->stubs[stub]]->out, value, now);
}

KeyTable* table_of(Out* keys) {
    Out* set = keys->resolve();
    return set == nullptr ? nullptr : &static_cast<SetOut*>(set)->keys;
}

// map_: one graph for each key.
class MapNode final : public HostNode {
public:
    std::unique_ptr<Out> make_output() override {
        if (spec->out == nullptr) return nullptr;
        return std::make_unique<DictOut>(*spec->out, this, true);
    }
    void wire(std::uint32_t i, Out* source) override {
        HostNode::wire(i, source);
        const MapPlan::Input& input = plan().inputs[i];
        Out* keys = nullptr;
        if (input.role == MapPlan::Role::keys) keys = source;
        if (input.role == MapPlan::Role::each || input.role == MapPlan::Role::each_no_key)
            keys = child_at(source, key_set_step);
        if (keys != nullptr) keys->subscribe(this);
        keys_.push_back(keys);
    }
    void start(Time now) override {
        if (out == nullptr) sink_keys_ = std::make_unique<SetOut>(*plan().key_set, this);
        (void)now;
    }
    void stop(Time now) override {
        for (auto& child : graphs_)
            if (child != nullptr) child->stop(now);
    }
    void nested(std::vector<Graph*>& all) const override {
        for (const auto& child : graphs_)
            if (child != nullptr) all.push_back(child.get());
    }
    Graph* revive(Obj* key, std::uint32_t place, Time now) override {
        const Busy busy(*this);
        first_ = false;
        if (out == nullptr && sink_keys_->keys.find(key) == none) {
            bool fresh = false;
            sink_keys_->keys.insert(key, never + 1, fresh);
        }
        (void)place;
        add(key, now);
        return graphs_[table().find(key)].get();
    }
    void eval(Time now) override {
        const Busy busy(*this);
        sync(now);
        if (error == nullptr)
            evaluate_dirty(now);
        else
            evaluate_dirty(now, [&](Graph& child) {
                Obj* error_value = nullptr;
                try {
                    throw;
                } catch (const NodeFailed& failed) {
                    error_value = ObjRef(failed.error).take();
                } catch (...) {
                    error_value = host.capture(*this, spec->error_depth, spec->error_values);
                }
                const ObjRef value = ObjRef::steal(error_value);
                Out* slot = static_cast<DictOut&>(*error).create(child.key.get(), now);
                as_scalar(*slot).set_object(value, now);
            });
    }
    void visit(Visitor& visitor) const override {
        if (sink_keys_ != nullptr) sink_keys_->visit(visitor);
    }

private:
    const MapPlan& plan() const { return *static_cast<const MapPlan*>(spec->extra); }
    KeyTable& table() {
        return out != nullptr ? static_cast<DictOut&>(*out).keys() : sink_keys_->keys;
    }

    bool wanted(Obj* key) const {
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (!plan().inputs[i].counts) continue;
            const KeyTable* keys = table_of(keys_[i]);
            if (keys != nullptr && keys->find(key) != none) return true;
        }
        return false;
    }

    void sync(Time now) {
        bool ticked = false;
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (!plan().inputs[i].counts || !changed(i, now)) continue;
            ticked = true;
            const KeyTable* keys = table_of(keys_[i]);
            if (keys == nullptr || full(i, now)) {
                for (std::uint32_t at = 0; at < table().slots(); ++at)
                    if (table().live(at) && !wanted(table().key(at))) remove(at, now);
            } else {
                for (const std::uint32_t at : keys->removed(now)) {
                    Obj* key = keys->key(at);
                    const std::uint32_t mine = table().find(key);
                    if (mine != none && !wanted(key)) remove(mine, now);
                }
            }
        }
        for (std::size_t i = 0; i < keys_.size(); ++i)
            if (keys_[i] != nullptr && plan().inputs[i].role != MapPlan::Role::keys && changed(i, now))
                rebind_input(static_cast<std::uint32_t>(i), now);
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            if (!plan().inputs[i].counts || !changed(i, now)) continue;
            const KeyTable* keys = table_of(keys_[i]);
            if (keys == nullptr) continue;
            if (full(i, now)) {
                for (std::uint32_t at = 0; at < keys->slots(); ++at)
                    if (keys->live(at)) add(keys->key(at), now);
            } else {
                for (const std::uint32_t at : keys->added(now)) add(keys->key(at), now);
            }
        }
        first_ = false;
        if (ticked && out != nullptr && !out->valid()) {
            static_cast<DictOut&>(*out).key_set.mark(now);
            out->mark(now);
        }
    }
    bool full(std::size_t i, Time now) const { return first_ || sampled(keys_[i], now); }
    bool changed(std::size_t i, Time now) const {
        return keys_[i] != nullptr &&
               (first_ ? keys_[i]->valid() : keys_[i]->modified(now) || sampled(keys_[i], now));
    }

    // The elements of input `i` that came or went, for the graphs that already run.
    void rebind_input(std::uint32_t i, Time now) {
        const KeyTable* keys = table_of(keys_[i]);
        if (keys == nullptr || full(i, now)) {
            for (std::uint32_t at = 0; at < table().slots(); ++at)
                if (table().live(at) && graphs_[at] != nullptr) bind_element(i, *graphs_[at], now);
            return;
        }
        for (const auto* list : {&keys->removed(now), &keys->added(now)})
            for (const std::uint32_t at : *list) {
                const std::uint32_t mine = table().find(keys->key(at));
                if (mine != none && graphs_[mine] != nullptr) bind_element(i, *graphs_[mine], now);
            }
    }
    void bind_element(std::uint32_t i, Graph& child, Time now) {
        auto* dict = static_cast<DictOut*>(in_[i]->resolve());
        bind_stub(child, plan().inputs[i].stub, dict == nullptr ? nullptr : dict->find(child.key.get()),
                  now);
    }

    void add(Obj* key, Time now) {
        bool fresh = false;
        Out* element = nullptr;
        std::uint32_t at = none;
        if (out != nullptr) {
            element = static_cast<DictOut&>(*out).create(key, now);
            at = element->slot;
        } else {
            at = sink_keys_->keys.insert(key, now, fresh);
        }
        if (graphs_.size() <= at) graphs_.resize(at + std::size_t{1});
        if (graphs_[at] != nullptr) return;
        graphs_[at] = make_child(spec->templates[0]);
        Graph& child = *graphs_[at];
        child.key = ObjRef(key);
        child.place = at;
        if (plan().key_stub != none) set_stub(child, plan().key_stub, key, now);
        for (std::uint32_t i = 0; i < plan().inputs.size(); ++i) {
            const MapPlan::Input& input = plan().inputs[i];
            if (input.role == MapPlan::Role::whole) bind_stub(child, input.stub, in_[i], now);
            if (input.role == MapPlan::Role::each || input.role == MapPlan::Role::each_no_key)
                bind_element(i, child, now);
        }
        child.start(now);
        if (element != nullptr) static_cast<Link*>(element)->bind(child.output(), now);
    }

    void remove(std::uint32_t at, Time now) {
        std::unique_ptr<Graph> child = std::move(graphs_[at]);
        if (error != nullptr) static_cast<DictOut&>(*error).erase(child->key.get(), now);
        if (out != nullptr) {
            static_cast<DictOut&>(*out).erase_slot(at, now);
        } else {
            sink_keys_->keys.erase(at, now);
            sink_keys_->sweep_later();
        }
        discard(std::move(child), now);
    }

    std::vector<Out*> keys_;
    std::vector<std::unique_ptr<Graph>> graphs_;  // by slot of the key table
    std::unique_ptr<SetOut> sink_keys_;           // when there is no output to keep the keys
    bool first_ = true;
};

// switch_: the graph of the current key. Input 0 is the key.
class SwitchNode final : public HostNode {
public:
    void stop(Time now) override {
        if (child_ != nullptr) child_->stop(now);
    }
    void nested(std::vector<Graph*>& all) const override {
        if (child_ != nullptr) all.push_back(child_.get());
    }
    void eval(Time now) override {
        const Busy busy(*this);
        const SwitchPlan& plan = *static_cast<const SwitchPlan*>(spec->extra);
        Out* key_out = in_[0]->resolve();
        if (key_out != nullptr && in_[0]->valid() && (in_[0]->modified(now) || child_ == nullptr)) {
            Obj* key = as_scalar(*key_out).object();
            const bool same = key_ && host.equal(key_.get(), key);
            if (!same || (plan.reload && in_[0]->modified(now))) change(plan, key, now);
        }
        evaluate_dirty(now);
        show(now);
    }
    void visit(Visitor& visitor) const override { visitor(key_.get()); }
    Graph* revive(Obj* key, std::uint32_t, Time now) override {
        const Busy busy(*this);
        change(*static_cast<const SwitchPlan*>(spec->extra), key, now);
        show(now);
        return child_.get();
    }

private:
    void change(const SwitchPlan& plan, Obj* key, Time now) {
        std::uint32_t which = plan.otherwise;
        for (const auto& [value, place] : plan.cases)
            if (host.equal(value.get(), key)) which = place;
        key_ = ObjRef(key);
        if (which == none) {
            throw EngineError(EngineError::What::value,
                              "switch_ has no case for the key it was given and no DEFAULT");
        }
        if (child_ != nullptr) discard(std::move(child_), now);
        child_ = make_child(spec->templates[which]);
        child_->key = key_;
        const SwitchPlan::Case& chosen = plan.wiring[which];
        if (chosen.key_stub != none) set_stub(*child_, chosen.key_stub, key, now);
        for (std::uint32_t i = 0; i < chosen.stubs.size(); ++i)
            if (chosen.stubs[i] != none) bind_stub(*child_, chosen.stubs[i], in_[i + 1], now);
        child_->start(now);
    }
    // The output goes from what the last case gave to what this one gives, once that has been
    // computed: where both are the same, it does not tick.
    void show(Time now) {
        if (out != nullptr && child_ != nullptr) static_cast<Link&>(*out).bind(child_->output(), now);
    }

    std::unique_ptr<Graph> child_;
    ObjRef key_;
};

// A graph run as one node: try_except, and anything that wants a boundary. With an error output
// of its own (`exception` of the output bundle) failures end there.
class BoxNode final : public HostNode {
public:
    std::unique_ptr<Out> make_output() override {
        if (spec->out == nullptr) return nullptr;
        if (!plan().catches) return std::make_unique<Link>(*spec->out, this);
        if (plan().out_field == none) return make_out(*spec->out, this);
        std::vector<std::unique_ptr<Out>> parts;
        for (std::uint32_t i = 0; i < spec->out->children.size(); ++i)
            parts.push_back(make_out(spec->out->child(i), this, i == plan().out_field));
        return std::make_unique<GroupOut>(*spec->out, this, std::move(parts));
    }
    void start(Time now) override {
        child_ = make_child(spec->templates[0]);
        const Busy busy(*this);
        for (std::uint32_t i = 0; i < in_.size(); ++i) bind_stub(*child_, i, in_[i], now);
        if (child_->output() != nullptr) {
            Out* to = !plan().catches ? out.get() : static_cast<GroupOut&>(*out).children[plan().out_field];
            static_cast<Link*>(to)->bind(child_->output(), now);
        }
        child_->start(now);
        if (!dirty_.empty()) graph->schedule(index);
    }
    Graph* revive(Obj*, std::uint32_t, Time) override { return child_.get(); }
    void stop(Time now) override {
        if (child_ != nullptr) child_->stop(now);
    }
    void nested(std::vector<Graph*>& all) const override {
        if (child_ != nullptr) all.push_back(child_.get());
    }
    void eval(Time now) override {
        const Busy busy(*this);
        if (!plan().catches) {
            evaluate_dirty(now);
            return;
        }
        evaluate_dirty(now, [&](Graph&) {
            ObjRef error_value;
            try {
                throw;
            } catch (const NodeFailed& failed) {
                error_value = failed.error;
            } catch (...) {
                error_value = ObjRef::steal(host.capture(*this, 1, false));
            }
            Out* to = plan().out_field == none
                          ? out.get()
                          : static_cast<GroupOut&>(*out).children[1 - plan().out_field];
            as_scalar(*to).set_object(std::move(error_value), now);
        });
    }

private:
    const BoxPlan& plan() const { return *static_cast<const BoxPlan*>(spec->extra); }
    std::unique_ptr<Graph> child_;
};

// A host whose graphs feed one another: they are evaluated in the order of their places, or the
// other way round. What one makes ready stands further on.
class OrderedHost : public HostNode {
public:
    explicit OrderedHost(bool last_first) : last_first_(last_first) { ready_.use(bits_.data(), count_); }
    void child_dirty(Graph* child) override {
        ready_.add(turn(child->place));
        if (!busy_) graph->schedule(index);
    }
    void forget_dirty(Graph* child) override { ready_.remove(turn(child->place)); }
    void quiet() override { ready_.clear(); }

protected:
    // Makes room for places below `count`. What waits goes on waiting.
    void resize(std::uint32_t count) {
        count_ = count;
        bits_.assign(ReadySet::words(count), 0);
        ready_ = ReadySet();
        ready_.use(bits_.data(), count);
        std::vector<Graph*> all;
        nested(all);
        for (const Graph* each : all)
            if (each->dirty) ready_.add(turn(each->place));
    }
    std::uint32_t room() const { return count_; }
    template <class F>
    void evaluate_in_order(Time now, F graph_at) {
        try {
            while (!ready_.empty()) take(graph_at)->evaluate(now);
        } catch (...) {
            // What else was ready is dropped, as in a graph.
            while (!ready_.empty()) take(graph_at)->quiet();
            throw;
        }
    }

private:
    template <class F>
    Graph* take(F graph_at) {
        const std::uint32_t place = turn(ready_.front());
        ready_.pop();
        return graph_at(place);
    }
    std::uint32_t turn(std::uint32_t place) const { return last_first_ ? count_ - 1 - place : place; }

    bool last_first_;
    std::uint32_t count_ = 1;
    std::vector<std::uint64_t> bits_{0};
    ReadySet ready_;
};

// reduce over a dictionary, associative: a tree of graphs over the live elements in the order of
// their places. A place without its neighbour passes the neighbour on, so no zero is needed
// between elements; the zero is for none and, when given, for a single one.
// Input 0 is the dictionary, input 1 (if any) the zero.
class ReduceNode final : public OrderedHost {
public:
    ReduceNode() : OrderedHost(true) {}
    std::unique_ptr<Out> make_output() override { return std::make_unique<Link>(*spec->out, this); }
    void wire(std::uint32_t i, Out* source) override {
        HostNode::wire(i, source);
        if (i == 0) {
            keys_ = child_at(source, key_set_step);
            keys_->subscribe(this);
        }
    }
    void start(Time now) override { graph->engine->schedule(this, now); }
    void stop(Time now) override {
        for (auto& join : joins_)
            if (join.graph != nullptr) join.graph->stop(now);
        if (alone_ != nullptr) alone_->stop(now);
    }
    void nested(std::vector<Graph*>& all) const override {
        for (const auto& join : joins_)
            if (join.graph != nullptr) all.push_back(join.graph.get());
        if (alone_ != nullptr) all.push_back(alone_.get());
    }
    Graph* revive(Obj*, std::uint32_t place, Time now) override {
        const Busy busy(*this);
        if (first_) {
            sync(static_cast<DictOut*>(in_[0]->resolve()), now, true);
            first_ = false;
        }
        if (place == 0) return alone_.get();
        return place < joins_.size() ? joins_[place].graph.get() : nullptr;
    }
    void refresh_links() override {
        // order: deepest first, so that each sees what it leads to done
        for (std::size_t at = joins_.size(); at-- > 0;)
            if (joins_[at].result != nullptr) joins_[at].result->refresh();
    }
    void rebind(Time now) override {
        const Busy busy(*this);
        if (first_ && keys_->valid()) sync(static_cast<DictOut*>(in_[0]->resolve()), now, true);
        else if (first_) crown(now);
        first_ = false;
    }
    void eval(Time now) override {
        const Busy busy(*this);
        auto* dict = static_cast<DictOut*>(in_[0]->resolve());
        if (keys_->modified(now) || sampled(keys_, now) || (first_ && keys_->valid()))
            sync(dict, now, first_ || sampled(keys_, now));
        else if (first_)
            crown(now);
        first_ = false;
        // order: deepest first, so that every join sees both of its sides done
        evaluate_in_order(now, [this](std::uint32_t place) {
            return place == 0 ? alone_.get() : joins_[place].graph.get();
        });
    }

private:
    struct Join {
        std::unique_ptr<Link> result;  // what this subtree comes to
        std::unique_ptr<Graph> graph;
        std::uint32_t live = 0;
    };

    Join& join(std::uint32_t at) {
        Join& found = joins_[at];
        if (found.result == nullptr) found.result = std::make_unique<Link>(*spec->out, this);
        return found;
    }

    void sync(DictOut* dict, Time now, bool all) {
        if (all || dict == nullptr) clear(now);
        // The tree has its size before any place is touched: growing moves places.
        if (dict != nullptr && dict->keys().slots() > leaves_) grow(dict->keys().slots() - 1, now);
        if (all || dict == nullptr) {
            if (dict != nullptr)
                for (std::uint32_t at = 0; at < dict->keys().slots(); ++at)
                    if (dict->keys().live(at)) set_leaf(at, dict->children[at], now);
        } else {
            const KeyTable& keys = dict->keys();
            for (const std::uint32_t at : keys.removed(now)) set_leaf(at, nullptr, now);
            for (const std::uint32_t at : keys.added(now)) set_leaf(at, dict->children[at], now);
        }
        settle(now);
        crown(now);
    }

    // Places of the dictionary are the leaves, so no map from keys to leaves is needed.
    void set_leaf(std::uint32_t place, Out* element, Time now) {
        Join& leaf = join(leaves_ + place);
        leaf.result->bind(element, now);
        leaf.live = element == nullptr ? 0 : 1;
        touched_.push_back((leaves_ + place) / 2);
    }

    void settle(Time now) {
        // order: deepest first
        std::sort(touched_.begin(), touched_.end(), std::greater<>());
        touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
        for (std::size_t i = 0; i < touched_.size(); ++i) {
            const std::uint32_t at = touched_[i];
            if (at == 0) continue;
            update(at, now);
            const std::uint32_t above = at / 2;
            if (above != 0 && touched_.back() != above) touched_.push_back(above);
        }
        touched_.clear();
    }

    void update(std::uint32_t at, Time now) {
        Join& here = join(at);
        Join& left = join(2 * at);
        Join& right = join(2 * at + 1);
        here.live = (left.live != 0 ? 1U : 0U) + (right.live != 0 ? 1U : 0U);
        if (here.live == 2) {
            if (here.graph == nullptr) {
                here.graph = make_child(spec->templates[0]);
                here.graph->place = at;
                bind_stub(*here.graph, 0, left.result.get(), now);
                bind_stub(*here.graph, 1, right.result.get(), now);
                bind_rest(*here.graph, now);
                here.graph->start(now);
                here.result->bind(here.graph->output(), now);
            }
            return;
        }
        here.result->bind(left.live != 0    ? left.result.get()
                          : right.live != 0 ? right.result.get()
                                            : nullptr,
                          now);
        if (here.graph != nullptr) discard(std::move(here.graph), now);
    }

    void bind_rest(Graph& child, Time now) {
        for (std::uint32_t i = 2; i < child.source->stubs.size(); ++i)
            bind_stub(child, i, in_[i - 2 + (plan().has_zero ? 2U : 1U)], now);
    }

    void grow(std::uint32_t place, Time now) {
        std::uint32_t wanted = leaves_ == 0 ? 1 : leaves_;
        while (wanted <= place) wanted *= 2;
        std::vector<Join> old = std::move(joins_);
        const std::uint32_t old_leaves = leaves_;
        joins_.clear();
        joins_.resize(std::size_t{2} * wanted);
        leaves_ = wanted;
        // The old tree becomes the leftmost subtree: a node at depth d keeps its place in its row.
        std::uint32_t shift = 0;
        while ((old_leaves << shift) < wanted && old_leaves != 0) ++shift;
        const auto moved_to = [shift](std::uint32_t at) {
            std::uint32_t row = 1;
            while (row * 2 <= at) row *= 2;
            return (row << shift) + (at - row);
        };
        for (std::uint32_t at = 1; at < old.size(); ++at) {
            const std::uint32_t moved = moved_to(at);
            joins_[moved] = std::move(old[at]);
            if (joins_[moved].graph != nullptr) joins_[moved].graph->place = moved;
        }
        resize(2 * wanted);
        for (std::uint32_t& at : touched_)
            if (at != 0) at = moved_to(at);
        if (old_leaves != 0) {
            std::uint32_t top = (1U << shift) / 2;
            if (top != 0) touched_.push_back(top);
        }
        (void)now;
    }

    void clear(Time now) {
        for (Join& each : joins_)
            if (each.graph != nullptr) discard(std::move(each.graph), now);
        joins_.clear();
        leaves_ = 0;
        resize(1);  // the place of the one that is alone
        static_cast<Link&>(*out).bind(nullptr, now);
    }

    // The whole tree's result, with the zero where there is nothing, or one thing, to join.
    void crown(Time now) {
        auto& result = static_cast<Link&>(*out);
        Out* zero = plan().has_zero ? in_[1] : nullptr;
        std::uint32_t live = 0;
        auto* dict = static_cast<DictOut*>(in_[0]->resolve());
        if (dict != nullptr) live = dict->size();
        if (zero != nullptr && live == 1) {
            if (alone_ == nullptr) {
                alone_ = make_child(spec->templates[0]);
                alone_->place = 0;
                bind_stub(*alone_, 0, join(1).result.get(), now);
                bind_stub(*alone_, 1, zero, now);
                bind_rest(*alone_, now);
                alone_->start(now);
            } else {
                bind_stub(*alone_, 0, join(1).result.get(), now);  // growing made another root
            }
            result.bind(alone_->output(), now);
            return;
        }
        if (live == 0)
            result.bind(in_[0]->valid() || !plan().zero_waits ? zero : nullptr, now);
        else
            result.bind(join(1).result.get(), now);
        if (alone_ != nullptr) discard(std::move(alone_), now);
    }

    const ReducePlan& plan() const { return *static_cast<const ReducePlan*>(spec->extra); }

    Out* keys_ = nullptr;
    std::vector<Join> joins_;  // 1 is the root, the leaves are the last `leaves_`
    std::uint32_t leaves_ = 0;
    std::vector<std::uint32_t> touched_;
    std::unique_ptr<Graph> alone_;
    bool first_ = true;
};

// reduce in order over TSD[int, X]: a chain over keys 0, 1, 2, ... from the zero on.
class FoldNode final : public OrderedHost {
public:
    FoldNode() : OrderedHost(false) {}
    std::unique_ptr<Out> make_output() override { return std::make_unique<Link>(*spec->out, this); }
    void wire(std::uint32_t i, Out* source) override {
        HostNode::wire(i, source);
        if (i == 0) {
            keys_ = child_at(source, key_set_step);
            keys_->subscribe(this);
        }
    }
    void start(Time now) override { graph->engine->schedule(this, now); }
    void stop(Time now) override {
        for (auto& child : chain_) child->stop(now);
    }
    void nested(std::vector<Graph*>& all) const override {
        for (const auto& child : chain_) all.push_back(child.get());
    }
    Graph* revive(Obj*, std::uint32_t place, Time now) override {
        if (first_) grow_chain(now);
        return place < chain_.size() ? chain_[place].get() : nullptr;
    }
    void rebind(Time now) override {
        if (first_) grow_chain(now);
    }
    void eval(Time now) override {
        const Busy busy(*this);
        if (first_ || keys_->modified(now) || sampled(keys_, now)) grow_chain(now);
        // order: each after the one whose result it takes
        evaluate_in_order(now, [this](std::uint32_t place) { return chain_[place].get(); });
    }

private:
    void grow_chain(Time now) {
        {
            auto* dict = static_cast<DictOut*>(in_[0]->resolve());
            std::vector<Out*> elements;
            if (dict != nullptr && in_[0]->valid())
                for (std::int64_t i = 0;; ++i) {
                    Raw raw;
                    raw.i = i;
                    const ObjRef key = ObjRef::steal(host.box(Scalar::integer, raw));
                    Out* element = dict->find(key.get());
                    if (element == nullptr) break;
                    elements.push_back(element);
                }
            while (chain_.size() > elements.size()) {
                discard(std::move(chain_.back()), now);
                chain_.pop_back();
            }
            for (std::uint32_t i = 0; i < elements.size(); ++i) {
                if (i < chain_.size()) {
                    bind_stub(*chain_[i], 1, elements[i], now);
                    continue;
                }
                if (i >= room()) resize(std::max(2 * i, 8U));
                chain_.push_back(make_child(spec->templates[0]));
                Graph& child = *chain_.back();
                child.place = i;
                bind_stub(child, 0, i == 0 ? in_[1] : chain_[i - 1]->output(), now);
                bind_stub(child, 1, elements[i], now);
                for (std::uint32_t j = 2; j < child.source->stubs.size(); ++j)
                    bind_stub(child, j, in_[j], now);
                child.start(now);
            }
            static_cast<Link&>(*out).bind(chain_.empty() ? in_[1] : chain_.back()->output(), now);
            first_ = false;
        }
    }

    Out* keys_ = nullptr;
    std::vector<std::unique_ptr<Graph>> chain_;
    bool first_ = true;
};

const OpEntry entries[] = {
    {"map", make_node<MapNode>},       {"switch", make_node<SwitchNode>},
    {"box", make_node<BoxNode>},       {"reduce", make_node<ReduceNode>},
    {"fold", make_node<FoldNode>},     {"stub", make_node<StubNode>},
};

}  // namespace
}  // namespace mainspring::graph
