#include "engine/tape/variable.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <unordered_map>

#include "engine/ops/core/alias.h"
#include "engine/ops/core/floating.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/programs_work.h"
#include "engine/tape/tape_state.h"
#include "engine/tape/tape_tracer.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck {

struct Variable::Body {
  Body() = default;
  Body(const Body&) = delete;
  ~Body();
  mutable std::mutex mutex;
  Tensor value;  // under the mutex; the rest never changes
  std::string name;
  DType dtype{};
  Device device;
  Shape shape;  ///< the first value's
  std::optional<OpenShape> open;
  bool trainable = true;
  bool of_program = true;  ///< not made by code that the debugger runs
  std::uint64_t id = 0;
  std::atomic<const std::string*> shown = nullptr;  ///< lives as long as the process; nullptr: the name

  const std::string& shown_name() const {
    const std::string* other = shown.load(std::memory_order_acquire);
    return other ? *other : name;
  }
};

struct Variable::Living {
  static Living& all() {
    static Living* living = new Living;  // never destroyed: variables may be destroyed later
    return *living;
  }
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::weak_ptr<Body>> bodies;
};

Variable::Body::~Body() {
  {
    Living& living = Living::all();
    const std::lock_guard lock(living.mutex);
    living.bodies.erase(id);
  }
  if (!of_program) return;
  if (Observer* observer = detail::observer.load(std::memory_order_acquire)) observer->variable_gone(id);
}

namespace {

/// A separate tensor, so that no gradient flows from reads to the assigned value.
Tensor leaf_of(const Tensor& value, const std::string& name) {
  Tensor leaf = detail::alias(value);
  if (Observer* observer = current_observer()) observer->leaf(leaf, name);
  return leaf;
}

/// Inside a FloatingScope variables have its dtype.
Tensor in_scope_dtype(const Tensor& value) {
  return detail::converted(value, floating_dtype(value.dtype()));
}

/// Called after the variable has the value, without a lock: the observer may wait while the variable is read
/// and assigned.
void tell_assigned(const Tensor& leaf, const Tensor& value, std::uint64_t variable, std::uint64_t since) {
  if (Observer* observer = current_observer()) observer->assigned(leaf, value, variable, since);
}

/// Names live as long as the process: another thread may be passing one to an observer.
const std::string* kept_name(const std::string& name) {
  static auto* const names = new std::set<std::string>;
  static auto* const mutex = new std::mutex;
  const std::lock_guard lock(*mutex);
  return &*names->insert(name).first;
}

}  // namespace

bool OpenShape::allows(const Shape& shape) const {
  if (!extents) return true;
  if (extents->size() != static_cast<std::size_t>(shape.rank())) return false;
  return std::equal(
      extents->begin(), extents->end(), shape.begin(),
      [](std::int64_t wanted, std::int64_t extent) { return wanted == any || wanted == extent; });
}

std::string OpenShape::text() const {
  if (!extents) return "<unknown>";
  std::string text = "(";
  for (std::size_t i = 0; i < extents->size(); ++i)
    text += (i == 0 ? "" : ", ") + ((*extents)[i] == any ? "None" : std::to_string((*extents)[i]));
  return text + (extents->size() == 1 ? ",)" : ")");
}

Variable::Variable(const Tensor& initial, std::string name, bool trainable, std::optional<OpenShape> open)
    : body_(std::make_shared<Body>()) {
  static std::atomic<std::uint64_t> last_id{0};
  if (!initial) fail<InvalidArgumentError>("Variable ", name, ": its initial value is undefined");
  if (initial.is_symbolic())
    fail<InvalidArgumentError>("Variable ", name.empty() ? "Variable" : name,
                               ": its initial value belongs to a graph function that is being traced");
  body_->name = (name.empty() ? "Variable" : std::move(name)) + ":0";
  body_->dtype = initial.dtype();
  body_->device = initial.device();
  body_->shape = initial.shape();
  body_->open = std::move(open);
  body_->trainable = trainable;
  body_->of_program = is_programs_work();
  body_->id = last_id.fetch_add(1, std::memory_order_relaxed) + 1;
  const Tensor leaf = leaf_of(in_scope_dtype(initial), body_->name);
  body_->value = leaf;
  Living& living = Living::all();
  {
    const std::lock_guard lock(living.mutex);
    living.bodies.emplace(body_->id, body_);
  }
  tell_assigned(leaf, initial, body_->id, initial.id());
}

std::optional<Variable> Variable::find(std::uint64_t id) {
  Living& living = Living::all();
  std::shared_ptr<Body> body;
  {
    const std::lock_guard lock(living.mutex);
    if (const auto found = living.bodies.find(id); found != living.bodies.end()) body = found->second.lock();
  }
  return body ? std::optional(Variable(std::move(body))) : std::nullopt;
}

Tensor Variable::read() const {
  TapeTracer* tracer = current_tape_tracer();
  Tensor value = tracer ? tracer->read(*this) : peek();
  const detail::ThreadState& thread = detail::thread_state;
  if (thread.recording != 0 && thread.quiet == 0)
    for (const auto& tape : detail::TapeStack::if_any()->tapes)
      if (tape->records() && ((tape->watch_accessed_variables && body_->trainable) || tape->watches(*this)))
        tape->watch(*this, value);
  return value;
}

Tensor Variable::peek() const {
  std::lock_guard lock(body_->mutex);
  return body_->value;
}

void Variable::check_replacement(const Tensor& value, const Tensor& before) const {
  if (!value) fail<InvalidArgumentError>("assign to ", body_->name, ": the value is undefined");
  if (value.dtype() != body_->dtype && !interchangeable(value.dtype(), body_->dtype))
    fail<InvalidArgumentError>("assign to ", body_->name, ": the variable has dtype ",
                               dtype_name(body_->dtype), ", the value ", dtype_name(value.dtype()));
  const bool keeps = !body_->open || before;
  const Shape& kept = before ? before.shape() : body_->shape;
  if (const UnknownShape unknown = unknown_of(value)) {  // each run checks it
    if (!keeps || is_compatible(value.shape(), unknown, kept, before ? unknown_of(before) : UnknownShape{}))
      return;
  } else if (before && unknown_of(before)) {
    if (is_compatible(value.shape(), {}, kept, unknown_of(before))) return;
  }
  if (keeps ? value.shape() != kept : !body_->open->allows(value.shape()))
    fail<InvalidArgumentError>("assign to ", body_->name, ": the variable has shape ",
                               keeps ? to_string(kept) : body_->open->text(), ", the value ",
                               shape_text(value));
}

Tensor Variable::replacement(const Tensor& value, const Tensor& before) const {
  check_replacement(value, before);
  if (value.is_symbolic())
    fail<InvalidArgumentError>("assign to ", body_->name,
                               ": the value belongs to the trace of a graph function; it has no elements");
  return leaf_of(ops::copy_to(in_scope_dtype(value), body_->device), body_->shown_name());
}

void Variable::assign(const Tensor& value) {
  if (TapeTracer* tracer = current_tape_tracer()) [[unlikely]] {
    check_replacement(value, {});
    return tracer->assign(*this, value);
  }
  const Tensor leaf = replacement(value);
  {
    Tensor replaced = leaf;  // the old value is released after the lock
    const std::lock_guard lock(body_->mutex);
    std::swap(body_->value, replaced);
  }
  tell_assigned(leaf, value, body_->id, value.id());
}

void Variable::put_back(const Tensor& value) {
  Tensor replaced = value;  // the old value is released after the lock
  const std::lock_guard lock(body_->mutex);
  std::swap(body_->value, replaced);
}

void Variable::update(const std::function<Tensor(const Tensor&)>& change) {
  if (TapeTracer* tracer = current_tape_tracer()) [[unlikely]] {
    const Tensor before = tracer->read(*this);
    const Tensor value = change(before);
    check_replacement(value, before);
    return tracer->assign(*this, value);
  }
  for (;;) {
    const Tensor before = peek();
    const std::uint64_t since = detail::newest_tensor_id();
    const Tensor value = change(before);
    const Tensor leaf = replacement(value, before);
    {
      Tensor replaced = leaf;
      const std::lock_guard lock(body_->mutex);
      if (!body_->value.same_body(before)) continue;
      std::swap(body_->value, replaced);
    }
    return tell_assigned(leaf, value, body_->id, since);
  }
}

void Variable::exchange(std::span<const Variable> variables, const std::function<Tensors(Tensors&)>& change) {
  boost::container::small_vector<Body*, 8> order;
  for (const Variable& variable : variables) order.push_back(variable.body_.get());
  std::sort(order.begin(), order.end(), [](const Body* a, const Body* b) { return a->id < b->id; });
  if (const auto twice = std::adjacent_find(order.begin(), order.end()); twice != order.end())
    fail<InvalidArgumentError>("update: variable ", (*twice)->name, " occurs twice");
  if (TapeTracer* tracer = current_tape_tracer()) [[unlikely]] {
    Tensors before;
    for (const Variable& variable : variables) before.push_back(tracer->read(variable));
    const Tensors after = change(before);
    for (std::size_t i = 0; i < variables.size(); ++i) tracer->assign(variables[i], after[i]);
    return;
  }
  Tensors values, results, leaves;  // dropped values are released after the locks
  {
    boost::container::small_vector<std::unique_lock<std::mutex>, 8> locks;
    for (Body* body : order) locks.emplace_back(body->mutex);
    for (const Variable& variable : variables) values.push_back(std::move(variable.body_->value));
    try {
      results = change(values);
      for (std::size_t i = 0; i < variables.size(); ++i)
        if (results[i].device() != variables[i].body_->device)
          results[i] = ops::copy_to(results[i], variables[i].body_->device);
    } catch (...) {
      for (std::size_t i = 0; i < variables.size(); ++i) variables[i].body_->value = std::move(values[i]);
      throw;
    }
    const bool is_watched = current_observer() != nullptr;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      Body& body = *variables[i].body_;
      leaves.push_back(is_watched ? leaf_of(results[i], body.shown_name()) : std::move(results[i]));
      body.value = leaves[i];
    }
    if (!is_watched) return;
  }
  for (std::size_t i = 0; i < variables.size(); ++i)
    tell_assigned(leaves[i], results[i], variables[i].body_->id, results[i].id());
}

const std::string& Variable::name() const {
  return body_->name;
}
void Variable::show_as(const std::string& name) {
  body_->shown.store(name.empty() ? nullptr : kept_name(name), std::memory_order_release);
  const Tensor value = peek();
  if (Observer* observer = current_observer()) observer->leaf(value, body_->shown_name());
}
DType Variable::dtype() const {
  return body_->dtype;
}
Device Variable::device() const {
  return body_->device;
}
Shape Variable::shape() const {
  return body_->open ? peek().shape() : body_->shape;
}
const std::optional<OpenShape>& Variable::open_shape() const {
  return body_->open;
}
bool Variable::trainable() const {
  return body_->trainable;
}
std::uint64_t Variable::id() const {
  return body_->id;
}

}  // namespace tapedeck
