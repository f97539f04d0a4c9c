// A set of keys in an order of its own: slots are handed out in order of insertion and reused
// once freed, so the order depends on what was done and never on a hash.
//
// It also knows what changed in the current cycle. A freed slot is not reused before the cycle's
// end, so that what was removed can still be looked at.
#pragma once

#include "graph/types.hpp"

namespace mainspring::graph {

class KeyTable {
public:
    struct Entry {
        Obj* key = nullptr;
        std::int64_t hash = 0;
        Time added = never;
        bool live = false;
        bool listed = false;  // among those that came or went in this cycle
    };

    KeyTable() = default;
    KeyTable(const KeyTable&) = delete;
    KeyTable& operator=(const KeyTable&) = delete;
    ~KeyTable();

    std::uint32_t size() const { return live_; }
    std::uint32_t slots() const { return static_cast<std::uint32_t>(entries_.size()); }
    const Entry& entry(std::uint32_t slot) const { return entries_[slot]; }
    bool live(std::uint32_t slot) const { return entries_[slot].live; }
    Obj* key(std::uint32_t slot) const { return entries_[slot].key; }

    std::uint32_t find(Obj* key) const;
    // The slot of `key`, made if missing; `fresh` says whether its content is new.
    std::uint32_t insert(Obj* key, Time now, bool& fresh);
    // False when the key was added in this very cycle, so that nothing is left to tell.
    void erase(std::uint32_t slot, Time now);

    // What changed at `now`; empty lists at any other time.
    const std::vector<std::uint32_t>& added(Time now) const { return current(added_, now); }
    const std::vector<std::uint32_t>& removed(Time now) const { return current(removed_, now); }
    bool was_added(std::uint32_t slot, Time now) const {
        return entries_[slot].added == now && entries_[slot].live;
    }
    bool was_removed(std::uint32_t slot, Time now) const {
        const Entry& entry = entries_[slot];
        return changed_ == now && !entry.live && entry.key != nullptr && entry.added != now;
    }
    bool needs_sweep() const { return !dead_.empty(); }
    // Frees the slots erased in this cycle. `each` is told about every one of them.
    template <class F>
    void sweep(F each) {
        for (const std::uint32_t slot : dead_) {
            if (entries_[slot].live) continue;  // came back in the same cycle
            each(slot);
            forget(slot);
        }
        dead_.clear();
        unlist(removed_);
    }
    void clear_all();
    // As it was saved: the key of each slot (null for a free one), and the free slots in order.
    void load(const std::vector<Obj*>& slots, const std::vector<std::uint32_t>& free);
    const std::vector<std::uint32_t>& free_slots() const { return free_; }
    void visit(Visitor& visitor) const;

private:
    void begin(Time now);
    void unlist(std::vector<std::uint32_t>& slots);
    const std::vector<std::uint32_t>& current(const std::vector<std::uint32_t>& slots, Time now) const {
        if (changed_ != now) return nothing_;
        if (stale_) settle();
        return slots;
    }
    void settle() const;
    void forget(std::uint32_t slot);
    void grow();
    std::uint32_t probe(Obj* key, std::int64_t hash) const;

    mutable std::vector<Entry> entries_;
    std::vector<std::uint32_t> buckets_;  // slot + 2; 0 empty, 1 deleted
    std::vector<std::uint32_t> free_, dead_;
    // What came and what went. One that did both stays here, and is left out once somebody asks:
    // taking it out at once would make a cycle that changes its mind about all keys quadratic.
    mutable std::vector<std::uint32_t> added_, removed_;
    mutable bool stale_ = false;
    std::uint32_t live_ = 0, used_ = 0;
    Time changed_ = never;
    static const std::vector<std::uint32_t> nothing_;
};

}  // namespace mainspring::graph
