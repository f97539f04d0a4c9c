#include "clock/timeline.hpp"

#include <utility>

namespace mainspring::clock {

namespace {
bool heap_order(const Wakeup& a, const Wakeup& b) noexcept { return a.later_than(b); }
}  // namespace

void Timeline::set_runner(int id, const Beat& beat) {
    RunnerState& state = runners_[idx(id)];
    state.beat = beat;
    state.live = true;
    note_next();
    refresh();
}

void Timeline::clear_runner(int id) {
    runners_[idx(id)] = RunnerState{};
    note_next();
    refresh();
}

void Timeline::note_next() noexcept {
    in_use_ = 0;
    for (std::size_t id = 0; id < runners_.size(); ++id) {
        next_[id] = runners_[id].beat.next();
        if (runners_[id].live) in_use_ = id + 1;
    }
}

std::uint32_t Timeline::add(Entry entry) {
    entry.live = true;
    entry.order = registered_++;
    refresh();
    if (vacant_.empty()) {
        entries_.push_back(std::move(entry));
        return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const std::uint32_t index = vacant_.back();
    vacant_.pop_back();
    entries_[index] = std::move(entry);
    return index;
}

void Timeline::place(std::uint32_t entry, int runner, int phase, std::int64_t priority) {
    Entry& e = entries_[entry];
    e.runner = static_cast<std::uint8_t>(runner);
    e.phase = static_cast<std::uint8_t>(phase);
    e.priority = priority;
    refresh();
}

void Timeline::enable(std::uint32_t entry, bool enabled) {
    if (entries_[entry].enabled == enabled) return;
    entries_[entry].enabled = enabled;
    refresh();
}

void Timeline::remove(std::uint32_t entry) {
    hand_in_calls();  // before another takes the index
    entries_[entry] = Entry{};
    vacant_.push_back(entry);
    // What it asked for stays an instant, with nothing of its own to run.
    for (Wakeup& w : wakeups_)
        if (w.entry == entry) w.entry = kNoEntry;
    refresh();
}

// order: phase, priority, registration
bool Timeline::before(std::uint32_t a, std::uint32_t b) const noexcept {
    const Entry& x = entries_[a];
    const Entry& y = entries_[b];
    if (x.phase != y.phase) return x.phase < y.phase;
    if (x.priority != y.priority) return x.priority < y.priority;
    return x.order < y.order;
}

std::vector<std::uint32_t> Timeline::order() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < entries_.size(); ++i)
        if (entries_[i].live) all.push_back(i);
    std::sort(all.begin(), all.end(), [this](auto a, auto b) { return before(a, b); });
    return all;
}

void Timeline::wake(std::int64_t time_ns, std::uint32_t entry) {
    wakeups_.push_back({time_ns, wakeup_order_++, entry});
    std::push_heap(wakeups_.begin(), wakeups_.end(), heap_order);
}

void Timeline::set_wakeups(std::vector<Wakeup> wakeups) {
    wakeups_ = std::move(wakeups);
    wakeup_order_ = 0;
    for (Wakeup& w : wakeups_) w.order = wakeup_order_++;
    std::make_heap(wakeups_.begin(), wakeups_.end(), heap_order);
}

void Timeline::make_plan(Plan& plan, unsigned due) {
    if (stale_) {
        hand_in_calls();
        for (Plan& p : plans_) p.fresh = false;
        stale_ = false;
    }
    std::vector<std::uint32_t> members;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
        const Entry& e = entries_[i];
        if (e.live && e.enabled && (due & (1U << e.runner)) != 0) members.push_back(i);
    }
    std::sort(members.begin(), members.end(), [this](auto a, auto b) { return before(a, b); });
    plan.slots.clear();
    for (const std::uint32_t i : members) plan.slots.push_back(slot(i));
    plan.fresh = true;
}

void Timeline::hand_in_calls() noexcept {
    for (Plan& p : plans_) {
        if (p.runs == 0) continue;
        for (const Slot& s : p.slots) entries_[s.entry].calls += p.runs;
        p.runs = 0;
    }
}

const std::vector<Slot>& Timeline::with_woken(const Plan& plan, std::int64_t time_ns, unsigned due) {
    woken_.clear();
    while (!wakeups_.empty() && wakeups_.front().time_ns <= time_ns) {
        const std::uint32_t e = wakeups_.front().entry;
        std::pop_heap(wakeups_.begin(), wakeups_.end(), heap_order);
        wakeups_.pop_back();
        // An entry whose runner is due runs anyway; one woken twice runs once.
        if (e == kNoEntry || !entries_[e].live || !entries_[e].enabled) continue;
        if ((due & (1U << entries_[e].runner)) != 0) continue;
        if (std::find(woken_.begin(), woken_.end(), e) == woken_.end()) woken_.push_back(e);
    }
    if (woken_.empty()) return plan.slots;
    std::sort(woken_.begin(), woken_.end(), [this](auto a, auto b) { return before(a, b); });
    merged_.clear();
    auto next = woken_.begin();
    for (const Slot& s : plan.slots) {
        for (; next != woken_.end() && before(*next, s.entry); ++next) merged_.push_back(slot(*next));
        merged_.push_back(s);
    }
    for (; next != woken_.end(); ++next) merged_.push_back(slot(*next));
    return merged_;
}

void Timeline::note_lateness(std::uint8_t due, std::int64_t late_ns) {
    for (int id = 0; id < kMaxRunners; ++id) {
        if ((due & (1U << id)) == 0) continue;
        RunnerState& r = runners_[idx(id)];
        if (!r.lateness) r.lateness = std::make_unique<Costs>();
        r.lateness->add(late_ns);
        if (late_ns >= r.beat.dt()) ++r.missed;
    }
}

void Timeline::skip_to(std::int64_t time_ns) {
    for (RunnerState& r : runners_) {
        if (!r.live || r.beat.next() >= time_ns) continue;
        const std::int64_t k = r.beat.first_at_or_after(time_ns);
        r.skipped += static_cast<std::uint64_t>(k - r.beat.index() - 1);
        r.beat.seek(k);
    }
    note_next();
    now_ = std::max(now_, time_ns);
    // Wake-ups are promises, not beats: those that were passed over run at once.
    for (Wakeup& w : wakeups_) w.time_ns = std::max(w.time_ns, time_ns);
    std::make_heap(wakeups_.begin(), wakeups_.end(), heap_order);
}

std::vector<std::pair<std::int64_t, std::uint8_t>> Timeline::preview(std::int64_t until,
                                                                     std::size_t most) const {
    std::array<Beat, kMaxRunners> beats;
    for (int id = 0; id < kMaxRunners; ++id) beats[idx(id)] = runners_[idx(id)].beat;
    std::vector<Wakeup> wakeups = wakeups_;
    std::sort(wakeups.begin(), wakeups.end(), [](auto& a, auto& b) { return b.later_than(a); });
    auto wakeup = wakeups.begin();
    std::vector<std::pair<std::int64_t, std::uint8_t>> found;
    while (found.size() < most) {
        std::int64_t time_ns = wakeup == wakeups.end() ? kNever : wakeup->time_ns;
        for (const Beat& b : beats) time_ns = std::min(time_ns, b.next());
        if (time_ns >= until || time_ns == kNever) break;
        unsigned due = 0;
        for (int id = 0; id < kMaxRunners; ++id) {
            if (beats[idx(id)].next() != time_ns) continue;
            beats[idx(id)].take();
            due |= 1U << id;
        }
        while (wakeup != wakeups.end() && wakeup->time_ns <= time_ns) ++wakeup;
        found.emplace_back(time_ns, static_cast<std::uint8_t>(due));
    }
    return found;
}

void Timeline::clear_costs() {
    shared_instants_ = 0;
    hand_in_calls();
    for (Entry& e : entries_) {
        e.calls = 0;
        e.costs.reset();
    }
    for (RunnerState& r : runners_) {
        r.steps = r.shared = r.skipped = r.missed = 0;
        r.costs.reset();
        r.lateness.reset();
    }
}

}  // namespace mainspring::clock
