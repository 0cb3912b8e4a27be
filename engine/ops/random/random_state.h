// Seeds of random ops.
//
// Random ops are pure: their attributes `key` and `counter` name a place in the stream of one counter-based
// generator (engine/cpu/loops/draws.h), so running one again gives the same bits. A caller resolves the seed
// first:
//
//   std::vector<Attribute> values = {…, seed, {}, {}};   // in the order of the op's AttributeSpecs
//   resolve_random(op, values);                          // fills `key` and `counter` where they are None
//   run_op(op, {}, Attributes(std::move(values)));
//
// The functions of ops.h do so; the bindings call resolve_random for every op (it does nothing for others)
// and leave `key` and `counter` out of the Python signature.
//
// Seeds mean what they mean in TensorFlow:
// - no seed at all: a different sequence in every process;
// - only set_random_seed(s): ops without a seed share one sequence that depends on s and restarts at each
//   set_random_seed;
// - an op's own seed: calls with that seed share a sequence that depends on both seeds (a fixed one if there
//   is no global seed) and restarts at each set_random_seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/ops/core/op.h"

namespace tapedeck {

/// std::nullopt: back to an arbitrary sequence. Thread-safe, as the functions below.
void set_random_seed(std::optional<std::int64_t> seed);

/// The positions of all sequences, to restore them. (Not including places set by set_random_place.)
struct RandomState {
  std::optional<std::int64_t> global;
  std::uint64_t chosen_by_nobody = 0;
  std::uint64_t shared_counter = 0;
  std::map<std::int64_t, std::uint64_t> counters;  ///< by op seed
};
RandomState random_state();
void set_random_state(const RandomState& state);

/// While it lives, this thread draws from a copy of all sequences, made at its first draw, and sets seeds in
/// the copy; other threads are not affected.
class RandomCopyScope {
 public:
  RandomCopyScope();
  ~RandomCopyScope();
  RandomCopyScope(const RandomCopyScope&) = delete;
};

/// (key, counter) for the next `count` random values; the same call never gets the same numbers again.
std::pair<std::int64_t, std::int64_t> next_random_key(std::optional<std::int64_t> op_seed,
                                                      std::int64_t count);

/// The key of the sequence from which an op with that seed now draws; draws nothing.
std::int64_t random_key(std::optional<std::int64_t> op_seed);

/// Fills the attributes `key` and `counter` of a random op, where they are None, from its `seed` and the
/// number of values that it will draw, which depends on its attributes `shape` and `num_samples` and its
/// inputs. Does nothing for other ops.
void resolve_random(const OpDef& op, std::vector<Attribute>& attributes, std::span<const Tensor> inputs = {});

/// Until it is reset to nullopt, random ops of this thread use this (key, counter), whatever their seed: for
/// random numbers without a hidden state.
void set_random_place(std::optional<std::pair<std::int64_t, std::int64_t>> place);
/// The `counter` that resolve_random() fills in while a graph is traced, and draws nothing: each run of the
/// graph draws. Counters of sequences begin at 0.
inline constexpr std::int64_t drawn_when_run = INT64_MIN;

}  // namespace tapedeck
