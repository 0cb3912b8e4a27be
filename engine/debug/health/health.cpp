#include "engine/debug/health/health.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/debug/describe.h"
#include "engine/debug/tile.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t most_columns = 1000, most_points = 10000, most_rows = 1000;
constexpr double no_sample = std::numeric_limits<double>::quiet_NaN();

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : "×") + std::to_string(extent);
  return text;
}

std::string plain_text(const HealthSubject& subject) {
  switch (subject.kind) {
    case HealthKind::activation:
      if (subject.name.empty()) return subject.op;
      return subject.scope ? subject.name + " (" + subject.op + ")" : subject.op + " after " + subject.name;
    default:
      return subject.name;
  }
}

/// How far two values are apart where each is as many times the other.
double log_distance(double a, double b) {
  if (!std::isfinite(a)) return HUGE_VAL;
  const auto size = [](double x) { return std::log(std::max(std::abs(x), 1e-300)); };
  return std::isfinite(b) ? std::abs(size(a) - size(b)) : 0;
}

/// Of each column the value that is farthest from the column before.
std::vector<double> strip_of(const HealthPoints& points, std::size_t steps, std::uint32_t columns) {
  std::vector<double> values(columns, no_sample);
  double before = no_sample;
  std::size_t last = columns;
  for (const HealthPoint& point : points) {
    const std::size_t column =
        std::min<std::size_t>((point.step - 1) * columns / std::max<std::size_t>(steps, 1), columns - 1);
    if (column != last && last < columns) before = values[last];
    if (column != last || log_distance(point.value, before) > log_distance(values[column], before))
      values[column] = point.value;
    last = column;
  }
  return values;
}

/// Coarse to fine: 0, 1/2, 1/4, 3/4, … of the places below `count`.
std::size_t coarse_to_fine(std::size_t i, std::size_t count) {
  const auto bits = static_cast<int>(std::bit_width(count - 1));
  std::size_t reversed = 0;
  for (int bit = 0; bit < bits; ++bit) reversed |= (i >> bit & 1) << (bits - 1 - bit);
  return reversed;
}

/// The one of `steps` that is nearest to `step`, no farther off than `reach`; else `step`.
std::size_t nearest(const std::set<std::size_t>& steps, std::size_t step, std::size_t reach,
                    std::size_t last) {
  const auto above = steps.lower_bound(step);
  std::size_t found = step, distance = reach + 1;
  if (above != steps.end() && *above <= last && *above - step < distance) {
    found = *above;
    distance = found - step;
  }
  if (above != steps.begin() && step - *std::prev(above) < distance) found = *std::prev(above);
  return found;
}

}  // namespace

// Variables and activations in the layers' order; the loss before, what optimisers say behind.
std::vector<std::uint32_t> health_order(const std::vector<HealthSubject>& subjects) {
  std::vector<std::uint32_t> numbers(subjects.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint32_t>(i + 1);
  const auto key = [&](std::uint32_t number) {
    const HealthSubject& subject = subjects[number - 1];
    const int group = subject.kind == HealthKind::loss ? 0 : subject.kind == HealthKind::published ? 2 : 1;
    return std::tuple(group, subject.order, subject.kind, number);
  };
  std::ranges::sort(numbers, {}, key);
  return numbers;
}

std::vector<std::string> health_texts(const std::vector<HealthSubject>& subjects) {
  std::map<std::string, int> plain, shaped, given;
  const auto with_shape = [](const HealthSubject& subject) {
    const std::string shape = shape_text(subject.shape);
    return plain_text(subject) + (shape.empty() ? "" : " " + shape);
  };
  for (const HealthSubject& subject : subjects) {
    ++plain[plain_text(subject)];
    ++shaped[with_shape(subject)];
  }
  std::vector<std::string> texts(subjects.size());
  for (const std::uint32_t number : health_order(subjects)) {
    const HealthSubject& subject = subjects[number - 1];
    std::string text = plain_text(subject);
    if (plain[text] > 1) {
      text = with_shape(subject);
      if (shaped[text] > 1) text += " #" + std::to_string(++given[text]);
    }
    texts[number - 1] = std::move(text);
  }
  return texts;
}

// ---- the table

protocol::HealthRow HealthReader::row(const HealthSubjectData& data, std::uint32_t number,
                                      const std::string& text, const Run& run, std::uint32_t columns) {
  const HealthSubject& subject = data.subject;
  const SourceLocation location = location_of(subject.location);
  protocol::HealthRow row;
  row.subject = number;
  row.kind = subject.kind;
  row.name = text;
  row.scope = scope_text(subject.scope);
  row.op = subject.op;
  row.cell = location.cell;
  row.file = location.file;
  row.line = location.line;
  row.shape.assign(subject.shape.begin(), subject.shape.end());
  for (const HealthCurveData& curve : data.curves) {
    const HealthPoints points = points_of(curve.samples, subject, run);
    if (points.empty()) continue;
    row.strips.push_back({curve.quantity, points.back().value, points.back().record,
                          strip_of(points, run.told.steps, std::max(columns, 1u))});
  }
  return row;
}

protocol::Health HealthReader::table(const protocol::GetHealth& request, const CancelFlag* cancel) {
  if (request.columns > most_columns || request.count > most_rows)
    throw BadRequest("get_health: " + std::to_string(request.count) + " rows of " +
                     std::to_string(request.columns) + " columns were asked for, the most is " +
                     std::to_string(most_rows) + " of " + std::to_string(most_columns));
  recorder_.health_sampler().watch(std::chrono::milliseconds(request.live_ms));
  const std::vector<Run> all = runs(cancel);
  const Run& run = chosen(all, request.run);
  const HealthStore& store = recorder_.health();
  protocol::Health answer;
  answer.steps = steps_of_all(all);
  answer.run = run.told.number;
  for (const Run& each : all) answer.runs.push_back(each.told);
  if (recorder_.recording()) answer.every = protocol::if_there(recorder_.health_sampler().every());
  answer.version = version();
  const std::vector<std::uint32_t> numbers = store.subjects_in(run.from, run.to);
  const std::vector<HealthSubject> known = store.subjects();
  std::vector<HealthSubject> subjects;
  for (const std::uint32_t number : numbers) subjects.push_back(known[number - 1]);
  const std::vector<std::string> texts = health_texts(subjects);
  const std::vector<std::uint32_t> order = health_order(subjects);
  answer.total = static_cast<std::uint32_t>(order.size());
  answer.first = std::min(request.first, answer.total);
  const std::size_t last = std::min<std::size_t>(answer.total, std::size_t{answer.first} + request.count);
  for (std::size_t i = answer.first; i < last; ++i) {
    check_cancelled(cancel);
    const std::size_t place = order[i] - 1;
    for (const HealthSubjectData& data : store.read({numbers[place]}))
      answer.rows.push_back(row(data, numbers[place], texts[place], run, request.columns));
  }
  return answer;
}

protocol::HealthCurve HealthReader::curve(const protocol::GetHealthCurve& request, const CancelFlag* cancel) {
  const std::vector<Run> all = runs(cancel);
  const Run& run = chosen(all, request.run);
  protocol::HealthCurve answer;
  answer.subject = request.subject;
  answer.run = run.told.number;
  answer.quantity = request.quantity;
  HealthPoints points;
  for (const HealthSubjectData& data : recorder_.health().read({static_cast<std::uint32_t>(request.subject)}))
    for (const HealthCurveData& curve : data.curves)
      if (curve.quantity == request.quantity) points = points_of(curve.samples, data.subject, run);
  // Of each bucket the value that is farthest from the one before, so that spikes stay.
  const std::size_t most = std::clamp<std::uint32_t>(request.most, 1, most_points);
  const std::size_t width = (points.size() + most - 1) / most;
  for (std::size_t begin = 0; begin < points.size(); begin += width) {
    const double before = answer.values.empty() ? no_sample : answer.values.back();
    std::size_t chosen = begin;
    for (std::size_t i = begin + 1; i < std::min(points.size(), begin + width); ++i)
      if (log_distance(points[i].value, before) > log_distance(points[chosen].value, before)) chosen = i;
    answer.steps.push_back(static_cast<double>(points[chosen].step));
    answer.values.push_back(points[chosen].value);
    answer.records.push_back(points[chosen].record);
  }
  return answer;
}

// ---- samples of the past

bool HealthReader::sample_step(const Run& run, std::size_t number, const FindHealthValue& find,
                               const CancelFlag* cancel) {
  TrainingStep step;
  std::vector<HandUpdate> by_hand;
  {
    const std::lock_guard lock(steps_mutex_);
    step = steps_.at(number);
    by_hand = steps_.hand_updates(number);
  }
  try {
    replay_.sample(step, by_hand, find, cancel);
    return true;
  } catch (const ValueError& error) {
    const std::lock_guard lock(gone_mutex_);
    gone_.insert(number);
    problem_ = "Step " + std::to_string(number - run.first + 1) + " cannot be recomputed. " + error.what();
    return false;
  }
}

/// Those that begin with values of variables that are held: the others' are computed through all steps
/// between.
std::set<std::size_t> HealthReader::quick_steps() {
  std::vector<Assignment> assignments;
  if (recorder_.file()) {
    assignments = recorder_.data_flow().assignments();
    std::erase_if(assignments,
                  [&](const Assignment& one) { return !recorder_.trace().tensors().get(one.leaf).stored(); });
  } else {
    for (const std::uint64_t id : recorder_.values().version_ids())
      if (const auto assignment = recorder_.data_flow().assignment_of(id)) assignments.push_back(*assignment);
  }
  std::set<std::size_t> quick;
  const std::lock_guard lock(steps_mutex_);
  for (const Assignment& assignment : assignments) quick.insert(steps_.step_of(assignment.after) + 1);
  return quick;
}

std::optional<std::size_t> HealthReader::next_of_grid(const Run& run, std::set<std::size_t> quick,
                                                      std::uint32_t wanted, std::size_t& done) {
  const std::size_t steps = run.told.steps, count = std::min<std::size_t>(wanted, steps);
  done = 0;
  if (count == 0) return std::nullopt;
  const std::lock_guard lock(gone_mutex_);
  std::erase_if(quick, [&](std::size_t step) {
    return step < run.first || step > run.last || gone_.contains(step) || run.sampled.contains(step);
  });
  const std::size_t places = std::bit_ceil(count);
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < places; ++i) {
    const std::size_t place = places == 1 ? 0 : coarse_to_fine(i, places);
    if (place >= count) continue;
    const std::size_t step = run.first + (count == 1 ? steps - 1 : place * (steps - 1) / (count - 1));
    const std::size_t reach = (steps - 1) / std::max<std::size_t>(2 * count, 1);
    const auto near = run.sampled.lower_bound(step > reach ? step - reach : 1);
    const bool sampled = near != run.sampled.end() && *near <= step + reach;
    if (sampled || gone_.contains(step))
      ++done;
    else if (!next)
      next = nearest(quick, step, reach, run.last);
  }
  return next;
}

/// The step in the middle of where a finding begins.
std::optional<std::size_t> HealthReader::next_of_onsets(const Run& run, const HealthData& data) {
  constexpr std::size_t most_findings = 8;
  const Findings findings = judge(cases(data, run));
  const std::lock_guard lock(gone_mutex_);
  for (std::size_t i = 0; i < std::min(findings.size(), most_findings); ++i) {
    const protocol::HealthFinding& finding = findings[i];
    if (!finding.before || finding.since <= *finding.before + 1 || finding.since > run.told.steps) continue;
    const std::size_t middle = run.first - 1 + (*finding.before + finding.since) / 2;
    if (!gone_.contains(middle) && !run.sampled.contains(middle)) return middle;
  }
  return std::nullopt;
}

protocol::HealthSampled HealthReader::sample(const protocol::SampleHealth& request,
                                             const FindHealthValue& find, const CancelFlag* cancel) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(request.most_ms);
  protocol::HealthSampled answer;
  std::unique_lock turn(sample_mutex_, std::try_to_lock);
  answer.complete = false;
  if (!turn) return answer;
  do {
    check_cancelled(cancel);
    const std::vector<Run> all = runs(cancel);
    const std::vector<const Run*> asked = asked_for(all, request.run);
    const Run* of = nullptr;
    std::optional<std::size_t> next;
    const std::set<std::size_t> quick = quick_steps();
    answer.done = answer.wanted = 0;
    for (const Run* run : asked) {
      std::size_t done = 0;
      const auto here = next_of_grid(*run, quick, request.steps, done);
      answer.done += done;
      answer.wanted += std::min<std::size_t>(request.steps, run->told.steps);
      if (next || !here) continue;
      next = here;
      of = run;
    }
    if (!next) {
      const HealthData data = recorder_.health().data();
      for (const Run* run : asked) {
        if (next) break;
        next = next_of_onsets(*run, data);
        of = run;
      }
    }
    if (!next) {
      answer.complete = true;
      break;
    }
    sample_step(*of, *next, find, cancel);
  } while (std::chrono::steady_clock::now() < end);
  const std::lock_guard lock(gone_mutex_);
  answer.problem = protocol::if_there(problem_);
  return answer;
}

// ---- what the rules say

HealthCases HealthReader::cases(const HealthData& data, const Run& run) {
  std::vector<std::pair<std::uint32_t, std::map<std::string, HealthPoints, std::less<>>>> present;
  std::vector<HealthSubject> subjects;
  for (std::size_t i = 0; i < data.subjects.size(); ++i) {
    std::map<std::string, HealthPoints, std::less<>> curves;
    for (const HealthCurveData& curve : data.subjects[i].curves)
      if (HealthPoints points = points_of(curve.samples, data.subjects[i].subject, run); !points.empty())
        curves[curve.quantity] = std::move(points);
    if (curves.empty()) continue;
    present.emplace_back(static_cast<std::uint32_t>(i + 1), std::move(curves));
    subjects.push_back(data.subjects[i].subject);
  }
  const std::vector<std::string> texts = health_texts(subjects);
  HealthCases cases;
  cases.steps = run.told.steps;
  cases.sampled = run.told.sampled;
  for (const std::size_t step : run.sampled) cases.sampled_steps.push_back(step - run.first + 1);
  cases.cut = run.told.cut;
  for (const std::uint32_t place : health_order(subjects)) {
    const HealthSubject& subject = subjects[place - 1];
    HealthCase one;
    one.subject = present[place - 1].first;
    one.kind = subject.kind;
    if (subject.kind == HealthKind::variable) one.variable = subject.variable;
    one.text = texts[place - 1];
    one.op = subject.op;
    one.shape.assign(subject.shape.begin(), subject.shape.end());
    one.line = location_of(subject.location).line;
    one.curves = std::move(present[place - 1].second);
    if (one.kind == HealthKind::loss)
      for (const HealthCurveData& curve : data.subjects[one.subject - 1].curves)
        for (const HealthSample& sample : curve.samples)
          if (std::isfinite(sample.value))
            one.largest_loss = std::max(one.largest_loss, std::abs(sample.value));
    cases.all.push_back(std::move(one));
  }
  return cases;
}

/// Op, line and tensor of the finding's record.
void HealthReader::place(protocol::HealthFinding& finding) const {
  RecordView record;
  if (finding.record == 0 || !recorder_.trace().read(static_cast<std::uint32_t>(finding.record), record))
    return;
  const SourceLocation location = location_of(record.head.location);
  finding.op = record.name();
  finding.cell = location.cell;
  finding.file = location.file;
  finding.line = location.line;
  for (const std::uint64_t output : record.outputs)
    if (output != 0) {
      finding.tensor = tensor_info(recorder_, output, true);
      break;
    }
}

protocol::HealthFindings HealthReader::findings(const protocol::GetHealthFindings& request, Past& past) {
  constexpr std::size_t most_told = 100, most_explained = 3;
  protocol::HealthFindings answer;
  const std::vector<Run> all = runs(past.cancel());
  answer.version = version();
  const HealthData data = recorder_.health().data();
  for (const Run* run : asked_for(all, request.run)) {
    HealthCases cases = this->cases(data, *run);
    cases.program = program(*run, past, request.explain);
    Findings found = judge(cases);
    if (found.size() > most_told) found.resize(most_told);
    std::size_t explained = 0;
    for (protocol::HealthFinding& finding : found) {
      check_cancelled(past.cancel());
      finding.run = run->told.number;
      place(finding);
      const bool still = finding.rule == "no gradient" || finding.rule == "no learning";
      if (request.explain && still && explained++ < most_explained) {
        if (finding.quantity == quantity::gradient) explain(finding, *run, past);
        if (finding.quantity == quantity::update) explain_rest(finding, *run, past);
      }
      answer.findings.push_back(std::move(finding));
    }
    for (std::string& sentence : not_seen(finite_part(cases)))
      answer.not_seen.push_back({run->told.number, std::move(sentence)});
  }
  // Within a run causes stay before what they lead to.
  std::ranges::stable_sort(answer.findings, std::ranges::greater(), &protocol::HealthFinding::severity);
  if (answer.findings.size() > most_told) answer.findings.resize(most_told);
  return answer;
}

}  // namespace tapedeck::debug
