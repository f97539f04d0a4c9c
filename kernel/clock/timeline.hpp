// The one timeline: runners, wake-ups, and what runs at an instant in which order.
//
// The engine holds no Python object and has no policy. Who calls it supplies a Host, which
// knows how to call an entry, drain the inbox, watch, read the wall clock and sleep. The order
// of an instant is written down in docs/concepts/instant.md; its labels (I1 to I7) stand here.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "clock/beat.hpp"
#include "clock/costs.hpp"

namespace mainspring::clock {

inline constexpr int kMaxRunners = 8;
inline constexpr int kPhases = 5;
inline constexpr std::uint32_t kNoEntry = 0xffffffffU;

/// A registration: what is called, when and where among the others.
struct Entry {
    void* user = nullptr;       ///< the host's own; never looked into here
    std::int64_t priority = 0;  ///< lower runs first within a phase
    std::uint8_t runner = 0;
    std::uint8_t phase = 0;
    bool enabled = false;
    bool live = false;
    std::uint64_t order = 0;       ///< which registration it is, of all there ever were
    std::uint64_t calls = 0;       ///< without those a plan has still to hand in
    std::unique_ptr<Costs> costs;  ///< absent until the first measured call
};

/// One place in a plan.
struct Slot {
    void* user;
    std::uint32_t entry;
    std::uint8_t runner;
    std::uint8_t phase;
};

struct Wakeup {
    std::int64_t time_ns;
    std::uint64_t order;
    std::uint32_t entry;  ///< kNoEntry: an instant with nothing of its own to run
    /// order: time, then the order in which they were asked for
    [[nodiscard]] bool later_than(const Wakeup& other) const noexcept {
        return time_ns != other.time_ns ? time_ns > other.time_ns : order > other.order;
    }
};

struct RunnerState {
    Beat beat;
    bool live = false;
    std::uint64_t steps = 0;
    std::uint64_t shared = 0;   ///< of the steps, those another runner shared
    std::uint64_t skipped = 0;  ///< boundaries jumped over
    std::uint64_t missed = 0;   ///< steps begun after their next boundary was due
    std::unique_ptr<Costs> costs;
    std::unique_ptr<Costs> lateness;
};

/// How far a call to `run` may go. Every limit that is not wanted is left at its default.
struct Limits {
    std::int64_t until = kNever;          ///< run instants before this time
    std::int64_t leave = -1;              ///< where `now` ends when `until` was reached
    std::uint64_t instants = UINT64_MAX;  ///< run this many
    int runner = -1;                      ///< with `steps`: stop after this runner's steps
    std::uint64_t steps = 0;
    std::int64_t budget_ns = kNever;  ///< of wall time, judged before an instant is begun
    bool paced = false;               ///< wait for each instant's wall time
    std::int64_t wall_anchor = 0;     ///< paced: the wall time of ...
    std::int64_t sim_anchor = 0;      ///< ... this sim time
    std::uint32_t measure_every = 1;  ///< measure one instant in this many; 0 for none
};

enum class Ending : std::uint8_t { reached, counted, budget, interrupted, stopped, failed };

struct Outcome {
    Ending ending = Ending::reached;
    std::uint64_t instants = 0;
    std::int64_t used_ns = 0;  ///< wall time spent inside instants, when a budget was given
    std::uint32_t failed_entry = kNoEntry;
};

class Timeline {
public:
    // -- runners ------------------------------------------------------------------------
    void set_runner(int id, const Beat& beat);
    void clear_runner(int id);
    [[nodiscard]] const RunnerState& runner(int id) const noexcept { return runners_[idx(id)]; }

    // -- entries ------------------------------------------------------------------------
    /// The index of the new entry; that of a removed one is given again.
    std::uint32_t add(Entry entry);
    void place(std::uint32_t entry, int runner, int phase, std::int64_t priority);
    void enable(std::uint32_t entry, bool enabled);
    void remove(std::uint32_t entry);
    /// The entry with every call counted, up to the last instant.
    [[nodiscard]] const Entry& entry(std::uint32_t index) noexcept {
        hand_in_calls();
        return entries_[index];
    }
    [[nodiscard]] std::size_t entry_count() const noexcept { return entries_.size(); }
    /// Every live entry, enabled or not, in the order of a step in which all runners are due.
    [[nodiscard]] std::vector<std::uint32_t> order() const;

    // -- wake-ups -----------------------------------------------------------------------
    void wake(std::int64_t time_ns, std::uint32_t entry);
    [[nodiscard]] const std::vector<Wakeup>& wakeups() const noexcept { return wakeups_; }
    void set_wakeups(std::vector<Wakeup> wakeups);

    // -- time ---------------------------------------------------------------------------
    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    void set_now(std::int64_t now_ns) noexcept { now_ = now_ns; }
    /// The time of the last instant that ran; -1 before the first.
    [[nodiscard]] std::int64_t last_instant() const noexcept { return last_instant_; }
    void set_last_instant(std::int64_t time_ns) noexcept { last_instant_ = time_ns; }
    [[nodiscard]] std::uint64_t instants() const noexcept { return instants_; }
    void set_instants(std::uint64_t count) noexcept { instants_ = count; }
    /// Of the instants, those with two or more runners.
    [[nodiscard]] std::uint64_t shared_instants() const noexcept { return shared_instants_; }
    [[nodiscard]] bool inside() const noexcept { return inside_; }
    [[nodiscard]] int current_runner() const noexcept { return current_runner_; }
    /// The least pending boundary or wake-up.
    [[nodiscard]] std::int64_t next_instant() const noexcept { return coming().time_ns; }
    /// Jumps to `time_ns` without running what lies between, and counts it.
    void skip_to(std::int64_t time_ns);
    /// The instants before `until`, at most `most` of them, as (time, due runners); runs nothing.
    [[nodiscard]] std::vector<std::pair<std::int64_t, std::uint8_t>> preview(std::int64_t until,
                                                                             std::size_t most) const;

    void clear_costs();

    template <class Host>
    Outcome run(const Limits& limits, Host& host);

private:
    struct Plan {
        bool fresh = false;
        std::vector<Slot> slots;
        std::uint64_t runs = 0;     ///< whole runs whose calls the entries have not counted yet
        double predicted_ns = 0.0;  ///< a running mean of what an instant with this plan costs
        bool measured = false;
    };

    static std::size_t idx(int id) noexcept { return static_cast<std::size_t>(id); }
    void refresh() noexcept { stale_ = true; }
    [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept;
    [[nodiscard]] Slot slot(std::uint32_t entry) const noexcept {
        const Entry& e = entries_[entry];
        return Slot{e.user, entry, e.runner, e.phase};
    }
    Plan& plan_for(unsigned due) {
        Plan& plan = plans_[due];
        if (stale_ || !plan.fresh) make_plan(plan, due);
        return plan;
    }
    void make_plan(Plan& plan, unsigned due);
    const std::vector<Slot>& with_woken(const Plan& plan, std::int64_t time_ns, unsigned due);
    /// The next instant, and the runners whose boundary it is.
    struct Coming {
        std::int64_t time_ns;
        unsigned due;
    };
    [[nodiscard]] Coming coming() const noexcept {
        Coming next{kNever, 0};
        for (std::size_t id = 0; id < in_use_; ++id) {
            const unsigned shared = next_[id] == next.time_ns ? next.due : 0;
            if (next_[id] <= next.time_ns) next = {next_[id], shared | 1U << id};
        }
        if (!wakeups_.empty() && wakeups_.front().time_ns < next.time_ns) next = {wakeups_.front().time_ns, 0};
        return next;
    }
    void take(unsigned due) noexcept {
        const std::uint64_t shared = (due & (due - 1)) != 0 ? 1 : 0;
        shared_instants_ += shared;
        for (unsigned rest = due; rest != 0; rest &= rest - 1) {
            const auto id = static_cast<std::size_t>(std::countr_zero(rest));
            RunnerState& r = runners_[id];
            r.beat.take();
            next_[id] = r.beat.next();
            ++r.steps;
            r.shared += shared;
        }
        due_ = static_cast<std::uint8_t>(due);
    }
    void note_next() noexcept;
    void note_lateness(std::uint8_t due, std::int64_t late_ns);

    void hand_in_calls() noexcept;
    /// Calls in order until one fails; how many did not.
    template <bool Measured, class Host>
    std::size_t call_all(const std::vector<Slot>& slots, Host& host);

    std::array<RunnerState, kMaxRunners> runners_{};
    // Each runner's next boundary, side by side: every instant looks at them all.
    std::array<std::int64_t, kMaxRunners> next_{};
    std::size_t in_use_ = 0;  ///< one more than the greatest id of a live runner
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> vacant_;  // of the entries, those that were removed
    std::uint64_t registered_ = 0;
    std::array<Plan, 256> plans_{};
    std::vector<Wakeup> wakeups_;  // a heap, earliest first
    std::vector<std::uint32_t> woken_;
    std::vector<Slot> merged_;
    std::uint64_t wakeup_order_ = 0;
    std::int64_t now_ = 0;
    std::int64_t last_instant_ = -1;
    std::uint64_t instants_ = 0;
    std::uint64_t shared_instants_ = 0;
    int current_runner_ = -1;
    std::uint8_t due_ = 0;
    bool inside_ = false;
    bool stale_ = true;
};

// ---------------------------------------------------------------------------------------

template <bool Measured, class Host>
std::size_t Timeline::call_all(const std::vector<Slot>& slots, Host& host) {
    // order: phase, priority, registration
    std::int64_t mark = 0;
    if constexpr (Measured) mark = host.wall();
    const Slot* const begin = slots.data();
    const Slot* const end = begin + slots.size();
    for (const Slot* s = begin; s != end; ++s) {
        current_runner_ = s->runner;
        const bool ok = host.call(*s);
        if constexpr (Measured) {
            const std::int64_t called = host.wall();
            auto& costs = entries_[s->entry].costs;
            if (!costs) costs = std::make_unique<Costs>();
            costs->add(called - mark);
            mark = called;
        }
        if (!ok) return static_cast<std::size_t>(s - begin);
    }
    return slots.size();
}

template <class Host>
Outcome Timeline::run(const Limits& limits, Host& host) {
    Outcome out;
    const bool budgeted = limits.budget_ns != kNever;
    const std::uint64_t first_steps = limits.runner >= 0 ? runner(limits.runner).steps : 0;
    std::uint32_t until_measured = limits.measure_every == 0 ? UINT32_MAX : 1;

    // Nothing more before `place`. A paced run waits for it: `now` is never ahead of the wall clock.
    const auto leave = [&](Ending ending, std::int64_t place) {
        if (limits.paced && !host.sleep_until(limits.wall_anchor + (place - limits.sim_anchor)))
            ending = Ending::interrupted;
        else
            now_ = std::max(now_, place);
        out.ending = ending;
        return out;
    };

    for (;;) {
        if (out.instants >= limits.instants) { out.ending = Ending::counted; return out; }
        // I1: the least pending boundary or wake-up
        const auto [time_ns, due] = coming();
        if (time_ns >= limits.until || time_ns == kNever) break;

        if (host.interrupted()) { out.ending = Ending::interrupted; return out; }
        if (budgeted && out.instants > 0) {
            const double predicted = plans_[due].predicted_ns;
            if (static_cast<double>(out.used_ns) + predicted > static_cast<double>(limits.budget_ns)) {
                return leave(Ending::budget, time_ns);
            }
        }
        std::int64_t late_ns = -1;
        if (limits.paced) {
            const std::int64_t wanted = limits.wall_anchor + (time_ns - limits.sim_anchor);
            if (!host.sleep_until(wanted)) { out.ending = Ending::interrupted; return out; }
            late_ns = host.wall() - wanted;
        }

        const bool measured = budgeted || --until_measured == 0;
        if (measured) until_measured = limits.measure_every == 0 ? UINT32_MAX : limits.measure_every;
        const std::int64_t begun = measured ? host.wall() : 0;

        now_ = time_ns;
        inside_ = true;                              // I2
        bool ok = host.begin(time_ns);               // I3
        due_ = 0;
        if (ok) {
            take(due);  // I4
            Plan& plan = plan_for(due);
            const bool woken = !wakeups_.empty() && wakeups_.front().time_ns <= time_ns;
            const std::vector<Slot>& slots = woken ? with_woken(plan, time_ns, due) : plan.slots;
            const std::size_t called = measured ? call_all<true>(slots, host)  // I5
                                                : call_all<false>(slots, host);
            current_runner_ = -1;
            ok = called == slots.size();
            if (ok && !woken) {
                ++plan.runs;
            } else {
                if (!ok) out.failed_entry = slots[called].entry;
                for (std::size_t i = 0; i < called + (ok ? 0 : 1); ++i) ++entries_[slots[i].entry].calls;
            }
            if (measured && ok) {
                const auto cost = static_cast<double>(host.wall() - begun);
                plan.predicted_ns = plan.measured ? plan.predicted_ns + (cost - plan.predicted_ns) * 0.125 : cost;
                plan.measured = true;
            }
        }
        last_instant_ = time_ns;
        if (ok) {
            ++instants_;
            ++out.instants;
            ok = host.end(time_ns);  // I6 and I7: changes, then observers
        }
        inside_ = false;
        if (late_ns >= 0) note_lateness(due_, late_ns);
        if (measured) {
            const std::int64_t end = host.wall();
            out.used_ns += end - begun;
            for (int id = 0; id < kMaxRunners; ++id) {
                if ((due_ & (1U << id)) == 0) continue;
                auto& costs = runners_[idx(id)].costs;
                if (!costs) costs = std::make_unique<Costs>();
                costs->add(end - begun);
            }
        }
        if (!ok) { out.ending = Ending::failed; return out; }
        if (host.stop_asked()) { out.ending = Ending::stopped; return out; }
        if (limits.runner >= 0) {
            const RunnerState& counted = runner(limits.runner);
            // Removed, or replaced by another of the same id: its steps are never going to come.
            if (!counted.live || counted.steps < first_steps) { out.ending = Ending::stopped; return out; }
            if (counted.steps - first_steps >= limits.steps) { out.ending = Ending::counted; return out; }
        }
    }
    return leave(Ending::reached, std::max(now_, limits.leave));
}

}  // namespace mainspring::clock
