// Quantities of tensors, as conditions ask for them: each tensor is read once for one event.
#pragma once

#include <boost/container/small_vector.hpp>
#include <optional>

#include "engine/protocol/conditions/condition.h"
#include "engine/record/values/summary.h"

namespace tapedeck {

/// What statistics alone tell, without the quantity's factor; nothing where it takes the values themselves.
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
