#include "engine/debug/why/vjp_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/debug/vjp/vjp_call.h"
#include "engine/debug/why/elements.h"
#include "engine/debug/why/gradient_hooks.h"
#include "engine/debug/why/view_write.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/wide_run.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

const char* const other_values =
    "run again in float64 its op gives other values, as those that draw random numbers may";

double tolerance_of(DType dtype) {
  if (dtype == DType::float64) return 1e-4;
  return is_narrow(dtype) ? 0.1 : 2e-3;
}

DType recorded_dtype(const Past& past, std::uint64_t tensor) {
  return spec_of(past.recorder().trace().tensors().get(tensor).spec()).dtype;
}

Shape recorded_shape(const Past& past, std::uint64_t tensor) {
  return spec_of(past.recorder().trace().tensors().get(tensor).spec()).shape;
}

}  // namespace

TensorIds variables_of_slots(Past& past, const RecordView& forward, const RecordView& vjp) {
  TensorIds variables;
  if (forward.head.op || vjp.outputs.size() <= forward.inputs.size()) return variables;
  const TensorIds read = variables_read_inside(past, forward);
  const auto alike = [&](std::uint64_t a, std::uint64_t b) {
    return recorded_shape(past, a) == recorded_shape(past, b) &&
           recorded_dtype(past, a) == recorded_dtype(past, b);
  };
  for (std::size_t slot = forward.inputs.size(); slot < vjp.outputs.size(); ++slot) {
    const std::uint64_t gradient = vjp.outputs[slot];
    std::uint64_t found = 0;
    int candidates = 0, rivals = 0;
    for (const std::uint64_t id : read)
      if (gradient && alike(id, gradient)) {
        found = id;
        ++candidates;
      }
    for (std::size_t other = forward.inputs.size(); other < vjp.outputs.size(); ++other)
      rivals += gradient && vjp.outputs[other] && alike(vjp.outputs[other], gradient);
    variables.push_back(candidates == 1 && rivals == 1 ? found : 0);
  }
  return variables;
}

namespace {

/// One VJP, as it is checked.
class Check {
 public:
  Check(Past& past, const RecordView& vjp, const Slots& slots, const CompareAim& aim)
      : past_(past), vjp_(vjp), slots_(slots), aim_(aim) {
    check_.vjp = &vjp;
    check_.forward = past.record(vjp.head.forward);
  }

  VjpCheck run() {
    if (!check_.forward)
      check_.unchecked.push_back("its forward op was forgotten");
    else
      try {
        compare();
      } catch (const ValueError& error) {
        leave_out(error.what());
      } catch (const Error& error) {
        leave_out("it does not run in float64 (" + std::string(error.what()) + ")");
      }
    return std::move(check_);
  }

 private:
  void leave_out(std::string why) {
    while (!why.empty() && why.back() == '.') why.pop_back();
    check_.unchecked.push_back(std::move(why));
  }

  bool is_meant(std::size_t slot) const {
    if (slots_.empty()) return vjp_.outputs[slot] != 0;
    return slot < slots_.size() && slots_[slot];
  }

  void compare() {
    const RecordView& forward = *check_.forward;
    if (past_.recorder().file() && !(fits(vjp_, forward) && vjp_.inputs.size() == forward.outputs.size()))
      return leave_out("the trace file's records do not fit");
    for (const std::uint64_t id : vjp_.outputs) any_given_ = any_given_ || id != 0;
    if (!any_given_ && forward.head.op)
      return leave_out("it gave no gradient of its own: rows, which are put together later, or None");
    if (forward.head.op && forward.head.op->form == Form::drawn)
      return leave_out(
          "it draws random numbers: its gradient is that of their distribution, which differences of one "
          "draw "
          "do not show");
    std::optional<ViewWrite> view;
    if (is_write_into_view(vjp_, forward) && !(view = ViewWrite::find(past_, vjp_, forward)))
      return leave_out("it is a write through a view, and where that lies in the whole is not known here");
    variables_ = variables_of_slots(past_, forward, vjp_);
    if (!has_real_numbers(forward)) return;
    for (const Tensor& input : past_.inputs(forward)) point_.push_back(to_float64(input));
    TensorIds known_variables;
    for (const std::uint64_t id : variables_)
      if (id) {
        known_variables.push_back(id);
        point_.push_back(to_float64(past_.value(id)));
      }
    for (const std::uint64_t id : vjp_.inputs) cotangents_.push_back(id ? past_.value(id) : Tensor());
    std::optional<InnerFunction> inner;
    if (view) {
      if (!is_close(view->written(with_whole(*view)), past_.value(forward.outputs[0])))
        return leave_out(other_values);
      point_[0] = view->whole();
      function_ = std::cref(*view);
    } else if (forward.head.op) {
      function_ = [&forward](std::span<const Tensor> inputs) {
        return replay_op(*forward.head.op, inputs, to_float64(forward.head.attributes));
      };
    } else {
      inner.emplace(past_, forward, known_variables);
      if (const auto left = inner->left_to_python()) return leave_out(*left);
      if (!inner->depends()) return leave_out("no recorded op made its result of its arguments");
      function_ = std::cref(*inner);
    }
    if (!view && !gives_the_same_again(forward)) return;
    Differences differences(past_, function_, point_, cotangents_, aim_);
    for (const std::vector<std::size_t>& group : groups()) compare_group(differences, group);
  }

  Tensors with_whole(const ViewWrite& view) const {
    Tensors inputs = point_;
    inputs[0] = view.whole();
    return inputs;
  }

  /// Differences here are of real numbers; a complex tensor's elements as numbers are their sizes.
  bool has_real_numbers(const RecordView& forward) {
    bool complex = false;
    for (const TensorIds* ids : {&forward.inputs, &forward.outputs})
      for (const std::uint64_t id : *ids) complex = complex || (id && is_complex(recorded_dtype(past_, id)));
    if (complex) leave_out("it computes with complex numbers");
    return !complex;
  }

  /// An op that draws random numbers may draw others in float64; then differences are those of another
  /// function.
  bool gives_the_same_again(const RecordView& forward) {
    const Tensors again = function_(point_);
    for (std::size_t k = 0; k < std::min(again.size(), forward.outputs.size()); ++k) {
      if (k >= cotangents_.size() || !cotangents_[k]) continue;
      Tensor value;
      try {
        value = past_.value(forward.outputs[k]);
      } catch (const ValueError&) {
        continue;  // there is nothing to compare with
      }
      if (again[k].shape() == value.shape() && is_close(again[k], value)) continue;
      leave_out(other_values);
      return false;
    }
    return true;
  }

  static bool is_close(const Tensor& a, const Tensor& b) {
    const std::vector<double> x = a.to_vector(), y = b.to_vector();
    double gap = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
      gap += (x[i] - y[i]) * (x[i] - y[i]);
      size += y[i] * y[i];
    }
    return std::sqrt(gap) <= (is_narrow(b.dtype()) ? 0.1 : 0.01) * std::sqrt(size) + 1e-6;
  }

  /// Places in the point whose gradients are compared together. Of a custom gradient only what ran inside is
  /// known: which of its arguments an op took is ambiguous where they are one tensor.
  std::vector<std::vector<std::size_t>> groups() {
    const RecordView& forward = *check_.forward;
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t k = 0; k < std::min(forward.inputs.size(), vjp_.outputs.size()); ++k) {
      const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return !forward.head.op && forward.inputs[group.front()] == forward.inputs[k];
      });
      if (same == groups.end())
        groups.push_back({k});
      else
        same->push_back(k);
    }
    std::erase_if(groups, [&](const auto& group) {
      return std::none_of(group.begin(), group.end(), [&](std::size_t slot) { return is_meant(slot); }) ||
             !point_[group.front()] || !is_floating(point_[group.front()].dtype());
    });
    // Behind the arguments: the variables that the function used.
    std::size_t place = forward.inputs.size();
    for (std::size_t k = 0; k < variables_.size(); ++k) {
      const std::size_t slot = forward.inputs.size() + k;
      if (variables_[k] == 0 && vjp_.outputs[slot] && is_meant(slot))
        leave_out("which of its gradients belongs to which variable that it used cannot be determined");
      if (variables_[k]) {
        slot_of_[place] = slot;
        if (is_meant(slot)) groups.push_back({place});
        ++place;
      }
    }
    return groups;
  }

  std::size_t slot_at(std::size_t place) const {
    const auto variable = slot_of_.find(place);
    return variable == slot_of_.end() ? place : variable->second;
  }

  std::string name_of(const std::vector<std::size_t>& group) const {
    const RecordView& forward = *check_.forward;
    if (const auto variable = slot_of_.find(group.front()); variable != slot_of_.end()) {
      const std::string name = past_.info(variables_[variable->second - forward.inputs.size()]).name;
      return name.empty() ? "a variable" : name;
    }
    if (forward.head.op)
      return forward.head.op->inputs[std::min(group.front(), forward.head.op->inputs.size() - 1)].name;
    std::string name = group.size() == 1 ? "argument " : "arguments ";
    for (const std::size_t slot : group) name += (slot == group.front() ? "" : " + ") + std::to_string(slot);
    return name;
  }

  void compare_group(Differences& differences, const std::vector<std::size_t>& group) {
    CheckedInput input;
    input.name = name_of(group);
    input.slots = group.size();
    const Tensor& here = point_[group.front()];
    input.shape = here.shape();
    std::vector<double> given(static_cast<std::size_t>(here.count()));
    DType dtype = here.dtype();
    for (const std::size_t place : group) {
      std::uint64_t id = vjp_.outputs[slot_at(place)];
      if (id == 0) continue;
      // What a hook made of it is not what the VJP gave.
      if (const auto hook = hook_change(past_, id); hook && hook->before) id = hook->before;
      if (input.tensor == 0) input.tensor = id;
      const Tensor gradient = past_.value(id);
      dtype = gradient.dtype();
      const std::vector<double> part = gradient.to_vector();
      if (part.size() != given.size()) return leave_out("the gradient has not the shape of " + input.name);
      std::transform(part.begin(), part.end(), given.begin(), given.begin(), std::plus<>());
    }
    const double tolerance = tolerance_of(dtype == DType::float64 ? narrowest(dtype) : dtype);
    input.compared = differences.compare(group, std::move(given), tolerance);
    check_.kinks += input.compared.kinks;
    check_.not_comparable += input.compared.not_comparable;
    if (input.compared.worst.place < 0) return;
    input.wrong = input.compared.worst.error > tolerance;
    if (input.wrong && is_rounding(input, group.front(), tolerance)) {
      input.wrong = false;
      input.rounded = true;
    }
    if (input.wrong) input.factor = common_factor(input.compared, 4 * tolerance);
    input.zero_times =
        input.wrong && check_.forward->head.op && input.tensor &&
        std::all_of(input.compared.looks.begin(), input.compared.looks.end(),
                    [&](const Look& look) { return look.error <= tolerance || look.unweighed; });
    check_.inputs.push_back(std::move(input));
  }

  /// A None counts as zeros of the inputs' own dtype.
  DType narrowest(DType dtype) const {
    for (const std::uint64_t id : check_.forward->inputs) {
      if (id == 0) continue;
      const DType other = recorded_dtype(past_, id);
      if (is_floating(other) && other != DType::float64) return other;
    }
    return dtype;
  }

  /// Numbers up to here are what is left of sums of the cotangents in the gradient's dtype.
  static double rounding_of(const PastVjp& call, DType dtype) {
    constexpr double sums = 32;
    double largest = 0;
    for (const Tensor& cotangent : call.cotangents)
      if (cotangent && is_floating(cotangent.dtype()))
        for (const double value : cotangent.to_vector())
          if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    const double unit = dtype == DType::float64   ? std::numeric_limits<double>::epsilon()
                        : dtype == DType::float32 ? std::numeric_limits<float>::epsilon()
                                                  : 0x1p-8;
    return sums * unit * largest;
  }

  /// Whether the VJP of that call gives what was recorded: else a hook has changed it since.
  static bool gives_again(const PastVjp& call, std::size_t slot, const Compared& compared, double tolerance,
                          double rounding) {
    const Tensors again = gradients_of(call);
    if (slot >= again.size() || !again[slot]) return false;
    const std::vector<double> values = again[slot].to_vector();
    double largest = rounding;
    for (const double value : values)
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    return std::all_of(compared.looks.begin(), compared.looks.end(), [&](const Look& look) {
      const auto place = static_cast<std::size_t>(look.place);
      if (look.place < 0 || place >= values.size()) return true;  // a sum along a direction
      return std::abs(values[place] - look.given) <= std::max(tolerance * largest, rounding);
    });
  }

  /// Whether the built-in VJP says what differences say once it runs in float64.
  bool is_rounding(const CheckedInput& input, std::size_t slot, double tolerance) {
    if (!check_.forward->head.op || input.tensor == 0 || !std::isfinite(input.compared.worst.given))
      return false;
    try {
      const std::optional<PastVjp> call = vjp_call(past_, vjp_);
      if (!call) return false;
      const double rounding = rounding_of(*call, recorded_dtype(past_, input.tensor));
      if (!gives_again(*call, slot, input.compared, tolerance, rounding)) return false;
      const Tensors exact = gradients_of(in_float64(*call));
      if (slot >= exact.size() || !exact[slot] || exact[slot].dtype() != DType::float64) return false;
      const std::vector<double> values = exact[slot].to_vector();
      return std::all_of(input.compared.looks.begin(), input.compared.looks.end(), [&](const Look& look) {
        if (look.error <= tolerance || std::max(std::abs(look.given), std::abs(look.found)) <= rounding)
          return true;
        const auto place = static_cast<std::size_t>(look.place);
        const double value = place < values.size() ? values[place] : std::nan("");
        return std::abs(value - look.found) <= tolerance * std::max(std::abs(value), std::abs(look.found));
      });
    } catch (const Error&) {  // no kernel for float64
      return false;
    }
  }

  Past& past_;
  const RecordView& vjp_;
  const Slots& slots_;
  const CompareAim aim_;
  VjpCheck check_;
  bool any_given_ = false;
  Tensors point_, cotangents_;
  TensorIds variables_;                                   ///< see variables_of_slots
  std::unordered_map<std::size_t, std::size_t> slot_of_;  ///< of variables: place in the point → slot
  ForwardFunction function_;
};

}  // namespace

std::string CheckedInput::at() const {
  return name + index_text(shape, compared.worst.place);
}

std::string CheckedInput::error_text() const {
  const Look& look = compared.worst;
  if (factor) {
    std::string number = short_number(std::abs(*factor));
    if (*factor < 0) number = "−" + number;
    if (std::abs(*factor) < 1e-9) number = "0";
    return compared.all ? "×" + number + " in every element"
                        : "×" + number + " in each of the " + counted(compared.looks.size(), "element") +
                              " that were compared";
  }
  if (!std::isfinite(look.given)) {
    const auto odd = static_cast<std::uint64_t>(
        std::count_if(compared.looks.begin(), compared.looks.end(),
                      [](const Look& one) { return one.error >= 0 && !std::isfinite(one.given); }));
    return short_number(look.given) + " where differences are finite, in " + counted(odd, "element") +
           " of " + std::to_string(compared.looks.size()) +
           (zero_times
                ? ": the gradient that came in is 0 there, and 0 times a slope that is not a finite number "
                  "is nan"
                : "");
  }
  return "the largest relative error is " + short_number(look.error) + ", at " + at();
}

bool VjpCheck::compared() const {
  return !inputs.empty();
}

const CheckedInput* VjpCheck::worst() const {
  const auto found = std::max_element(inputs.begin(), inputs.end(), [](const auto& a, const auto& b) {
    if (a.wrong != b.wrong) return b.wrong;
    return a.compared.worst.error < b.compared.worst.error;
  });
  return found == inputs.end() ? nullptr : &*found;
}

bool VjpCheck::wrong() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.wrong; });
}

VjpCheck check_vjp(Past& past, const RecordView& vjp, const Slots& slots, const CompareAim& aim) {
  return Check(past, vjp, slots, aim).run();
}

}  // namespace tapedeck::debug
