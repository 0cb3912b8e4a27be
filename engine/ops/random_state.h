// Where random ops get their numbers from.
//
// The ops themselves are pure: their attributes key and counter say which stretch of one counter-based
// generator's stream they read, so a recorded call gives the same bits again. run_op fills the two in from
// the state here.
#pragma once

#include <cstdint>
#include <optional>

namespace tapedeck {

/// Restarts all streams: the random ops that follow give the same numbers on every run. Without a call the
/// streams start from the system's entropy.
void set_random_seed(std::int64_t seed);

struct RandomStretch {
  std::int64_t key = 0, counter = 0;
};
/// The next `blocks` blocks of a stream: of the global one, or of that with its own seed (which then depends
/// on both seeds, as TensorFlow's do). Safe from several threads.
RandomStretch next_random_stretch(std::optional<std::int64_t> op_seed, std::int64_t blocks);

}  // namespace tapedeck
