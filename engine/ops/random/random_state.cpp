#include "engine/ops/random/random_state.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>

#include "engine/ops/core/checks.h"
#include "engine/ops/core/tracer.h"

namespace tapedeck {
namespace {

/// SplitMix64's mixing function (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::uint64_t entropy() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

constexpr std::uint64_t missing_global_seed = 0x7461706564656B;

struct State : RandomState {
  State() { chosen_by_nobody = entropy(); }
  std::mutex mutex;

  std::uint64_t key(std::optional<std::int64_t> op_seed) const {
    if (!op_seed) return global ? mix(~static_cast<std::uint64_t>(*global)) : chosen_by_nobody;
    return mix(mix(global ? mix(static_cast<std::uint64_t>(*global)) : missing_global_seed) +
               static_cast<std::uint64_t>(*op_seed));
  }
};

State& all_sequences() {
  static State* instance = new State;  // never destroyed: ops may run while the process ends
  return *instance;
}

thread_local constinit bool copies = false;  ///< a RandomCopyScope is open
thread_local std::unique_ptr<State> copy_here;

State& sequences_here() {
  if (!copies) return all_sequences();
  if (!copy_here) {
    auto copy = std::make_unique<State>();
    State& all = all_sequences();
    const std::lock_guard lock(all.mutex);
    static_cast<RandomState&>(*copy) = all;
    copy_here = std::move(copy);
  }
  return *copy_here;
}

thread_local std::optional<std::pair<std::int64_t, std::int64_t>> random_place;

/// An upper bound of the number of values drawn; nullopt if the shape rule will reject the call.
std::optional<std::int64_t> values_drawn(const OpDef& op, const std::vector<Attribute>& attributes,
                                         std::span<const Tensor> inputs) {
  std::int64_t count = 1;
  for (const Tensor& input : inputs)
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(1, input.count()), &count)) return {};
  for (const AttributeName name : {AttributeName("shape"), AttributeName("num_samples")}) {
    const auto at = op.find_place(name);
    if (!at) continue;
    const Attribute& value = attributes[*at];
    if (!std::holds_alternative<std::int64_t>(value) &&
        !std::holds_alternative<std::vector<std::int64_t>>(value))
      return {};
    for (const std::int64_t extent : ops::integers_of(value))
      if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return {};
  }
  // An op with inputs starts a block per value.
  if (!inputs.empty() && __builtin_mul_overflow(count, std::int64_t{2}, &count)) return {};
  return count;
}

}  // namespace

RandomCopyScope::RandomCopyScope() {
  copies = true;
}
RandomCopyScope::~RandomCopyScope() {
  copies = false;
  copy_here.reset();
}

void set_random_seed(std::optional<std::int64_t> seed) {
  State& s = sequences_here();
  const std::lock_guard lock(s.mutex);
  s.global = seed;
  s.shared_counter = 0;
  s.counters.clear();
  if (!seed) s.chosen_by_nobody = entropy();
}

RandomState random_state() {
  State& s = sequences_here();
  const std::lock_guard lock(s.mutex);
  return s;
}

void set_random_state(const RandomState& state) {
  State& s = sequences_here();
  const std::lock_guard lock(s.mutex);
  static_cast<RandomState&>(s) = state;
}

std::pair<std::int64_t, std::int64_t> next_random_key(std::optional<std::int64_t> op_seed,
                                                      std::int64_t count) {
  State& s = sequences_here();
  const std::lock_guard lock(s.mutex);
  const std::uint64_t key = s.key(op_seed);
  std::uint64_t& counter = op_seed ? s.counters[*op_seed] : s.shared_counter;
  const std::uint64_t first = counter;
  counter += (static_cast<std::uint64_t>(std::max<std::int64_t>(0, count)) + 1) / 2 +
             1;  // a block holds 2 or 4 values
  return {static_cast<std::int64_t>(key), static_cast<std::int64_t>(first)};
}

std::int64_t random_key(std::optional<std::int64_t> op_seed) {
  State& s = sequences_here();
  const std::lock_guard lock(s.mutex);
  return static_cast<std::int64_t>(s.key(op_seed));
}

namespace {

/// Differs from draw to draw, so that a VJP that repeats one is known to.
std::int64_t next_traced_draw() {
  thread_local std::int64_t draws = 0;
  return drawn_when_run + draws++;
}

}  // namespace

void set_random_place(std::optional<std::pair<std::int64_t, std::int64_t>> place) {
  random_place = place;
}

void resolve_random(const OpDef& op, std::vector<Attribute>& attributes, std::span<const Tensor> inputs) {
  const auto key = op.find_place("key");
  const auto counter = op.find_place("counter");
  const auto seed = op.find_place("seed");
  if (!key || !counter || !seed) return;
  if (attributes.empty())
    for (const AttributeSpec& spec : op.attributes) attributes.push_back(spec.fallback);
  if (attributes.size() != op.attributes.size())
    fail<InvalidArgumentError>(op.name, ": takes ", op.attributes.size(), " attributes, got ",
                               attributes.size());
  const auto is_none = [&](std::size_t i) { return std::holds_alternative<std::monostate>(attributes[i]); };
  if (!is_none(*key) && !is_none(*counter)) return;
  std::optional<std::int64_t> op_seed;
  if (const auto* value = std::get_if<std::int64_t>(&attributes[*seed])) op_seed = *value;
  const std::optional<std::int64_t> count = values_drawn(op, attributes, inputs);
  const auto [next_key, next_counter] = random_place       ? *random_place
                                        : current_tracer() ? std::pair{std::int64_t{0}, next_traced_draw()}
                                                           : next_random_key(op_seed, count.value_or(0));
  attributes[*key] = next_key;
  attributes[*counter] = next_counter;
}

}  // namespace tapedeck
