#include "graph/keys.hpp"

#include <algorithm>

namespace mainspring::graph {

const std::vector<std::uint32_t> KeyTable::nothing_;

namespace {
constexpr std::uint32_t empty_bucket = 0, deleted_bucket = 1, first_bucket = 2;

std::size_t mix(std::int64_t hash) {
    auto h = static_cast<std::uint64_t>(hash);
    h ^= h >> 32;
    h *= 0x9E3779B97F4A7C15ULL;
    return static_cast<std::size_t>(h ^ (h >> 29));
}
}  // namespace

KeyTable::~KeyTable() { clear_all(); }

void KeyTable::clear_all() {
    for (Entry& entry : entries_)
        if (entry.key != nullptr) host.release(std::exchange(entry.key, nullptr));
    entries_.clear();
    buckets_.clear();
    free_.clear();
    added_.clear();
    removed_.clear();
    dead_.clear();
    live_ = used_ = 0;
    changed_ = never;
    stale_ = false;
}

void KeyTable::load(const std::vector<Obj*>& slots, const std::vector<std::uint32_t>& free) {
    clear_all();
    for (Obj* key : slots) {
        Entry entry;
        if (key != nullptr) {
            entry = Entry{key, host.hash(key), never, true, false};
            host.retain(key);
            ++live_;
        }
        entries_.push_back(entry);
    }
    free_ = free;
    grow();
}

void KeyTable::visit(Visitor& visitor) const {
    for (const Entry& entry : entries_) visitor(entry.key);
}

std::uint32_t KeyTable::probe(Obj* key, std::int64_t hash) const {
    if (buckets_.empty()) return none;
    const std::size_t mask = buckets_.size() - 1;
    for (std::size_t at = mix(hash) & mask;; at = (at + 1) & mask) {
        const std::uint32_t bucket = buckets_[at];
        if (bucket == empty_bucket) return none;
        if (bucket < first_bucket) continue;
        const Entry& entry = entries_[bucket - first_bucket];
        if (entry.hash == hash && (entry.key == key || host.equal(entry.key, key)))
            return bucket - first_bucket;
    }
}

std::uint32_t KeyTable::find(Obj* key) const {
    if (live_ == 0) return none;
    const std::uint32_t slot = probe(key, host.hash(key));
    return slot != none && entries_[slot].live ? slot : none;
}

void KeyTable::unlist(std::vector<std::uint32_t>& slots) {
    for (const std::uint32_t slot : slots) entries_[slot].listed = false;
    slots.clear();
}

void KeyTable::begin(Time now) {
    if (changed_ == now) return;
    changed_ = now;
    unlist(added_);
    unlist(removed_);
    stale_ = false;
}

void KeyTable::settle() const {
    const auto leave = [this](std::vector<std::uint32_t>& slots, bool live) {
        std::erase_if(slots, [&](std::uint32_t slot) {
            Entry& entry = entries_[slot];
            if (entry.live == live) return false;
            entry.listed = false;
            return true;
        });
    };
    leave(added_, true);
    leave(removed_, false);
    stale_ = false;
}

std::uint32_t KeyTable::insert(Obj* key, Time now, bool& fresh) {
    const std::int64_t hash = host.hash(key);
    std::uint32_t slot = probe(key, hash);
    fresh = false;
    if (slot != none && entries_[slot].live) return slot;
    begin(now);
    fresh = true;
    ++live_;
    if (slot != none) {  // erased earlier in this cycle
        Entry& entry = entries_[slot];
        entry.live = true;
        if (entry.added != now) {
            stale_ = true;  // it is there as it was before
        } else if (!entry.listed) {
            entry.listed = true;
            added_.push_back(slot);
        }
        return slot;
    }
    if ((used_ + 1) * 3 >= buckets_.size() * 2) grow();
    if (free_.empty()) {
        slot = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    host.retain(key);
    entries_[slot] = Entry{key, hash, now, true, true};
    const std::size_t mask = buckets_.size() - 1;
    std::size_t at = mix(hash) & mask;
    while (buckets_[at] >= first_bucket) at = (at + 1) & mask;
    if (buckets_[at] == empty_bucket) ++used_;
    buckets_[at] = slot + first_bucket;
    added_.push_back(slot);
    return slot;
}

void KeyTable::erase(std::uint32_t slot, Time now) {
    begin(now);
    Entry& entry = entries_[slot];
    entry.live = false;
    --live_;
    if (entry.added == now) {
        stale_ = true;
    } else if (!entry.listed) {
        entry.listed = true;
        removed_.push_back(slot);
    }
    dead_.push_back(slot);
}

void KeyTable::forget(std::uint32_t slot) {
    Entry& entry = entries_[slot];
    if (entry.key == nullptr) return;
    const std::size_t mask = buckets_.size() - 1;
    std::size_t at = mix(entry.hash) & mask;
    while (buckets_[at] != slot + first_bucket) at = (at + 1) & mask;
    buckets_[at] = deleted_bucket;
    host.release(std::exchange(entry.key, nullptr));
    free_.push_back(slot);
}

void KeyTable::grow() {
    std::size_t held = 0;
    for (const Entry& entry : entries_) held += entry.key != nullptr ? 1 : 0;
    std::size_t capacity = 8;
    while (capacity < (held + 1) * 3) capacity *= 2;
    buckets_.assign(capacity, empty_bucket);
    const std::size_t mask = capacity - 1;
    for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
        if (entries_[slot].key == nullptr) continue;
        std::size_t at = mix(entries_[slot].hash) & mask;
        while (buckets_[at] != empty_bucket) at = (at + 1) & mask;
        buckets_[at] = slot + first_bucket;
    }
    used_ = static_cast<std::uint32_t>(held);
}

}  // namespace mainspring::graph
