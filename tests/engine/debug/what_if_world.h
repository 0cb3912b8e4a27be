// A recording, its branches, and changes as a client writes them: what the tests of What if share.
#pragma once

#include "engine/debug/what_if.h"
#include "engine/ops/core/observer.h"
#include "tests/engine/debug/inquiry.h"

namespace what_if_test {

using namespace tapedeck;
using namespace tapedeck::protocol;

inline PastChange element_becomes(const Tensor& tensor, std::vector<std::int64_t> element, double number) {
  PastChange change;
  change.kind = ChangeKind::element;
  change.tensor = tensor.id();
  change.element = std::move(element);
  change.numbers = {number};
  return change;
}

inline PastChange op_becomes(ChangeKind kind, std::uint64_t record, std::vector<double> numbers = {}) {
  PastChange change;
  change.kind = kind;
  change.record = record;
  change.numbers = std::move(numbers);
  return change;
}

inline PastChange attribute_becomes(std::uint64_t record, const std::string& name, const std::string& text) {
  PastChange change = op_becomes(ChangeKind::attribute, record);
  change.attribute = name;
  change.text = text;
  return change;
}

/// A recording, its branches, and what they say.
struct World : Recording {
  using Recording::Recording;
  debug::Branches branches{recorder};
  CancelFlag cancel{false};
  debug::Branches::Find original = [this](std::uint64_t id) { return find_value(recorder, id).value; };

  Branched make(std::vector<PastChange> changes) {
    return branches.make({std::move(changes), {}}, original, cancel, {});
  }
  std::vector<double> value(const Branched& branch, const Tensor& tensor, bool difference = false) {
    const QuietScope quiet;  // as the server answers
    return branches.value(branch.branch, tensor.id(), difference, original, cancel).to_vector();
  }
};

}  // namespace what_if_test
