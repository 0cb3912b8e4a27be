// What did this gradient come from? Its contributions, one for each use of the value: by op, by time step,
// and by example.
#include <algorithm>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/why.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_parts_told = 200, most_examples = 5, most_split = 3;

/// What one VJP gave to the gradient.
struct Contribution {
  const RecordView* vjp = nullptr;
  std::size_t slot = 0;
  std::uint64_t tensor = 0;
  double share = 0;
  bool finite = true;
  std::size_t step = 0;  ///< of the uses, in the order of the forward pass; from 1
};

double inner(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (y[i] != 0) sum += x[i] * y[i];  // of what is NaN there nothing lies along it
  return sum;
}

class Parts {
 public:
  Parts(Past& past, const Subject& subject) : past_(past), subject_(subject) {}

  std::optional<protocol::Because> explain() {
    if (!collect(subject_.tensor)) return std::nullopt;
    answer_.question = protocol::Question::contributions;
    answer_.amount = "share";
    gradient_ = past_.value(subject_.tensor);
    if (is_complex(gradient_.dtype()))
      throw ValueError("complex", "The gradient is complex; its contributions have no shares.");
    // A share is what the contribution adds along the gradient: all shares are 1 together.
    direction_ = gradient_;
    if (!subject_.element.empty()) {
      place_ = place_of(gradient_.shape(), subject_.element);
      std::vector<double> one(static_cast<std::size_t>(gradient_.count()));
      one[static_cast<std::size_t>(*place_)] = 1;
      direction_ = Tensor::from_values<double>(one, gradient_.shape());
    }
    total_ = inner(gradient_, direction_);
    for (Contribution& part : parts_) {
      past_.step(done_++, parts_.size());
      const double along = inner(past_.value(part.tensor), direction_);
      part.finite = std::isfinite(along);
      part.share = total_ != 0 && std::isfinite(total_) && part.finite ? along / total_ : 0;
    }
    finish();
    return std::move(answer_);
  }

 private:
  /// The VJPs whose sum the tensor is; false where it is something else.
  bool collect(std::uint64_t tensor) {
    std::vector<std::uint64_t> waiting{tensor};
    while (!waiting.empty()) {
      past_.step(parts_.size());
      const std::uint64_t id = waiting.back();
      waiting.pop_back();
      const RecordView* maker = past_.maker(id);
      const RecordView* vjp = maker ? past_.around(*maker, EventKind::vjp) : past_.giver(id);
      if (!maker && !vjp) return false;
      if (!vjp) {  // the playback's own sums
        // The gradient of a PyTorch program arrives as a view of itself, or is added to that of an earlier
        // pass.
        const bool arrives =
            is_foreign(*maker->head.op) && maker->head.backward &&
            (short_name(*maker->head.op) == "detach" || short_name(*maker->head.op) == "add_");
        if (maker->head.op->form != Form::sum && !arrives) return false;
        waiting.insert(waiting.end(), maker->inputs.begin(), maker->inputs.end());
        continue;
      }
      const auto slot = std::find(vjp->outputs.begin(), vjp->outputs.end(), id);
      if (slot == vjp->outputs.end()) return false;
      parts_.push_back({vjp, static_cast<std::size_t>(slot - vjp->outputs.begin()), id, 0, 0});
    }
    std::sort(parts_.begin(), parts_.end(), [](const Contribution& a, const Contribution& b) {
      return a.vjp->head.forward < b.vjp->head.forward;
    });
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].step = i + 1;
    return true;
  }

  void finish() {
    std::stable_sort(parts_.begin(), parts_.end(), [](const Contribution& a, const Contribution& b) {
      return a.finite != b.finite ? !a.finite : std::abs(a.share) > std::abs(b.share);
    });
    const bool finite = std::isfinite(total_);
    std::string& sentence = answer_.sentence;
    sentence = place_ ? "This element of the gradient" : "This gradient";
    if (total_ == 0) sentence += " is zero, and";
    sentence += parts_.size() == 1
                    ? " comes from one use of the value, in "
                    : " is the sum of " + counted(parts_.size(), "contribution") +
                          ", one for each use of the value" + passes() + ". " +
                          (finite ? "The largest comes from " : "The first that is not finite comes from ");
    const Contribution& first = parts_.front();
    const RecordView* forward = past_.record(first.vjp->head.forward);
    sentence += past_.name(forward ? *forward : *first.vjp);
    if (parts_.size() > 1)
      sentence += ", use " + std::to_string(first.step) + " of " + std::to_string(parts_.size()) +
                  (finite ? " (" + share_text(std::abs(first.share)) + ")" : "");
    sentence += ".";
    if (!finite) sentence += " It holds NaN or infinite numbers, so there are no shares.";
    for (std::size_t i = 0; i < std::min(parts_.size(), most_parts_told); ++i) tell(parts_[i]);
    for (std::size_t i = 0; i < std::min(parts_.size(), most_split); ++i) try {
        split(parts_[i]);
      } catch (const Error&) {  // its forward op takes no float64
      } catch (const ValueError& error) {
        answer_.complete = false;
        sentence += std::string(" Its examples cannot be determined: ") + error.what();
      }
    if (parts_.size() > most_parts_told)
      sentence += " The " + counted(most_parts_told, "largest one") + " are listed.";
  }

  /// ", from 2 backward passes": of PyTorch's, which add up in `.grad`.
  std::string passes() {
    std::set<std::uint32_t> playbacks;
    for (const Contribution& part : parts_)
      if (const RecordView* playback = past_.around(*part.vjp, EventKind::playback))
        playbacks.insert(playback->number);
    return playbacks.size() < 2 ? std::string()
                                : ", in " + std::to_string(playbacks.size()) + " backward passes";
  }

  void tell(const Contribution& part) {
    const RecordView* forward = past_.record(part.vjp->head.forward);
    const Tensor value = past_.value(part.tensor);
    protocol::Reason reason =
        past_.reason(*part.vjp, "use " + std::to_string(part.step) + " of " + std::to_string(parts_.size()),
                     "What the VJP of " + (forward ? past_.name(*forward) : part.vjp->name()) + " gave.");
    reason.tensor = protocol::if_there(past_.info(part.tensor));
    if (place_) {
      reason.element = protocol::if_there(subject_.element);
      reason.value = element_text(value, *place_);
    } else {
      reason.value = "norm " + short_number(std::sqrt(inner(value, value)));
    }
    if (forward && forward->head.location != part.vjp->head.location) {
      const protocol::Reason line = past_.reason(*forward, {}, {});
      reason.cell = line.cell;
      reason.file = line.file;
      reason.line = line.line;
    }
    if (std::isfinite(total_)) {
      reason.amount = part.share;
      reason.amount_text = (part.share < 0 ? "−" : "") + share_text(std::abs(part.share));
    }
    answer_.reasons.push_back(std::move(reason));
  }

  /// By example: the cotangent's rows. With the input moved along the direction, each row of the op's result
  /// moves by what that example contributes: c·(J·d) is (Jᵀ·c)·d.
  void split(const Contribution& part) {
    const std::optional<PastVjp> call = vjp_call(past_, *part.vjp);
    if (!call || call->outputs.size() != 1 || total_ == 0 || !std::isfinite(total_)) return;
    const Tensor& cotangent = call->cotangents[0];
    const Tensor& input = call->inputs[part.slot];
    if (!cotangent || cotangent.rank() == 0 || cotangent.dim(0) < 2) return;
    if (input.rank() > 0 && input.shape() == cotangent.shape()) return;  // no weight: an activation
    const std::vector<double> moved = movement(*call, part.slot);
    const std::vector<double> weights = cotangent.to_vector();
    const auto examples = static_cast<std::size_t>(cotangent.dim(0));
    const std::size_t row = weights.size() / examples;
    std::vector<std::pair<double, std::size_t>> shares;
    for (std::size_t example = 0; example < examples; ++example) {
      double sum = 0;
      for (std::size_t i = example * row; i < (example + 1) * row; ++i) sum += weights[i] * moved[i];
      shares.emplace_back(sum / total_, example);
    }
    const std::size_t told = std::min(examples, most_examples);
    std::partial_sort(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(told), shares.end(),
                      [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
    for (std::size_t i = 0; i < told; ++i) tell_example(part, cotangent, shares[i], examples);
  }

  /// J·direction of the forward op, with respect to one input, in float64.
  std::vector<double> movement(const PastVjp& call, std::size_t slot) const {
    const Tensor point = to_float64(call.inputs[slot]);
    const double size = std::sqrt(inner(direction_, direction_));
    const double scale = 1e-4 * (1 + std::sqrt(inner(point, point))) / std::max(size, 1e-300);
    const auto run = [&](double step) {
      const QuietScope quiet;
      Tensors inputs;
      for (const Tensor& input : call.inputs) inputs.push_back(to_float64(input));
      inputs[slot] =
          ops::add(point, ops::multiply(to_float64(direction_), Tensor::scalar(step, DType::float64)));
      return replay_op(*call.op, inputs, to_float64(call.attributes))[0].to_vector();
    };
    std::vector<double> above = run(scale);
    const std::vector<double> below = run(-scale);
    for (std::size_t i = 0; i < above.size(); ++i) above[i] = (above[i] - below[i]) / (2 * scale);
    return above;
  }

  void tell_example(const Contribution& part, const Tensor& cotangent,
                    const std::pair<double, std::size_t>& share, std::size_t examples) {
    // Layers of PyTorch's fold other axes into the first: its rows need not be examples.
    const bool rows = part.vjp->head.op && is_foreign(*part.vjp->head.op);
    const std::string noun = rows ? "row" : "example";
    protocol::Reason reason =
        past_.reason(*part.vjp, noun + " " + std::to_string(share.second),
                     rows ? "What this row of its result contributes, of " + counted(examples, noun) + "."
                          : "What the row of this example contributes, of " + counted(examples, noun) + ".");
    for (const std::uint64_t id : part.vjp->inputs)
      if (id && !reason.tensor) reason.tensor = protocol::if_there(past_.info(id));
    reason.element.emplace(static_cast<std::size_t>(cotangent.rank()), 0);
    reason.element->at(0) = static_cast<std::int64_t>(share.second);
    reason.amount = share.first;
    reason.amount_text = (share.first < 0 ? "−" : "") + share_text(std::abs(share.first));
    if (answer_.sentence.find(" Of its ") == std::string::npos)
      answer_.sentence += " Of its " + counted(examples, noun) + ", number " + std::to_string(share.second) +
                          " gave the most (" + *reason.amount_text + ").";
    answer_.reasons.push_back(std::move(reason));
  }

  Past& past_;
  const Subject& subject_;
  protocol::Because answer_;
  std::vector<Contribution> parts_;
  Tensor gradient_, direction_;
  std::optional<std::int64_t> place_;
  double total_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

std::optional<protocol::Because> gradient_contributions(Past& past, const Subject& subject) {
  return Parts(past, subject).explain();
}

}  // namespace tapedeck::debug
