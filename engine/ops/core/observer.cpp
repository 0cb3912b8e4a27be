#include "engine/ops/core/observer.h"

#include <mutex>

#include "engine/ops/core/front_observer.h"
#include "engine/ops/core/thread_state.h"

namespace tapedeck {

namespace detail {
constinit std::atomic<Observer*> observer{nullptr};
}

namespace {

/// The observer of set_observer, behind the front observers.
constinit std::atomic<Observer*> hindmost{nullptr};
constinit FrontObserver* foremost = nullptr;  // under the mutex
constinit std::mutex chain_mutex;

}  // namespace

void set_observer(Observer* observer) {
  const std::lock_guard lock(chain_mutex);
  hindmost.store(observer, std::memory_order_release);
  if (!foremost) detail::observer.store(observer, std::memory_order_release);
}

void add_front_observer(FrontObserver& front) {
  const std::lock_guard lock(chain_mutex);
  front.behind_.store(foremost, std::memory_order_release);
  foremost = &front;
  detail::observer.store(foremost, std::memory_order_release);
}

void remove_front_observer(FrontObserver& front) {
  const std::lock_guard lock(chain_mutex);
  FrontObserver* before = nullptr;
  for (FrontObserver* each = foremost; each && each != &front; each = each->behind_.load()) before = each;
  if (!before && foremost != &front) return;  // it is not in the chain
  FrontObserver* rest = front.behind_.load();
  if (before)
    before->behind_.store(rest, std::memory_order_release);
  else
    foremost = rest;
  detail::observer.store(foremost ? foremost : hindmost.load(), std::memory_order_release);
}

void forget_observers() {
  // Without the mutex, which another thread may have held when the process forked.
  foremost = nullptr;
  hindmost.store(nullptr);
  detail::observer.store(nullptr);
}

struct FrontObserver::Open {
  FrontObserver* front = nullptr;
  Observer* behind = nullptr;
  const Event* event = nullptr;
  std::uint64_t record = 0;
};

/// This thread's events under front observers that have not ended.
std::vector<FrontObserver::Open>& FrontObserver::open_here() {
  static thread_local std::vector<Open> open;
  return open;
}

Observer* FrontObserver::behind() const {
  FrontObserver* front = behind_.load(std::memory_order_acquire);
  return front ? front : hindmost.load(std::memory_order_acquire);
}

std::uint64_t FrontObserver::begin(const Event& event) {
  Observer* next = behind();
  const std::uint64_t record = next ? next->begin(event) : 0;
  const auto abandon = [&](const char* text) {
    if (next) next->end(record, {}, text);
  };
  try {
    begun(event, record);
    open_here().push_back({this, next, &event, record});
  } catch (const std::exception& error) {
    abandon(error.what());
    throw;
  } catch (...) {
    abandon("an exception of the host language");
    throw;
  }
  return record;
}

void FrontObserver::end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) {
  auto& open = open_here();
  for (std::size_t i = open.size(); i-- > 0;) {
    if (open[i].front != this || open[i].record != record) continue;
    const Open ending = open[i];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
    std::exception_ptr stopped;  // by a gate behind: this observer is called first
    try {
      if (ending.behind) ending.behind->end(record, outputs, error);
    } catch (...) {
      stopped = std::current_exception();
    }
    ended(*ending.event, record, outputs, error);
    if (stopped) std::rethrow_exception(stopped);
    return;
  }
}

void FrontObserver::refused(const Event& event, const char* error) {
  if (Observer* next = behind()) next->refused(event, error);
}
void FrontObserver::leaf(const Tensor& tensor, std::string_view name) {
  if (Observer* next = behind()) next->leaf(tensor, name);
}
void FrontObserver::assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                             std::uint64_t since) {
  if (Observer* next = behind()) next->assigned(tensor, value, variable, since);
}
bool FrontObserver::attends_gradients() const {
  const Observer* next = behind();
  return next && next->attends_gradients();
}
void FrontObserver::finished(const FinishedGradient& gradient) {
  if (Observer* next = behind()) next->finished(gradient);
}
void FrontObserver::left(const Tensor& tensor) {
  if (Observer* next = behind()) next->left(tensor);
}
void FrontObserver::variable_gone(std::uint64_t variable) {
  if (Observer* next = behind()) next->variable_gone(variable);
}
void FrontObserver::taped(std::uint64_t record, std::uint64_t tape) {
  if (Observer* next = behind()) next->taped(record, tape);
}
void FrontObserver::tape_used_up(std::uint64_t tape) {
  if (Observer* next = behind()) next->tape_used_up(tape);
}
void FrontObserver::tape_emptied(std::uint64_t tape) {
  if (Observer* next = behind()) next->tape_emptied(tape);
}

Observer* current_observer() {
  const detail::ThreadState& thread = detail::thread_state;
  if (thread.quiet != 0 || thread.unobserved != 0 || thread.tracer) return nullptr;
  return detail::observer.load(std::memory_order_acquire);
}

UnobservedScope::UnobservedScope() : quiet_(std::exchange(detail::thread_state.quiet, 0)) {
  ++detail::thread_state.unobserved;
}
UnobservedScope::~UnobservedScope() {
  --detail::thread_state.unobserved;
  detail::thread_state.quiet = quiet_;
}

QuietScope::QuietScope() {
  ++detail::thread_state.quiet;
}
QuietScope::~QuietScope() {
  --detail::thread_state.quiet;
}

}  // namespace tapedeck
