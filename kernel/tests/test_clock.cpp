// The timeline on its own: exact beats, the order of an instant, wake-ups, budgets, allocation.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "check.hpp"
#include "clock/timeline.hpp"

using namespace mainspring::clock;

namespace {
std::atomic<std::uint64_t> allocations{0};
}

void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

struct TestHost {
    std::vector<std::pair<std::int64_t, std::uint32_t>> calls;
    Timeline* timeline = nullptr;
    std::int64_t wall_ns = 0;
    std::int64_t cost_ns = 0;
    bool record = true;
    bool fail = false;

    bool call(const Slot& slot) {
        if (record) calls.emplace_back(timeline->now(), slot.entry);
        wall_ns += cost_ns;
        return !fail;
    }
    bool begin(std::int64_t) { return true; }
    bool end(std::int64_t) { return true; }
    bool interrupted() const { return false; }
    bool stop_asked() const { return false; }
    std::int64_t wall() const { return wall_ns; }
    bool sleep_until(std::int64_t until) {
        if (wall_ns < until) wall_ns = until;
        return true;
    }
};

Entry make_entry(int runner, int phase, std::int64_t priority) {
    Entry e;
    e.runner = static_cast<std::uint8_t>(runner);
    e.phase = static_cast<std::uint8_t>(phase);
    e.priority = priority;
    e.enabled = true;
    return e;
}

void beats_follow_the_formula() {
    const std::array<std::pair<std::int64_t, std::int64_t>, 7> rates{
        {{50, 1}, {30, 1}, {60, 1}, {2997, 100}, {30000, 1001}, {1'000'000'000, 1}, {1, 7}}};
    for (const auto& [num, den] : rates) {
        Beat beat(num, den, 12345, 0);
        for (std::int64_t k = 0; k < 200'000; ++k) {
            CHECK(beat.next() == beat.at(k));
            beat.take();
            CHECK(beat.index() == k);
            CHECK(beat.dt() == beat.at(k + 1) - beat.at(k));
        }
        // Sought from afar, it goes on as if it had walked there.
        const std::int64_t far = 946'080'000'000;
        Beat sought(num, den, 0, far);
        for (std::int64_t k = far; k < far + 1000; ++k) {
            CHECK(sought.next() == sought.at(k));
            if (sought.next() == kNever) break;
            CHECK(sought.first_at_or_after(sought.next()) == k);
            CHECK(sought.first_at_or_after(sought.next() + 1) == k + 1 || num == 1'000'000'000);
            sought.take();
        }
    }
}

void order_is_phase_priority_registration() {
    Timeline t;
    t.set_runner(0, Beat(50, 1, 0, 0));
    t.set_runner(1, Beat(50, 1, 0, 0));
    const auto a = t.add(make_entry(0, 3, 0));
    const auto b = t.add(make_entry(1, 1, 0));
    const auto c = t.add(make_entry(0, 1, -200));
    const auto d = t.add(make_entry(0, 1, 0));
    TestHost host;
    host.timeline = &t;
    Limits limits;
    limits.instants = 1;
    t.run(limits, host);
    const std::vector<std::pair<std::int64_t, std::uint32_t>> wanted{{0, c}, {0, b}, {0, d}, {0, a}};
    CHECK(host.calls == wanted);
}

void wakeups_run_at_their_place_once() {
    Timeline t;
    t.set_runner(0, Beat(10, 1, 0, 0));
    const auto late = t.add(make_entry(0, 4, 0));
    const auto early = t.add(make_entry(0, 0, 0));
    t.wake(5'000'000, late);
    t.wake(5'000'000, early);
    t.wake(5'000'000, late);
    t.wake(7'000'000, kNoEntry);
    t.wake(100'000'000, late);  // its runner is due there anyway
    TestHost host;
    host.timeline = &t;
    Limits limits;
    limits.until = 100'000'001;
    const Outcome out = t.run(limits, host);
    const std::vector<std::pair<std::int64_t, std::uint32_t>> wanted{
        {0, early}, {0, late}, {5'000'000, early}, {5'000'000, late}, {100'000'000, early}, {100'000'000, late}};
    CHECK(host.calls == wanted);
    CHECK(out.instants == 4);
    CHECK(t.wakeups().empty());
}

void a_budget_stops_before_an_instant_that_does_not_fit() {
    Timeline t;
    t.set_runner(0, Beat(1000, 1, 0, 0));
    t.add(make_entry(0, 1, 0));
    TestHost host;
    host.timeline = &t;
    host.cost_ns = 4'000'000;
    Limits limits;
    limits.until = 100'000'000;
    limits.leave = 100'000'000;
    limits.budget_ns = 10'000'000;
    const Outcome out = t.run(limits, host);
    CHECK(out.ending == Ending::budget);
    CHECK(out.instants == 2);
    CHECK(t.now() == 2'000'000);
    host.cost_ns = 40'000'000;  // one is run however dear it is
    CHECK(t.run(limits, host).instants == 1);
}

void skipping_counts_what_it_jumps_over() {
    Timeline t;
    t.set_runner(0, Beat(50, 1, 0, 0));
    t.add(make_entry(0, 1, 0));
    TestHost host;
    host.timeline = &t;
    Limits limits;
    limits.until = 50'000'000;
    t.run(limits, host);
    t.skip_to(1'000'000'000);
    CHECK(t.runner(0).skipped == 47);
    CHECK(t.next_instant() == 1'000'000'000);
    CHECK(t.runner(0).beat.index() == 49);
}

void an_instant_allocates_nothing() {
    Timeline t;
    t.set_runner(0, Beat(50, 1, 0, 0));
    t.set_runner(1, Beat(30, 1, 0, 0));
    for (int i = 0; i < 7; ++i) t.add(make_entry(0, i % 5, i));
    for (int i = 0; i < 2; ++i) t.add(make_entry(1, i, i));
    TestHost host;
    host.timeline = &t;
    host.record = false;
    Limits limits;
    limits.until = 10'000'000'000;
    t.run(limits, host);
    const std::uint64_t before = allocations;
    limits.until = 1'000'000'000'000;
    const Outcome out = t.run(limits, host);
    CHECK(out.instants == 69'300);
    CHECK(allocations == before);
}

void a_removed_entry_leaves_nothing_to_whoever_gets_its_index() {
    Timeline t;
    t.set_runner(0, Beat(50, 1, 0, 0));
    const auto first = t.add(make_entry(0, 1, 0));
    const auto second = t.add(make_entry(0, 1, 0));
    TestHost host;
    host.timeline = &t;
    Limits limits;
    limits.instants = 3;
    t.run(limits, host);
    t.wake(50'000'000, first);
    t.remove(first);
    const auto third = t.add(make_entry(0, 1, 0));
    CHECK(third == first);
    CHECK(t.entry_count() == 2);
    CHECK(t.entry(third).calls == 0);
    host.calls.clear();
    limits.instants = 2;  // at 50 ms what `first` asked for, at 60 ms the runner
    t.run(limits, host);
    const std::vector<std::pair<std::int64_t, std::uint32_t>> wanted{{60'000'000, second}, {60'000'000, third}};
    CHECK(host.calls == wanted);
    CHECK(t.entry(second).calls == 4 && t.entry(third).calls == 1);
}

void a_paced_run_waits_for_the_end_of_its_frame() {
    Timeline t;
    t.set_runner(0, Beat(50, 1, 0, 0));
    t.add(make_entry(0, 1, 0));
    TestHost host;
    host.timeline = &t;
    Limits limits;
    limits.until = limits.leave = 35'000'000;
    limits.paced = true;
    limits.wall_anchor = 1'000'000'000;
    t.run(limits, host);
    CHECK(t.now() == 35'000'000);
    CHECK(host.wall_ns == 1'035'000'000);
}

void costs_keep_their_percentiles() {
    Costs costs;
    for (std::int64_t ns = 1; ns <= 1000; ++ns) costs.add(ns);
    CHECK(costs.count() == 1000);
    CHECK(costs.max() == 1000);
    CHECK(costs.quantile(0.5) >= 500 && costs.quantile(0.5) <= 563);
    CHECK(costs.quantile(0.99) >= 990 && costs.quantile(0.99) <= 1000);
}

}  // namespace

int main() {
    beats_follow_the_formula();
    order_is_phase_priority_registration();
    wakeups_run_at_their_place_once();
    a_budget_stops_before_an_instant_that_does_not_fit();
    skipping_counts_what_it_jumps_over();
    an_instant_allocates_nothing();
    a_removed_entry_leaves_nothing_to_whoever_gets_its_index();
    a_paced_run_waits_for_the_end_of_its_frame();
    costs_keep_their_percentiles();
    return 0;
}
