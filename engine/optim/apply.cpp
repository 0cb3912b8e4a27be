#include "engine/optim/apply.h"

#include "engine/ops/interrupt.h"
#include "engine/ops/observer.h"
#include "engine/ops/run_op.h"
#include "engine/tape/tape.h"

namespace tapedeck {
namespace {

/// The values that the update of this thread may overwrite: handles that nothing but the call has.
thread_local bool inputs_are_given_up = false;

class GivenUpInputs {
 public:
  GivenUpInputs() { inputs_are_given_up = true; }
  ~GivenUpInputs() { inputs_are_given_up = false; }
  GivenUpInputs(const GivenUpInputs&) = delete;
};

/// Whether the new values are what the variables hold.
void check_results(const OpDef& op, std::span<const Variable> targets, std::span<const Tensor> results) {
  if (results.size() != targets.size())
    fail<InvalidArgumentError>(op.name, ": ", results.size(), " results for ", targets.size(), " variables");
}

void apply_unseen(const OpDef& op, std::span<const Variable> targets, std::span<const Tensor> others,
                  const Attributes& attributes) {
  const QuietScope quiet;
  const UninterruptedScope uninterrupted;
  Variable::exchange(targets, [&](Tensors& values) {
    // The values keep one handle each: they come back where the op throws.
    for (const Tensor& other : others) values.push_back(other);
    Tensors results;
    {
      const GivenUpInputs given_up;
      results = run_op(op, values, attributes);
    }
    check_results(op, targets, results);
    return results;
  });
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
  if (!current_observer()) return apply_unseen(op, targets, others, attributes);
  const StopRecording unrecorded;
  Tensors inputs;
  for (const Variable& target : targets) inputs.push_back(target.peek());
  for (const Tensor& other : others) inputs.push_back(other);
  const Tensors results = run_op(op, inputs, attributes);
  check_results(op, targets, results);
  for (std::size_t i = 0; i < targets.size(); ++i) Variable(targets[i]).assign(results[i]);
}

}  // namespace tapedeck
