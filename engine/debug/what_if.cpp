#include "engine/debug/what_if.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/debug/describe.h"
#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/ops.h"
#include "engine/record/source_location.h"
#include "engine/record/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint64_t most_run = 5000;
constexpr std::size_t most_told = 200;

double only_number(const protocol::PastChange &change) {
  if (change.numbers.size() != 1)
    throw BadRequest("make_branch: this change takes one number, " +
                     std::to_string(change.numbers.size()) + " were given");
  return change.numbers[0];
}

std::optional<std::int64_t> whole_number(const std::string &text) {
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

std::optional<double> real_number(const std::string &text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

/// "[1, 2]", "(1, 2)", "3".
std::optional<std::vector<std::int64_t>> whole_numbers(std::string text) {
  std::erase_if(text, [](char c) {
    return c == ' ' || c == '[' || c == ']' || c == '(' || c == ')';
  });
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const auto number = whole_number(text.substr(0, comma));
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
    text.erase(0, comma + 1);
  }
  return numbers;
}

std::optional<Attribute> parsed(AttributeKind kind, const std::string &text) {
  if (text == "None")
    return Attribute();
  switch (kind) {
  case AttributeKind::boolean:
    if (text == "True" || text == "False")
      return Attribute(text == "True");
    return std::nullopt;
  case AttributeKind::integer:
    if (const auto number = whole_number(text))
      return Attribute(*number);
    return std::nullopt;
  case AttributeKind::real:
    if (const auto number = real_number(text))
      return Attribute(*number);
    return std::nullopt;
  case AttributeKind::dtype:
    if (const auto dtype = dtype_from_name(text))
      return Attribute(*dtype);
    return std::nullopt;
  case AttributeKind::integers:
  case AttributeKind::shape:
    if (auto numbers = whole_numbers(text))
      return Attribute(std::move(*numbers));
    return std::nullopt;
  case AttributeKind::text:
    break;
  }
  const bool quoted = text.size() >= 2 &&
                      (text.front() == '\'' || text.front() == '"') &&
                      text.back() == text.front();
  return Attribute(quoted ? text.substr(1, text.size() - 2) : text);
}

RecordView op_at(const Recorder &recorder, std::uint64_t number) {
  RecordView record;
  if (number == 0 || number > recorder.trace().newest() ||
      !recorder.trace().read(static_cast<std::uint32_t>(number), record) ||
      !record.head.op || record.head.kind != EventKind::op)
    throw BadRequest("make_branch: there is no op " + std::to_string(number));
  return record;
}

Attributes with_attribute(const Recorder &recorder,
                          const protocol::PastChange &change) {
  const RecordView record = op_at(recorder, change.record);
  std::vector<Attribute> values;
  bool found = false;
  for (std::size_t i = 0; i < record.head.attributes.size(); ++i) {
    values.push_back(record.head.attributes[i]);
    const AttributeSpec &spec = record.head.op->attributes[i];
    if (spec.name != change.attribute)
      continue;
    found = true;
    const auto value = parsed(spec.kind, change.text);
    if (!value)
      throw BadRequest("make_branch: '" + change.text +
                       "' is no value for the attribute " + change.attribute +
                       " of " + record.name());
    values.back() = *value;
  }
  if (!found)
    throw BadRequest("make_branch: " + record.name() + " has no attribute '" +
                     change.attribute + "'");
  return Attributes(std::move(values));
}

Tensor tensor_of(const RecordedSpec &spec, const std::vector<double> &numbers) {
  const auto count = static_cast<std::size_t>(element_count(spec.shape));
  if (numbers.size() != 1 && numbers.size() != count)
    throw BadRequest("make_branch: a tensor of shape " + to_string(spec.shape) +
                     " takes " + std::to_string(count) +
                     " numbers, or one for all, " +
                     std::to_string(numbers.size()) + " were given");
  const std::vector<double> all = numbers.size() == count
                                      ? numbers
                                      : std::vector<double>(count, numbers[0]);
  return ops::cast(Tensor::from_values<double>(all, spec.shape), spec.dtype);
}

Change change_of(const Recorder &recorder, const protocol::PastChange &asked) {
  using protocol::ChangeKind;
  Change change;
  change.tensor = asked.tensor;
  change.record = static_cast<std::uint32_t>(asked.record);
  const auto instead = [&](Instead what) {
    op_at(recorder, asked.record);
    change.kind = Change::Kind::instead;
    change.instead = what;
  };
  const auto spec = [&] {
    const TensorOrigin origin = recorder.trace().tensors().get(asked.tensor);
    if (!origin.known())
      throw BadRequest("make_branch: no record mentions a tensor " +
                       std::to_string(asked.tensor));
    return spec_of(origin.spec());
  };
  switch (asked.kind) {
  case ChangeKind::value:
    change.value = tensor_of(spec(), asked.numbers);
    break;
  case ChangeKind::element:
    change.kind = Change::Kind::element;
    change.place = place_of(spec().shape, asked.element);
    change.number = only_number(asked);
    break;
  case ChangeKind::attribute:
    change.kind = Change::Kind::attributes;
    change.attributes = with_attribute(recorder, asked);
    break;
  case ChangeKind::skip:
    instead(Instead::skip);
    break;
  case ChangeKind::zero:
    instead(Instead::zero);
    break;
  case ChangeKind::scale:
    instead(Instead::scale);
    change.amount = only_number(asked);
    break;
  case ChangeKind::clip:
    instead(Instead::clip);
    change.amount = only_number(asked);
    break;
  }
  return change;
}

/// Norms of both, and of their difference in shares of the original's.
struct Difference {
  double before = 0, after = 0, relative = 0;
};

Difference compare(const Tensor &original, const Tensor &branch) {
  if (original.shape() != branch.shape())
    return {0, 0, std::numeric_limits<double>::infinity()};
  const std::vector<double> a = original.to_vector(), b = branch.to_vector();
  double before = 0, after = 0, moved = 0;
  bool lost = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    before += a[i] * a[i];
    after += b[i] * b[i];
    if (std::isfinite(a[i]) != std::isfinite(b[i]))
      lost = true;
    const double gap = b[i] - a[i];
    if (std::isfinite(gap))
      moved += gap * gap;
  }
  Difference difference{std::sqrt(before), std::sqrt(after), 0};
  if (a.size() == 1)
    difference = {a[0], b[0], 0};
  difference.relative = lost ? std::numeric_limits<double>::infinity()
                        : moved == 0
                            ? 0
                            : std::sqrt(moved / std::max(before, 1e-300));
  return difference;
}

} // namespace

protocol::Branched Branches::make(const protocol::MakeBranch &request,
                                  const Find &original,
                                  const CancelFlag &cancel,
                                  const Jobs::Report &report) {
  if (request.changes.empty())
    throw BadRequest("make_branch: no change was given");
  std::vector<Change> changes;
  for (const protocol::PastChange &change : request.changes)
    changes.push_back(change_of(recorder_, change));
  Branch branch(recorder_, std::move(changes));
  protocol::Branched answer;
  const std::uint64_t newest = recorder_.trace().newest();
  const auto last = static_cast<std::uint32_t>(
      request.last == 0 ? newest : std::min(request.last, newest));
  RecordView record;
  for (std::uint32_t number = recorder_.trace().oldest_kept(); number <= last;
       ++number) {
    check_cancelled(&cancel);
    if (!recorder_.trace().read(number, record) ||
        record.head.kind != EventKind::op)
      continue;
    for (const std::uint64_t id : record.outputs) {
      if (!id || !branch.depends(id))
        continue;
      if (++answer.depending > most_run)
        continue;
      if (report && answer.depending % 16 == 0)
        report(protocol::Progress{answer.depending, 0});
      const Difference difference =
          compare(original(id), branch.value(id, original, &cancel));
      if (difference.relative == 0)
        continue;
      const SourceLocation location = location_of(record.head.location);
      answer.moved.push_back(
          {record.number, record.name(), location.cell, location.file,
           location.line, tensor_info(recorder_, id, true), difference.relative,
           difference.before, difference.after});
    }
  }
  answer.complete = answer.depending <= most_run;
  std::stable_sort(
      answer.moved.begin(), answer.moved.end(),
      [](const auto &a, const auto &b) { return a.difference > b.difference; });
  const std::size_t moved = answer.moved.size();
  if (moved > most_told)
    answer.moved.resize(most_told);
  answer.sentence =
      counted(answer.depending, "result") + " depend on the change";
  if (answer.depending == 0)
    answer.sentence = "Nothing that was recorded depends on the change.";
  else if (moved == 0)
    answer.sentence += ", and none of them moved.";
  else
    answer.sentence += "; " + counted(moved, "one") +
                       " of them moved, most that of " + answer.moved[0].op +
                       " (op " + std::to_string(answer.moved[0].record) +
                       "), by " + share_text(answer.moved[0].difference) + ".";
  if (!answer.complete)
    answer.sentence +=
        " Only the first " + std::to_string(most_run) + " were run.";
  const std::lock_guard lock(mutex_);
  answer.branch = ++last_;
  auto kept = std::make_shared<Kept>(std::move(branch));
  kept->used = ++uses_;
  branches_.emplace(answer.branch, std::move(kept));
  if (branches_.size() > most_branches)
    branches_.erase(std::min_element(branches_.begin(), branches_.end(),
                                     [](const auto &a, const auto &b) {
                                       return a.second->used < b.second->used;
                                     }));
  return answer;
}

std::shared_ptr<Branches::Kept> Branches::find(std::uint64_t branch) {
  const std::lock_guard lock(mutex_);
  const auto found = branches_.find(branch);
  if (found == branches_.end())
    throw ValueError("gone", "The branch " + std::to_string(branch) +
                                 " is no longer kept: make it again.");
  found->second->used = ++uses_;
  return found->second;
}

Tensor Branches::value(std::uint64_t branch, std::uint64_t tensor,
                       bool difference, const Find &original,
                       const CancelFlag &cancel) {
  const std::shared_ptr<Kept> kept = find(branch);
  Tensor value;
  {
    const std::lock_guard lock(kept->mutex);
    value = kept->branch.value(tensor, original, &cancel);
  }
  if (!difference)
    return value;
  const Tensor before = original(tensor);
  if (before.shape() != value.shape() || !is_floating(value.dtype()))
    throw ValueError("bad_request", "There is no difference of tensors of "
                                    "other shapes, or of whole numbers.");
  return ops::subtract(value, before);
}

void Branches::drop(std::uint64_t branch) {
  const std::lock_guard lock(mutex_);
  branches_.erase(branch);
}

} // namespace tapedeck::debug
