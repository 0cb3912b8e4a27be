#include "engine/optim/apply.h"

#include <boost/container/small_vector.hpp>

#include "engine/ops/core/observer.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/tape/tape.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck {
namespace {

/// The values that this thread's update may overwrite: references that only the call holds.
thread_local bool inputs_are_given_up = false;

class GivenUpInputs {
 public:
  GivenUpInputs() { inputs_are_given_up = true; }
  ~GivenUpInputs() { inputs_are_given_up = false; }
  GivenUpInputs(const GivenUpInputs&) = delete;
};

/// Whether the variables hold the new values.
void check_results(const OpDef& op, std::span<const Variable> targets, std::span<const Tensor> results) {
  if (results.size() != targets.size())
    fail<InvalidArgumentError>(op.name, ": ", results.size(), " results for ", targets.size(), " variables");
}

/// The results reuse the memory of the values that they replace if these have no other reference.
void apply_over(const OpDef& op, std::span<const Variable> targets, std::span<const Tensor> others,
                const Attributes& attributes) {
  const UninterruptedScope uninterrupted;
  Variable::exchange(targets, [&](Tensors& values) {
    // Each value keeps one reference, to restore it if the op throws.
    for (const Tensor& other : others) values.push_back(other);
    Tensors results;
    {
      const GivenUpInputs given_up;
      const DeviceScope beside(values[0].device());  // a variable stays on its device
      results = run_op(op, values, attributes);
    }
    check_results(op, targets, results);
    return results;
  });
}

bool gives_up(Observer& observer, std::span<const Variable> targets) {
  boost::container::small_vector<std::uint64_t, 8> variables;
  for (const Variable& target : targets) variables.push_back(target.id());
  return observer.gives_up(std::span(variables.data(), variables.size()));
}

}  // namespace

namespace detail {

bool may_overwrite(const Tensor& input) {
  return inputs_are_given_up && input.references() == 1 && input.storage()->references() == 1 &&
         !input.storage()->borrowed() && input.contiguous();
}

}  // namespace detail

void apply_update(const OpDef& op, std::span<const Variable> targets, std::span<const Tensor> others,
                  const Attributes& attributes) {
  Observer* observer = current_observer();
  if (!observer) {
    const QuietScope quiet;
    return apply_over(op, targets, others, attributes);
  }
  const StopRecording unrecorded;
  if (gives_up(*observer, targets)) return apply_over(op, targets, others, attributes);
  Tensors inputs;
  for (const Variable& target : targets) inputs.push_back(target.peek());
  for (const Tensor& other : others) inputs.push_back(other);
  const Tensors results = [&] {
    const DeviceScope beside(inputs[0].device());
    return run_op(op, inputs, attributes);
  }();
  check_results(op, targets, results);
  for (std::size_t i = 0; i < targets.size(); ++i) Variable(targets[i]).assign(results[i]);
}

}  // namespace tapedeck
