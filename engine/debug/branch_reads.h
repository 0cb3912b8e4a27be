// What of a branch Python took along: values that it read, and what it made, or may have made, of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/protocol/what_if.h"
#include "engine/record/replay/branch.h"

namespace tapedeck::debug {

/// Python read a tensor.
struct BranchRead {
  std::uint64_t tensor = 0;
  std::uint64_t newest = 0;  ///< id of the newest tensor then: what came of it is newer
  std::uint32_t location = 0;
  bool single = false;   ///< one number
  double number = 0;     ///< where it is one
  bool depends = false;  ///< it may be another in the branch
};

struct BranchReads {
  std::vector<protocol::ReadUse> uses;  ///< of one place and subject together, in the order of their records
  std::vector<std::string> notes;       ///< each a sentence
};

/// Python is not run again in a branch, so what it made of a value that is another there stays as recorded.
/// It distinguishes three links:
/// - an op takes the very number or array that Python read: it depends on it;
/// - an op takes a number, an array or an attribute that had not come up when Python read the first such
///   value: Python may have calculated it, or not;
/// - Python read a truth value that is another in the branch: it would have gone another way.
/// What had come up before counts as the program's own. `reads`: the oldest first. Throws Cancelled.
BranchReads reads_in_branch(const Recorder& recorder, Branch& branch, const std::vector<BranchRead>& reads,
                            const Branch::Find& original, const CancelFlag& cancel);

}  // namespace tapedeck::debug
