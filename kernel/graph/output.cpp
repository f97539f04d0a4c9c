#include "graph/output.hpp"

#include <algorithm>

#include "graph/graph.hpp"

namespace mainspring::graph {

Host host;

namespace {
// The schema of a dictionary's key set; wiring gives it as the second child where it has one.
TypeRef key_schema(const TsType& dict) {
    if (dict.children.size() > 1) return dict.children[1];
    auto schema = std::make_shared<TsType>();
    schema->kind = Kind::set;
    schema->scalar_type = dict.scalar_type;
    return schema;
}
}  // namespace

// --- subscribers -------------------------------------------------------------------------------

void Subscribers::add(Entry entry) {
    if (capacity_ == 0) {
        if (count_ == 0) {
            one_ = entry;
            count_ = 1;
            return;
        }
        auto* fresh = new Entry[4];
        fresh[0] = one_;
        many_ = fresh;
        capacity_ = 4;
    } else if (count_ == capacity_) {
        auto* fresh = new Entry[capacity_ * std::size_t{2}];
        std::copy(many_, many_ + count_, fresh);
        delete[] many_;
        many_ = fresh;
        capacity_ *= 2;
    }
    many_[count_++] = entry;
}

void Subscribers::remove(Entry entry) {
    Entry* first = capacity_ == 0 ? &one_ : many_;
    Entry* last = first + count_;
    Entry* at = std::find(first, last, entry);
    if (at == last) return;
    std::copy(at + 1, last, at);  // the order of the others stays
    --count_;
    if (capacity_ == 0) one_ = 0;
}

// --- Out ---------------------------------------------------------------------------------------

Handle* Out::handle() {
    if (handle_ == nullptr) {
        handle_ = new Handle;
        handle_->out = this;
    }
    ++handle_->count;
    return handle_;
}

Out::~Out() {
    if (handle_ != nullptr) {
        handle_->out = nullptr;
        if (handle_->count == 0) delete handle_;
    }
    // Nodes are destroyed before what they read, links may outlive it.
    for (const auto entry : subscribers)
        if ((entry & 1U) != 0) reinterpret_cast<Link*>(entry & ~Subscribers::Entry{1})->target_gone();
    if (sweeping && owner != nullptr) owner->graph->engine->forget_sweep(this);
}

void Out::subscribe(Link* link) {
    subscribers.add(reinterpret_cast<Subscribers::Entry>(link) | 1U);
}
void Out::unsubscribe(Link* link) {
    subscribers.remove(reinterpret_cast<Subscribers::Entry>(link) | 1U);
}

bool Out::all_valid() const {
    if (!valid()) return false;
    Out* out = const_cast<Out*>(this)->resolve();
    if (out == nullptr) return false;
    switch (out->kind) {
        case Kind::bundle:
        case Kind::list: {
            const auto& children = static_cast<GroupOut*>(out)->children;
            return std::all_of(children.begin(), children.end(),
                               [](const Out* child) { return child->valid(); });
        }
        case Kind::dict: {
            const auto& dict = *static_cast<DictOut*>(out);
            for (std::uint32_t at = 0; at < dict.keys().slots(); ++at)
                if (dict.keys().live(at) && !dict.children[at]->valid()) return false;
            return true;
        }
        case Kind::window:
            return static_cast<WindowOut*>(out)->enough(out->owner->graph->engine->now);
        default:
            return true;
    }
}

void Out::tell(Time now) {
    const auto* entry = subscribers.begin();
    for (std::uint32_t left = subscribers.size(); left != 0; --left, ++entry) {
        if ((*entry & 1U) == 0) {
            Node* node = reinterpret_cast<Node*>(*entry);
            node->graph->schedule(node->index);
        } else {
            reinterpret_cast<Link*>(*entry & ~Subscribers::Entry{1})->target_marked(now);
        }
    }
    if (parent != nullptr) parent->child_marked(slot, now);
}

void Out::invalidate(Time now) {
    if (last_modified == never) return;
    const bool ticked = last_modified == now;
    last_modified = never;
    was_valid = true;
    if (parent != nullptr && !ticked) parent->child_marked(slot, now);
    // Those who listen hear of it: a validity that went is a change too.
    for (const auto entry : subscribers) {
        if ((entry & 1U) == 0) {
            Node* node = reinterpret_cast<Node*>(entry);
            node->graph->schedule(node->index);
        } else {
            reinterpret_cast<Link*>(entry & ~Subscribers::Entry{1})->target_invalid(now);
        }
    }
}

void ScalarOut::drop_and_mark(Time now) {
    host.release(std::exchange(boxed, nullptr));
    mark(now);
}

void ScalarOut::invalidate(Time now) {
    Obj* old = std::exchange(boxed, nullptr);
    Out::invalidate(now);
    if (old != nullptr) host.release(old);
}

// --- GroupOut ----------------------------------------------------------------------------------

GroupOut::GroupOut(const TsType& schema, Node* node, bool links) : Out(schema, node), links_(links) {
    const std::size_t count =
        schema.kind == Kind::bundle ? schema.children.size() : std::size_t{schema.size};
    children.reserve(count);
    for (std::size_t i = 0; i < count; ++i) grow(static_cast<std::uint32_t>(i));
}

GroupOut::GroupOut(const TsType& schema, Node* node, std::vector<std::unique_ptr<Out>> parts)
    : Out(schema, node), links_(true) {
    for (auto& part : parts) {
        part->parent = this;
        part->slot = size();
        children.push_back(part.release());
    }
}

GroupOut::~GroupOut() {
    for (Out* child : children) delete child;
}

Out* GroupOut::grow(std::uint32_t index) {
    while (children.size() <= index) {
        const auto at = static_cast<std::uint32_t>(children.size());
        Out* child = make_out(type->child(at), owner, links_).release();
        child->parent = this;
        child->slot = at;
        children.push_back(child);
    }
    return children[index];
}

void GroupOut::child_marked(std::uint32_t child, Time now) {
    if (changed_at_ != now) {
        changed_at_ = now;
        changed_.clear();
    }
    changed_.push_back(child);
    mark(now);
}

const std::vector<std::uint32_t>& GroupOut::changed(Time now) const {
    static const std::vector<std::uint32_t> nothing;
    return changed_at_ == now ? changed_ : nothing;
}

void GroupOut::invalidate(Time now) {
    for (Out* child : children) child->invalidate(now);
    Out::invalidate(now);
}

void GroupOut::visit(Visitor& visitor) const {
    for (const Out* child : children) child->visit(visitor);
}

// --- SetOut ------------------------------------------------------------------------------------

void SetOut::sweep_later() {
    Out* whole = parent != nullptr && parent->kind == Kind::dict &&
                         &static_cast<DictOut*>(parent)->key_set == this
                     ? parent
                     : this;
    if (keys.needs_sweep() && !whole->sweeping) {
        whole->sweeping = true;
        owner->graph->engine->sweep_later(whole);
    }
}

bool SetOut::add(Obj* key, Time now) {
    bool fresh = false;
    keys.insert(key, now, fresh);
    if (fresh) mark(now);
    return fresh;
}

bool SetOut::remove(Obj* key, Time now) {
    const std::uint32_t at = keys.find(key);
    if (at == none) return false;
    keys.erase(at, now);
    sweep_later();
    mark(now);
    return true;
}

void SetOut::invalidate(Time now) {
    for (std::uint32_t at = 0; at < keys.slots(); ++at)
        if (keys.live(at)) keys.erase(at, now);
    sweep_later();
    Out::invalidate(now);
}

void SetOut::end_cycle() {
    keys.sweep([](std::uint32_t) {});
}

// --- DictOut -----------------------------------------------------------------------------------

DictOut::DictOut(const TsType& schema, Node* node, bool link_elements)
    : Out(schema, node),
      links(link_elements),
      key_type_(key_schema(schema)),
      key_set(*key_type_, node) {
    // Only to be found from it: a change of keys marks the dictionary by itself.
    key_set.parent = this;
    key_set.slot = none;
}

DictOut::~DictOut() {
    key_set.parent = nullptr;
    for (Out* child : children) delete child;
}

Out* DictOut::find(Obj* key) const {
    const std::uint32_t at = keys().find(key);
    return at == none ? nullptr : children[at];
}

Out* DictOut::create(Obj* key, Time now) {
    bool fresh = false;
    const std::uint32_t at = keys().insert(key, now, fresh);
    if (!fresh) return children[at];
    if (children.size() <= at) children.resize(at + std::size_t{1}, nullptr);
    if (children[at] == nullptr) {
        Out* child = (make_element ? make_element() : make_out(type->child(0), owner, links)).release();
        child->parent = this;
        child->slot = at;
        children[at] = child;
    }
    key_set.mark(now);
    mark(now);
    return children[at];
}

void DictOut::load_keys(const std::vector<Obj*>& slots, const std::vector<std::uint32_t>& free) {
    for (Out* child : children) delete child;
    children.assign(slots.size(), nullptr);
    keys().load(slots, free);
    for (std::uint32_t at = 0; at < slots.size(); ++at) {
        if (slots[at] == nullptr) continue;
        Out* child = (make_element ? make_element() : make_out(type->child(0), owner, links)).release();
        child->parent = this;
        child->slot = at;
        children[at] = child;
    }
}

void DictOut::erase_slot(std::uint32_t at, Time now) {
    keys().erase(at, now);
    key_set.sweep_later();
    key_set.mark(now);
    mark(now);
}

bool DictOut::erase(Obj* key, Time now) {
    const std::uint32_t at = keys().find(key);
    if (at == none) return false;
    erase_slot(at, now);
    return true;
}

void DictOut::child_marked(std::uint32_t child, Time now) {
    if (child == none) return;
    if (changed_at_ != now) {
        changed_at_ = now;
        changed_.clear();
    }
    changed_.push_back(child);
    mark(now);
}

const std::vector<std::uint32_t>& DictOut::changed(Time now) const {
    static const std::vector<std::uint32_t> nothing;
    return changed_at_ == now ? changed_ : nothing;
}

void DictOut::invalidate(Time now) {
    for (std::uint32_t at = 0; at < keys().slots(); ++at)
        if (keys().live(at)) keys().erase(at, now);
    key_set.sweep_later();
    key_set.Out::invalidate(now);
    Out::invalidate(now);
}

void DictOut::end_cycle() {
    std::vector<Out*> gone;
    keys().sweep([&](std::uint32_t at) { gone.push_back(std::exchange(children[at], nullptr)); });
    changed_.clear();
    for (Out* child : gone) delete child;
}

void DictOut::visit(Visitor& visitor) const {
    keys().visit(visitor);
    for (const Out* child : children)
        if (child != nullptr) child->visit(visitor);
}

// --- WindowOut ---------------------------------------------------------------------------------

WindowOut::~WindowOut() = default;

void WindowOut::push(ObjRef value, Time now) {
    if (removed_at != now) removed.clear();
    removed_at = now;
    if (since == never) since = now;
    values.push_back(std::move(value));
    times.push_back(now);
    if (type->window_is_time) {
        expire(now);
    } else if (values.size() - first > static_cast<std::size_t>(type->window)) {
        removed.push_back(std::move(values[first]));
        ++first;
    }
    if (first > 32 && first * 2 > values.size()) {
        values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first));
        times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(first));
        first = 0;
    }
    mark(now);
}

void WindowOut::expire(Time now) {
    if (!type->window_is_time) return;
    while (first < values.size() && times[first] < now - type->window) {
        removed.push_back(std::move(values[first]));
        ++first;
    }
}

bool WindowOut::enough(Time now) const {
    if (!type->window_is_time) return static_cast<std::int64_t>(size()) >= type->window_min;
    return since != never && now - since >= type->window_min;
}

void WindowOut::invalidate(Time now) {
    values.clear();
    times.clear();
    removed.clear();
    first = 0;
    since = never;
    Out::invalidate(now);
}

void WindowOut::visit(Visitor& visitor) const {
    for (const ObjRef& value : values) visitor(value.get());
    for (const ObjRef& value : removed) visitor(value.get());
}

// --- Link --------------------------------------------------------------------------------------

Link::~Link() {
    if (target != nullptr) target->unsubscribe(this);
}

void Link::attach(Out* fresh) {
    if (target != nullptr) target->unsubscribe(this);
    target = fresh;
    if (target != nullptr) target->subscribe(this);
}

// Whoever reads the change of this cycle needs to know what is no longer there.
void Link::keep_before(Time now) {
    auto& before = more().before;
    if (before != nullptr) return;
    before = std::make_unique<KeyTable>();
    if (Out* old = resolve(); old != nullptr) {
        const KeyTable& keys = kind == Kind::set ? static_cast<SetOut*>(old)->keys
                                                 : static_cast<DictOut*>(old)->keys();
        bool added = false;
        for (std::uint32_t at = 0; at < keys.slots(); ++at)
            if ((keys.live(at) && !keys.was_added(at, now)) || keys.was_removed(at, now))
                before->insert(keys.key(at), never + 1, added);
    }
    if (!sweeping && owner != nullptr) {
        sweeping = true;
        owner->graph->engine->sweep_later(this);
    }
}

// What follows parts of the target follows those of the one it is now.
void Link::bind_parts(Time now) {
    if (more_ == nullptr) return;
    for (std::uint32_t i = 0; i < more_->projections.size(); ++i)
        if (more_->projections[i] != nullptr)
            more_->projections[i]->bind(target == nullptr ? nullptr : child_at(target, i), now);
}

void Link::bind_keys(Time now) {
    if (more_ != nullptr && more_->keys != nullptr)
        more_->keys->bind(target == nullptr ? nullptr : child_at(target, key_set_step), now);
}

void Link::bind(Out* fresh, Time now) {
    if (target == fresh) return;
    if (target != nullptr && fresh != nullptr && valid() && resolve() == fresh->resolve() &&
        resolve() != nullptr && !mainspring::graph::sampled(this, now)) {
        attach(fresh);
        steady_at = now;
        bind_parts(now);
        bind_keys(now);
        return;
    }
    const bool had_value = valid();
    if ((kind == Kind::set || kind == Kind::dict) && had_value) keep_before(now);
    const Out* whole = fresh == nullptr ? nullptr : fresh->resolve();
    const bool parts = (kind == Kind::bundle || kind == Kind::list) && had_value && whole != nullptr &&
                       fresh->valid() && resolve() != nullptr;
    if (parts)
        for (std::uint32_t i = 0; i < static_cast<const GroupOut*>(whole)->size(); ++i) project(i);
    attach(fresh);
    bound_at = now;
    bind_parts(now);
    const auto ticks = [now](const auto& part) { return part != nullptr && part->modified(now); };
    if (parts && (more_ == nullptr || std::none_of(more_->projections.begin(), more_->projections.end(), ticks))) {
        bound_at = never;
        steady_at = now;  // other parts in name, the same in fact
    } else if (fresh != nullptr && fresh->valid()) {
        if (parts) more().parted_at = now;
        if (last_modified == now) last_modified = never;  // it speaks for another now
        mark(now);
    } else if (had_value) {
        Out::invalidate(now);
    }
    bind_keys(now);
    rebound();
}

void Link::refresh() {
    last_modified = target == nullptr ? never : target->last_modified;
    bound_at = never;
    refresh_parts();
}

void Link::refresh_parts() {
    if (more_ == nullptr) return;
    for (const auto& projection : more_->projections)
        if (projection != nullptr) projection->refresh();
    if (more_->keys != nullptr) more_->keys->refresh();
}

void Link::rebound() {
    if (more_ != nullptr)
        for (Node* node : more_->watchers) node->graph->schedule(node->index);
    for (const auto entry : subscribers)
        if ((entry & 1U) != 0) reinterpret_cast<Link*>(entry & ~Subscribers::Entry{1})->rebound();
}

Link* Link::project_keys() {
    auto& keys = more().keys;
    if (keys == nullptr) {
        more_->keys_type = key_schema(*type);
        keys = std::make_unique<Link>(*more_->keys_type, owner);
        if (target != nullptr) keys->bind(child_at(target, key_set_step), bound_at);
    }
    return keys.get();
}

void Link::target_gone() {
    target = nullptr;
    was_valid = ever_valid();
    last_modified = never;
    if (more_ != nullptr) {
        for (const auto& projection : more_->projections)
            if (projection != nullptr) projection->last_modified = never;
        if (more_->keys != nullptr) more_->keys->last_modified = never;
    }
    for (const auto entry : subscribers)
        if ((entry & 1U) != 0)
            reinterpret_cast<Link*>(entry & ~Subscribers::Entry{1})->last_modified = never;
}

void Link::target_invalid(Time now) { Out::invalidate(now); }

void Link::invalidate(Time now) { bind(nullptr, now); }

void Link::end_cycle() {
    if (more_ != nullptr) more_->before.reset();
}

Link* Link::project(std::uint32_t index) {
    auto& projections = more().projections;
    if (projections.size() <= index) projections.resize(index + std::size_t{1});
    auto& projection = projections[index];
    if (projection == nullptr) {
        projection = std::make_unique<Link>(type->child(index), owner);
        if (target != nullptr) projection->bind(child_at(target, index), bound_at);
    }
    return projection.get();
}

// --- helpers -----------------------------------------------------------------------------------

std::unique_ptr<Out> make_out(const TsType& type, Node* owner, bool link) {
    if (link) return std::make_unique<Link>(type, owner);
    switch (type.kind) {
        case Kind::bundle:
        case Kind::list:
            return std::make_unique<GroupOut>(type, owner, false);
        case Kind::set:
            return std::make_unique<SetOut>(type, owner);
        case Kind::dict:
            return std::make_unique<DictOut>(type, owner, false);
        case Kind::window:
            return std::make_unique<WindowOut>(type, owner);
        default:
            return std::make_unique<ScalarOut>(type, owner);
    }
}

std::size_t room_for_out(const TsType& type, bool link) {
    if (link) return sizeof(Link);
    const bool scalar = type.kind == Kind::scalar || type.kind == Kind::ref || type.kind == Kind::signal;
    return scalar ? sizeof(ScalarOut) : 0;
}

Out* place_out(void* room, const TsType& type, Node* owner, bool link) {
    Out* out = link ? static_cast<Out*>(new (room) Link(type, owner)) : new (room) ScalarOut(type, owner);
    out->placed = true;
    return out;
}

bool sampled(const Out* out, Time now) {
    while (out != nullptr && out->is_link) {
        const auto* link = static_cast<const Link*>(out);
        if (link->sampled(now)) return true;
        if (link->steady_at == now) return false;
        out = link->target;
    }
    return false;
}

const Link* parted(const Out* out, Time now) {
    while (out != nullptr && out->is_link) {
        const auto* link = static_cast<const Link*>(out);
        if (link->sampled(now)) return link->parted(now) ? link : nullptr;
        if (link->steady_at == now) return nullptr;
        out = link->target;
    }
    return nullptr;
}

Out* child_at(Out* out, std::uint32_t index) {
    if (index == key_set_step)
        return out->is_link ? static_cast<Link*>(out)->project_keys()
                            : static_cast<Out*>(&static_cast<DictOut*>(out)->key_set);
    if (out->is_link) return static_cast<Link*>(out)->project(index);
    auto& group = static_cast<GroupOut&>(*out);
    if (index < group.children.size()) return group.children[index];
    return group.grow(index);
}

}  // namespace mainspring::graph
