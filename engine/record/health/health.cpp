#include "engine/record/health/health.h"

#include <algorithm>
#include <cmath>

namespace tapedeck {
namespace {

constexpr std::size_t most_marks = std::size_t{1} << 17;

double health_distance(double value, double from) {
  return std::isfinite(value) ? std::abs(value - from) : HUGE_VAL;
}

/// Keeps one of two neighbours; always the first and the last sample.
void thin_health_curve(std::vector<HealthSample>& samples) {
  if (samples.size() < 4) return;
  std::vector<HealthSample> kept{samples.front()};
  std::size_t i = 1;
  for (; i + 2 < samples.size(); i += 2) {
    const double before = kept.back().value;
    const bool second =
        health_distance(samples[i + 1].value, before) > health_distance(samples[i].value, before);
    kept.push_back(samples[second ? i + 1 : i]);
  }
  kept.push_back(samples.back());
  samples = std::move(kept);
}

}  // namespace

bool HealthSubject::same_as(const HealthSubject& other) const {
  if (kind != other.kind) return false;
  if (kind == HealthKind::variable)
    return variable != 0 || other.variable != 0 ? variable == other.variable : name == other.name;
  if (kind == HealthKind::published) return name == other.name;
  return variable == other.variable && op == other.op && scope == other.scope && location == other.location &&
         name == other.name;
}

std::uint32_t HealthStore::subject(const HealthSubject& subject) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < subjects_.size(); ++i)
    if (subjects_[i].subject.same_as(subject)) return static_cast<std::uint32_t>(i + 1);
  if (subjects_.size() >= most_subjects_) return 0;
  subjects_.push_back({subject, {}});
  return static_cast<std::uint32_t>(subjects_.size());
}

std::vector<HealthSample>& HealthStore::curve_of(HealthSubjectData& subject, std::string_view quantity) {
  for (HealthCurveData& curve : subject.curves)
    if (curve.quantity == quantity) return curve.samples;
  return subject.curves.emplace_back(HealthCurveData{std::string(quantity), {}}).samples;
}

void HealthStore::put(std::uint32_t subject, std::string_view quantity, HealthSample sample) {
  const std::lock_guard lock(mutex_);
  if (subject == 0 || subject > subjects_.size()) return;
  ++version_;
  std::vector<HealthSample>& samples = curve_of(subjects_[subject - 1], quantity);
  const auto place = std::ranges::lower_bound(samples, sample.record, {}, &HealthSample::record);
  if (place != samples.end() && place->record == sample.record) {
    *place = sample;
    return;
  }
  samples.insert(place, sample);
  ++samples_;
  if (samples.size() > most_in_curve_) {
    samples_ -= samples.size();
    thin_health_curve(samples);
    samples_ += samples.size();
  }
  if (samples_ > most_samples_) thin_out();
}

void HealthStore::thin_out() {
  samples_ = 0;
  for (HealthSubjectData& subject : subjects_)
    for (HealthCurveData& curve : subject.curves) {
      thin_health_curve(curve.samples);
      samples_ += curve.samples.size();
    }
}

void HealthStore::mark(HealthMark mark) {
  const std::lock_guard lock(mutex_);
  ++version_;
  const auto place = std::ranges::lower_bound(marks_, mark.record, {}, &HealthMark::record);
  if (place != marks_.end() && place->record == mark.record) return;
  marks_.insert(place, mark);
  if (marks_.size() <= most_marks) return;
  for (std::size_t i = 0; 2 * i < marks_.size(); ++i) marks_[i] = marks_[2 * i];
  marks_.resize((marks_.size() + 1) / 2);
}

std::uint64_t HealthStore::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::vector<HealthMark> HealthStore::marks() const {
  const std::lock_guard lock(mutex_);
  return marks_;
}

std::size_t HealthStore::subject_count() const {
  const std::lock_guard lock(mutex_);
  return subjects_.size();
}

std::vector<HealthSubjectData> HealthStore::read(const std::vector<std::uint32_t>& numbers) const {
  const std::lock_guard lock(mutex_);
  std::vector<HealthSubjectData> read;
  for (const std::uint32_t number : numbers)
    if (number > 0 && number <= subjects_.size()) read.push_back(subjects_[number - 1]);
  return read;
}

std::vector<HealthSubject> HealthStore::subjects() const {
  const std::lock_guard lock(mutex_);
  std::vector<HealthSubject> subjects;
  for (const HealthSubjectData& each : subjects_) subjects.push_back(each.subject);
  return subjects;
}

std::vector<std::uint32_t> HealthStore::subjects_in(std::uint32_t first, std::uint32_t last) const {
  const auto has = [&](const HealthCurveData& curve) {
    const auto at = std::ranges::lower_bound(curve.samples, first, {}, &HealthSample::record);
    return at != curve.samples.end() && at->record <= last;
  };
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < subjects_.size(); ++i)
    if (std::ranges::any_of(subjects_[i].curves, has)) numbers.push_back(static_cast<std::uint32_t>(i + 1));
  return numbers;
}

HealthCurveData HealthStore::curve(std::uint32_t subject, std::string_view quantity) const {
  const std::lock_guard lock(mutex_);
  if (subject > 0 && subject <= subjects_.size())
    for (const HealthCurveData& curve : subjects_[subject - 1].curves)
      if (curve.quantity == quantity) return curve;
  return {std::string(quantity), {}};
}

HealthData HealthStore::data() const {
  const std::lock_guard lock(mutex_);
  return {subjects_, marks_};
}

std::uint64_t HealthStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return samples_ * sizeof(HealthSample) + marks_.size() * sizeof(HealthMark) +
         subjects_.size() * (sizeof(HealthSubjectData) + 256);
}

}  // namespace tapedeck
