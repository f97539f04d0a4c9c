// The inbox on its own: order within a thread, nothing lost or doubled, bounds, waits that end.
#include <cstdint>
#include <thread>
#include <vector>

#include "check.hpp"
#include "inbox/inbox.hpp"

using mainspring::inbox::Inbox;

namespace {

void nothing_is_lost_or_doubled() {
    constexpr std::uintptr_t kThreads = 4;
    constexpr std::uintptr_t kEach = 20'000;
    Inbox inbox(1'000'000);
    std::vector<std::thread> threads;
    for (std::uintptr_t t = 0; t < kThreads; ++t)
        threads.emplace_back([&inbox, t] {
            for (std::uintptr_t i = 1; i <= kEach; ++i)
                CHECK(inbox.put(reinterpret_cast<void*>(t * kEach + i)));
        });
    std::vector<std::uintptr_t> last(kThreads, 0);
    std::vector<void*> taken;
    std::size_t seen = 0;
    while (seen < kThreads * kEach) {
        inbox.wait_until(INT64_MAX);
        inbox.drain(taken);
        for (void* item : taken) {
            const auto value = reinterpret_cast<std::uintptr_t>(item) - 1;
            CHECK(value % kEach == last[value / kEach]);
            ++last[value / kEach];
        }
        seen += taken.size();
    }
    for (std::thread& t : threads) t.join();
    CHECK(inbox.pending() == 0);
}

void a_full_inbox_refuses() {
    Inbox inbox(2);
    int item = 0;
    CHECK(inbox.put(&item));
    CHECK(inbox.put(&item));
    CHECK(!inbox.put(&item));
    CHECK(inbox.pending() == 2);
}

void a_wait_ends_at_its_deadline_and_when_woken() {
    Inbox inbox(2);
    CHECK(!inbox.wait_until(0));
    std::atomic<bool> ended{false};
    std::thread waiter([&] {
        inbox.wait_until(INT64_MAX);
        ended = true;
    });
    while (!ended) inbox.wake();
    waiter.join();
}

}  // namespace

int main() {
    nothing_is_lost_or_doubled();
    a_full_inbox_refuses();
    a_wait_ends_at_its_deadline_and_when_woken();
    return 0;
}
