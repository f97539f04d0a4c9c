// What a time series is made of: kinds, schemas and the opaque objects that values may be.
//
// The engine never looks inside a Python object. It keeps `Obj*` handles and asks the embedding
// (see `Host`) to retain, release, compare and hash them, so everything here builds and runs
// without Python.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct _object;  // what the embedding's objects are; opaque here

namespace mainspring::graph {

using Obj = _object;
using Time = std::int64_t;  // nanoseconds

inline constexpr Time never = INT64_MIN;
inline constexpr Time forever = INT64_MAX;
inline constexpr std::uint32_t none = UINT32_MAX;

class Out;
class Node;
class Graph;

enum class Kind : std::uint8_t { scalar, bundle, list, dict, set, window, ref, signal };

// How a scalar is stored. Everything that is not one of the unboxed three is an object.
enum class Scalar : std::uint8_t { object, boolean, integer, real };

union Raw {
    bool b;
    std::int64_t i = 0;
    double f;
};

class ObjRef;

// The services an embedding gives the engine. A service that runs user code may throw `HostError`.
struct Host {
    void (*retain)(Obj*) = nullptr;
    void (*release)(Obj*) = nullptr;
    bool (*equal)(Obj*, Obj*) = nullptr;
    std::int64_t (*hash)(Obj*) = nullptr;
    Obj* (*box)(Scalar, Raw) = nullptr;           // a new reference
    Raw (*unbox)(Scalar, Obj*) = nullptr;
    // Objects in a row as one object, a new reference; and the one at a place in it, borrowed. A null
    // one comes back null.
    Obj* (*pack)(const std::vector<ObjRef>&) = nullptr;
    Obj* (*item)(Obj*, std::size_t) = nullptr;
    Obj* (*delta)(Out&, Time) = nullptr;          // the change of this cycle, a new reference
    Obj* (*value)(Out&, Time) = nullptr;          // the whole value, a new reference or null
    void (*apply)(Out&, Obj*, Time) = nullptr;    // apply a delta to an output
    Obj* (*reference)(Out*) = nullptr;            // a reference value to an output
    Out* (*dereference)(Obj*) = nullptr;          // the output a reference points at, or null
    // Called inside a catch block: the current failure as an error value, with the node it came
    // from and how much of the trace to keep. A new reference; clears a pending host error.
    Obj* (*capture)(Node&, int depth, bool values) = nullptr;
};
extern Host host;

// A failure that belongs to the embedding; the details stay with it (a pending Python error).
struct HostError : std::exception {
    const char* what() const noexcept override { return "an error in the embedding"; }
};

// A failure of the engine itself, of the given kind (the embedding maps kinds to its types).
struct EngineError : std::runtime_error {
    enum class What : std::uint8_t { runtime, overflow, zero_division, value, type };
    EngineError(What what, const std::string& message) : std::runtime_error(message), kind(what) {}
    What kind;
};

// Shared ownership of an opaque object.
class ObjRef {
public:
    ObjRef() = default;
    explicit ObjRef(Obj* object) : object_(object) {
        if (object_ != nullptr) host.retain(object_);
    }
    ObjRef(const ObjRef& other) : ObjRef(other.object_) {}
    ObjRef(ObjRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    ObjRef& operator=(ObjRef other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~ObjRef() {
        if (object_ != nullptr) host.release(object_);
    }
    static ObjRef steal(Obj* object) {
        ObjRef ref;
        ref.object_ = object;
        return ref;
    }
    Obj* get() const { return object_; }
    Obj* take() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

private:
    Obj* object_ = nullptr;
};

// The schema of a time series. Schemas are made once, by wiring, and live as long as anything
// that was built from them.
struct TsType {
    Kind kind = Kind::scalar;
    Scalar scalar = Scalar::object;
    ObjRef scalar_type;                            // TS, TSS element, TSD key: the Python type, for checks
    std::vector<std::shared_ptr<const TsType>> children;  // fields; or one element; or REF's target
    std::vector<std::string> names;                // TSB
    std::vector<ObjRef> name_objects;              // the same, as objects of the embedding
    std::vector<bool> hidden_names;                // TSB: is the name a word that every bundle has?
    ObjRef value_class;                            // TSB over a scalar class: what `value` builds
    std::uint32_t size = 0;                        // TSL; 0 for one that grows
    std::int64_t window = 0, window_min = 0;       // TSW: ticks, or nanoseconds
    bool window_is_time = false;

    const TsType& child(std::uint32_t i) const {
        return kind == Kind::bundle ? *children[i] : *children[0];
    }
};
using TypeRef = std::shared_ptr<const TsType>;

// Visits the objects something keeps, for the embedding's cycle collector.
struct Visitor {
    int (*visit)(Obj*, void*);
    void* arg;
    int result = 0;
    void operator()(Obj* object) {
        if (object != nullptr && result == 0) result = visit(object, arg);
    }
};

// What wiring tells a kind of node, shared by all its instances.
struct Plan {
    Plan() = default;
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;
    virtual ~Plan() = default;
    virtual void visit(Visitor&) const {}
};

}  // namespace mainspring::graph
