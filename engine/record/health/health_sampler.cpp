#include "engine/record/health/health_sampler.h"

#include <algorithm>
#include <cmath>

#include "engine/record/trace/clock.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck {
namespace {

/// Fraction of the program's time; with the window's requests the total stays far below 15 %.
constexpr double most_share = 0.02;
constexpr std::uint32_t most_every = 4096;
constexpr std::uint32_t samples_between_ranks = 32;  // they take as long as everything else

/// splitmix64: neighbouring blocks get unrelated offsets.
std::uint64_t scattered(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

/// Holds the mutex, and counts the time as the sampler's own.
class HealthSampler::Timed {
 public:
  explicit Timed(HealthSampler& sampler) : sampler_(sampler), lock_(sampler.mutex_), begin_(clock::ticks()) {}
  ~Timed() { sampler_.spent_ += clock::ticks() - begin_; }
  Timed(const Timed&) = delete;

 private:
  HealthSampler& sampler_;
  const std::lock_guard<std::mutex> lock_;
  const std::int64_t begin_;
  const UninterruptedScope uninterrupted_;
};

void HealthSampler::watch(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  if (time.count() == 0) {
    if (on_.exchange(false)) batch_.write(false, false);
    sampling_ = false;
    return;
  }
  until_ = std::chrono::steady_clock::now() + time;
  if (on_) return;
  whole_ = past_.trace.newest() == 0;
  left_ = offset_ = 0;
  began_ = clock::ticks();
  spent_ = 0;
  updated_ = false;
  ++step_;
  sampling_ = true;
  on_ = true;
}

void HealthSampler::flush() {
  const std::lock_guard lock(mutex_);
  if (sampling_ && !batch_.empty()) batch_.write(whole_ && updated_, false);
}

void HealthSampler::cell_ended() {
  flush();
  const std::lock_guard lock(mutex_);
  if (updated_) ++step_;
}

void HealthSampler::adapt(std::int64_t length) {
  const bool sampled = sampling_;
  const double plain = static_cast<double>(std::max<std::int64_t>(1, length - spent_));
  // The time of a step that waited at the gate, or for the user between two cells, is meaningless.
  if (plain_ == 0 || plain < 10 * plain_) plain_ = plain_ == 0 ? plain : 0.8 * plain_ + 0.2 * plain;
  if (!sampled) return;
  ++samples_seen_;
  const auto spent = static_cast<double>(spent_);
  cost_ = samples_seen_ <= 2 ? spent : 0.7 * cost_ + 0.3 * spent;  // the first one has cold caches
  if (samples_seen_ == 1) return;
  every_ = static_cast<std::uint32_t>(
      std::clamp(std::ceil(cost_ / (most_share * plain_)), 1.0, double{most_every}));
}

void HealthSampler::begin_step() {
  const std::int64_t now = clock::ticks();
  if (sampling_) batch_.write(whole_, false);
  adapt(now - began_);
  began_ = now;
  ++step_;
  spent_ = 0;
  updated_ = false;
  whole_ = true;
  made_by_updates_.clear();
  if (std::chrono::steady_clock::now() > until_) {
    on_ = sampling_ = false;
    return;
  }
  // One of every `every` steps, at a varying offset, so that alternating steps (two networks) are all
  // sampled.
  if (left_ == 0) {
    sampling_ = true;
    const std::uint32_t every = every_;
    const std::uint32_t before = std::min(offset_, every - 1);
    offset_ = static_cast<std::uint32_t>(scattered(++blocks_) % every);
    left_ = every - 1 - before + offset_;
  } else {
    sampling_ = false;
    --left_;
  }
}

HealthSampler::Wants HealthSampler::wants(const Event& event, bool backward) {
  if (event.tape != 0 && !backward && updated_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    if (updated_) begin_step();
  }
  if (update_gradient_place(*event.op) != 0) {
    if (sampling_.load(std::memory_order_relaxed)) return Wants::update;
    updated_.store(true, std::memory_order_relaxed);
    return Wants::nothing;
  }
  if (!sampling_.load(std::memory_order_relaxed) || event.tape == 0 || backward) return Wants::nothing;
  return event.op->facts.activation == Activation::none ? Wants::nothing : Wants::activation;
}

void HealthSampler::ended(Wants wants, const ActivationCall& call, std::span<const Tensor> inputs,
                          std::span<const Tensor> outputs) {
  const Timed timed(*this);
  if (!sampling_ || outputs.empty()) return;
  if (wants == Wants::activation) return batch_.activation(call, outputs[0]);
  if (inputs.empty()) return;
  updated_ = true;
  made_by_updates_.insert(outputs[0].id());
  const auto subject = variable_subject(past_, inputs[0].id());
  if (!subject) return;
  batch_.given_gradient(*subject, call.record, inputs[update_gradient_place(*call.op)]);
  batch_.update(*subject, call.record, inputs[0], outputs[0]);
}

void HealthSampler::playback_begins(std::uint32_t record, std::uint32_t location,
                                    std::span<const Tensor> targets) {
  const Timed timed(*this);
  if (updated_) begin_step();
  if (sampling_ && targets.size() == 1) batch_.loss(record, location, targets[0]);
}

void HealthSampler::playback_ended(std::uint32_t record, std::span<const Tensor> gradients) {
  const Timed timed(*this);
  if (!sampling_) return;
  const std::vector<std::uint64_t> sources = past_.data_flow.sources_of(record);
  for (std::size_t i = 0; i < std::min(sources.size(), gradients.size()); ++i) {
    const auto subject = variable_subject(past_, sources[i]);
    if (!subject) continue;
    sources_[subject->variable] = {sources[i], step_};
    const bool with_rank = (samples_seen_ + i) % samples_between_ranks == 0;
    batch_.gradient(*subject, record, gradients[i] ? gradients[i].id() : 0, gradients[i], with_rank);
  }
}

void HealthSampler::assigned(const Tensor& leaf, const Tensor& value, std::uint64_t variable,
                             std::uint32_t record) {
  const Timed timed(*this);
  const auto source = sources_.find(variable);
  if (source == sources_.end()) return;
  updated_ = true;
  if (!sampling_ || source->second.step != step_ || made_by_updates_.contains(value.id())) return;
  const Tensor before = past_.values.held(source->second.value);
  const auto subject = variable_subject(past_, leaf.id(), variable);
  if (before && subject) batch_.update(*subject, record, before, leaf);
}

}  // namespace tapedeck
