// Outputs: where the values of time series live.
//
// An output knows its value, when it was last modified and who wants to hear of it. The one rule:
// `modified` means `last_modified == now`. Marking an output notifies its subscribers and its
// parent, each at most once per cycle, so a change at any depth reaches the whole at once.
//
// A `Link` is an output without a value of its own: it stands for another one and may be bound to
// a different one while the graph runs. References, nested graphs and lists or bundles put together
// from separate outputs are all made of links, so that reading and being notified have one form.
#pragma once

#include <functional>

#include "graph/keys.hpp"
#include "graph/types.hpp"

namespace mainspring::graph {

class Link;

// A weak, counted way to an output: what references and views keep. `out` is null once it is gone.
// An output that somebody looked at once keeps its handle: those who look do so every cycle.
struct Handle {
    Out* out = nullptr;
    std::uint32_t count = 0;  // of those who hold it, the output aside
    static void release(Handle* handle) {
        if (handle != nullptr && --handle->count == 0 && handle->out == nullptr) delete handle;
    }
};

// Who is told of a modification: nodes to schedule and links to mark, in order of subscription.
class Subscribers {
public:
    Subscribers() = default;
    Subscribers(const Subscribers&) = delete;
    Subscribers& operator=(const Subscribers&) = delete;
    ~Subscribers() {
        if (capacity_ != 0) delete[] many_;
    }
    using Entry = std::uintptr_t;  // a Node*, or a Link* with the lowest bit set

    void add(Entry entry);
    void remove(Entry entry);
    const Entry* begin() const { return capacity_ == 0 ? &one_ : many_; }
    const Entry* end() const { return begin() + count_; }
    std::uint32_t size() const { return count_; }
    // The entry, when there is one alone; else 0.
    Entry sole() const { return capacity_ == 0 ? one_ : 0; }

private:
    union {
        Entry one_ = 0;
        Entry* many_;
    };
    std::uint32_t count_ = 0, capacity_ = 0;  // capacity 0: the entry is inline
};

class Out {
public:
    Out(const TsType& schema, Node* node) : type(&schema), owner(node), kind(schema.kind) {}
    Out(const Out&) = delete;
    Out& operator=(const Out&) = delete;
    virtual ~Out();

    bool valid() const { return last_modified != never; }
    bool modified(Time now) const { return last_modified == now; }
    bool all_valid() const;

    // The value was changed at `now`.
    inline void mark(Time now);  // in graph.hpp, where nodes are known
    void subscribe(Node* node) { subscribers.add(reinterpret_cast<Subscribers::Entry>(node)); }
    void unsubscribe(Node* node) { subscribers.remove(reinterpret_cast<Subscribers::Entry>(node)); }
    void subscribe(Link* link);
    void unsubscribe(Link* link);

    // The output this one finally stands for; null for a link that leads nowhere.
    inline Out* resolve();
    Handle* handle();  // a new count

    virtual void child_marked(std::uint32_t, Time) {}
    virtual void invalidate(Time now);
    virtual void end_cycle() {}
    virtual void visit(Visitor&) const {}

    // In this order what a tick touches stands together, the value of a scalar next to it.
    const TsType* type;
    Node* owner;
    Handle* handle_ = nullptr;
    std::uint32_t slot = 0;
    Kind kind;
    bool is_link = false;
    bool sweeping : 1 = false;   // waits for the end of the cycle
    bool was_valid : 1 = false;  // had a value that was taken away
    bool placed : 1 = false;     // stands in its graph's memory
    Out* parent = nullptr;
    Time last_modified = never;
    Subscribers subscribers;

    // `last_modified`, and whether there was a value that went, in one number to be saved.
    Time stamp() const { return last_modified == never && was_valid ? never + 1 : last_modified; }
    void set_stamp(Time saved) {
        was_valid = saved == never + 1;
        last_modified = was_valid ? never : saved;
    }
    bool ever_valid() const { return valid() || was_valid; }

private:
    void tell(Time now);  // every subscriber, and the parent
};

// Ends an output where it stands.
struct EndOut {
    void operator()(Out* out) const noexcept {
        if (out->placed)
            out->~Out();
        else
            delete out;
    }
};
using OutPtr = std::unique_ptr<Out, EndOut>;

// TS, REF and SIGNAL: one value. Unboxed kinds box themselves when somebody asks for an object.
class ScalarOut final : public Out {
public:
    using Out::Out;
    ~ScalarOut() override {
        if (boxed != nullptr) host.release(boxed);
    }
    void set_bool(bool value, Time now) {
        raw.b = value;
        mark_unboxed(now);
    }
    void set_int(std::int64_t value, Time now) {
        raw.i = value;
        mark_unboxed(now);
    }
    void set_real(double value, Time now) {
        raw.f = value;
        mark_unboxed(now);
    }
    void set_object(ObjRef value, Time now) {
        Obj* old = std::exchange(boxed, value.take());
        mark(now);
        if (old != nullptr) host.release(old);
    }
    // A borrowed reference; null when there is no value yet.
    Obj* object() {
        if (boxed == nullptr && valid() && type->scalar != Scalar::object)
            boxed = host.box(type->scalar, raw);
        return boxed;
    }
    void invalidate(Time now) override;
    void visit(Visitor& visitor) const override { visitor(boxed); }

    Raw raw{};
    Obj* boxed = nullptr;

private:
    // The object of an earlier value is of no use any more.
    void mark_unboxed(Time now) {
        if (boxed == nullptr) [[likely]]
            mark(now);
        else
            drop_and_mark(now);
    }
    void drop_and_mark(Time now);
};

// TSB and TSL: children at fixed places (a TSL without a size grows at its end).
class GroupOut final : public Out {
public:
    GroupOut(const TsType& type, Node* owner, bool links);
    GroupOut(const TsType& type, Node* owner, std::vector<std::unique_ptr<Out>> parts);
    ~GroupOut() override;
    void child_marked(std::uint32_t child, Time now) override;
    void invalidate(Time now) override;
    void visit(Visitor& visitor) const override;
    std::uint32_t size() const { return static_cast<std::uint32_t>(children.size()); }
    Out* grow(std::uint32_t index);  // the child at `index`, made if the list has no fixed size
    // Those modified at `now`, in the order they were.
    const std::vector<std::uint32_t>& changed(Time now) const;

    std::vector<Out*> children;

private:
    std::vector<std::uint32_t> changed_;
    Time changed_at_ = never;
    bool links_;
};

// TSS: a set of keys.
class SetOut : public Out {
public:
    SetOut(const TsType& schema, Node* node) : Out(schema, node) {}
    bool add(Obj* key, Time now);
    bool remove(Obj* key, Time now);
    void invalidate(Time now) override;
    void end_cycle() override;
    void visit(Visitor& visitor) const override { keys.visit(visitor); }
    void sweep_later();

    KeyTable keys;
};

// TSD: a time series for each key, and the set of its keys as a time series.
class DictOut final : public Out {
public:
    DictOut(const TsType& type, Node* owner, bool links);
    ~DictOut() override;
    Out* find(Obj* key) const;
    Out* create(Obj* key, Time now);  // the key's output, made if missing
    std::function<std::unique_ptr<Out>()> make_element;  // instead of plain elements
    bool erase(Obj* key, Time now);
    void load_keys(const std::vector<Obj*>& slots, const std::vector<std::uint32_t>& free);
    void erase_slot(std::uint32_t slot, Time now);
    void child_marked(std::uint32_t child, Time now) override;
    void invalidate(Time now) override;
    void end_cycle() override;
    void visit(Visitor& visitor) const override;
    const std::vector<std::uint32_t>& changed(Time now) const;
    KeyTable& keys() { return key_set.keys; }
    const KeyTable& keys() const { return key_set.keys; }
    std::uint32_t size() const { return key_set.keys.size(); }

    std::vector<Out*> children;  // by slot
    bool links;                  // the elements are links, bound by whoever owns the output

private:
    TypeRef key_type_;
    std::vector<std::uint32_t> changed_;
    Time changed_at_ = never;

public:
    SetOut key_set;
};

// TSW: the last values, by count or by time.
class WindowOut final : public Out {
public:
    using Out::Out;
    ~WindowOut() override;
    void push(ObjRef value, Time now);
    void invalidate(Time now) override;
    void visit(Visitor& visitor) const override;
    std::uint32_t size() const { return static_cast<std::uint32_t>(values.size() - first); }
    bool enough(Time now) const;
    void expire(Time now);  // forget what is older than the span, when it is one of time

    std::vector<ObjRef> values;  // from `first` on
    std::vector<Time> times;
    std::size_t first = 0;
    std::vector<ObjRef> removed;  // what fell out in the last push
    Time removed_at = never, since = never;
};

// Stands for another output of the same type.
class Link final : public Out {
public:
    Link(const TsType& schema, Node* node) : Out(schema, node) { is_link = true; }
    ~Link() override;
    // Bind to `target` (null: to nothing). A valid target counts as modified at `now`, unless it
    // finally is what the link stood for before.
    void bind(Out* target, Time now);
    void target_marked(Time now) { mark(now); }
    void target_gone();
    void target_invalid(Time now);
    void invalidate(Time now) override;
    void end_cycle() override;
    // A link that follows the child `index` of whatever this one is bound to (TSB, TSL).
    Link* project(std::uint32_t index);
    // A link to the key set of whatever dictionary this one is bound to.
    Link* project_keys();
    bool sampled(Time now) const { return bound_at == now; }
    // The times of what is behind it, where a saved state was put back silently.
    void refresh();
    void refresh_parts();
    // A bundle or list that had a value and leads elsewhere since `now`: its parts, each of which
    // tells whether it is another one, are given by `part`.
    bool parted(Time now) const { return more_ != nullptr && more_->parted_at == now; }
    Link* part(std::uint32_t index) const { return more_->projections[index].get(); }
    // Nodes that want to know when `resolve` leads elsewhere.
    void watch_binding(Node* node) { more().watchers.push_back(node); }
    // What a set or dictionary link led to before it was bound anew, in that cycle; else null.
    const KeyTable* before(Time now) const {
        return sampled(now) && more_ != nullptr ? more_->before.get() : nullptr;
    }

    Out* target = nullptr;
    Time bound_at = never;
    Time steady_at = never;  // bound then, yet to what it stood for: what lies between does not count

private:
    // What few links have.
    struct More {
        std::vector<std::unique_ptr<Link>> projections;
        TypeRef keys_type;
        std::unique_ptr<Link> keys;
        std::unique_ptr<KeyTable> before;
        std::vector<Node*> watchers;
        Time parted_at = never;
    };
    More& more() {
        if (more_ == nullptr) more_ = std::make_unique<More>();
        return *more_;
    }
    void attach(Out* target);
    void keep_before(Time now);
    void bind_parts(Time now);
    void bind_keys(Time now);
    void rebound();
    std::unique_ptr<More> more_;
};

inline Out* Out::resolve() {
    Out* out = this;
    while (out != nullptr && out->is_link) out = static_cast<Link*>(out)->target;
    return out;
}

std::unique_ptr<Out> make_out(const TsType& type, Node* owner, bool link = false);
// How much memory `place_out` needs for such an output; 0 for one that is made by `make_out` alone.
std::size_t room_for_out(const TsType& type, bool link);
Out* place_out(void* room, const TsType& type, Node* owner, bool link);
// The child at a fixed place of a bundle or list, through links where there are any; the set of
// keys of a dictionary at the place `key_set_step`.
inline constexpr std::uint32_t key_set_step = none - 1;
Out* child_at(Out* out, std::uint32_t index);
// True when `out` was bound anew at `now`, so that all of it counts as modified.
bool sampled(const Out* out, Time now);
// The link on the way from `out` that leads elsewhere part by part since `now`, if that is how it does.
const Link* parted(const Out* out, Time now);

inline ScalarOut& as_scalar(Out& out) { return static_cast<ScalarOut&>(out); }

}  // namespace mainspring::graph
