// Which thread am I on: the id of the main thread, and what each thread declared itself to be.
//
// No policy: what a context may do is a table in Python. What is here is read by checks that
// stand in front of every change of a scene, so it is one thread-local byte and one compare.
#pragma once

#include <atomic>
#include <cstdint>

namespace mainspring::threads {

/// One bit a context, so that "any of these" is one `&`. Zero is a thread nobody declared.
using ContextMask = std::uint8_t;

/// The bit of the main thread; the others are declared by whoever starts a thread.
inline constexpr ContextMask kMain = 1;

/// The bit of a thread that drains submitted work, while it does.
inline constexpr ContextMask kRender = 32;

/// Zero until start-up: no thread has this id, so every comparison answers "no" before it.
inline std::atomic<unsigned long> main_ident{0};

/// Reached without a call, though this is a library that is loaded late: one byte fits what the
/// loader keeps for such variables.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local ContextMask declared = 0;

[[nodiscard]] inline bool is_main(unsigned long ident) noexcept {
    return main_ident.load(std::memory_order_relaxed) == ident;
}

/// What the calling thread is: what it declared, and the main bit where it is the main thread.
[[nodiscard]] inline ContextMask current(unsigned long ident) noexcept {
    return static_cast<ContextMask>(declared | (is_main(ident) ? kMain : 0));
}

}  // namespace mainspring::threads
