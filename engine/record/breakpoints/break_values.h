// Evaluates the quantities in conditions; each tensor is read once per event.
#pragma once

#include <boost/container/small_vector.hpp>
#include <optional>

#include "engine/protocol/conditions/condition.h"
#include "engine/record/values/summary.h"

namespace tapedeck {

/// A quantity, without its factor, from statistics alone; nullopt if it needs the values.
std::optional<double> measure_of_summary(const Summary& all, const protocol::Quantity& quantity);

class BreakValues {
 public:
  /// Without the quantity's factor.
  double measure(const Tensor& tensor, const protocol::Quantity& quantity);

 private:
  struct Known {
    std::uint64_t id = 0;
    bool finite = false;
    std::optional<Summary> summary;
  };
  Known& known(const Tensor& tensor);
  const Summary& summary(Known& known, const Tensor& tensor);
  boost::container::small_vector<Known, 2> known_;
};

}  // namespace tapedeck
