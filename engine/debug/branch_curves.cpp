#include "engine/debug/branch_curves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "engine/debug/why/elements.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint64_t most_recomputed_points = 200'000;
constexpr std::size_t most_curves_named = 4;
constexpr std::uint32_t records_looked_ahead = 8;

/// The same for equal numbers, and for all that are none.
std::uint64_t number_key(double number) {
  if (std::isnan(number)) return UINT64_MAX;
  return std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);
}

bool is_single_number(const RecordedSpec& spec) {
  return element_count(spec.shape) == 1 && spec.dtype != DType::string && !is_complex(spec.dtype);
}

/// "“loss” and “accuracy”", the first few.
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == most_curves_named) return text + " and others";
    text += (i == 0 ? "“" : i + 1 == names.size() ? " and “" : ", “") + names[i] + "”";
  }
  return text;
}

}  // namespace

BranchCurveReader::BranchCurveReader(const Recorder& recorder, Branch& branch, std::uint32_t first_record,
                                     const Find& original, const CancelFlag& cancel)
    : recorder_(recorder),
      branch_(branch),
      first_record_(first_record),
      original_(original),
      cancel_(cancel) {
  find_reads();
  find_curves();
}

void BranchCurveReader::find_reads() {
  std::vector<ExternalRead> external_reads = recorder_.data_flow().external_reads();  // the newest first
  std::ranges::reverse(external_reads);
  for (const ExternalRead& external_read : external_reads) {
    check_cancelled(&cancel_);
    const TensorOrigin origin = recorder_.trace().tensors().get(external_read.tensor);
    if (!origin.known()) continue;
    BranchRead read{external_read.tensor, external_read.newest, external_read.location};
    read.depends = branch_.depends(external_read.tensor, &cancel_);
    read.single = is_single_number(spec_of(origin.spec()));
    if (read.single && external_read.number) read.number = *external_read.number;
    if (read.single && !external_read.number) {  // of a GPU's tensor, or a trace file's
      try {
        read.number = original_(external_read.tensor).on_host().item();
      } catch (const ValueError&) {
        continue;
      }
    }
    reads_.push_back(read);
  }
}

void BranchCurveReader::find_curves() {
  std::map<std::string, std::size_t> places;
  for (std::uint64_t next = 0;;) {
    check_cancelled(&cancel_);
    const protocol::Series page = recorder_.series().read(next);
    for (const std::string& gone : page.restarted)
      if (const auto found = places.find(gone); found != places.end()) curves_[found->second].points.clear();
    for (const protocol::CurveInfo& info : page.curves)
      if (places.try_emplace(info.series, curves_.size()).second) curves_.push_back({info, {}});
    for (const protocol::SeriesPoint& point : page.points)
      curves_[places.at(point.series)].points.push_back({point});
    if (page.next <= next) break;
    next = page.next;
  }
  for (Curve& curve : curves_) {
    find_tensors(curve);
    to_compute_ += curve.moving;
  }
  if (to_compute_ > most_recomputed_points) left_ = to_compute_ - most_recomputed_points;
  to_compute_ = std::min(to_compute_, most_recomputed_points);
}

/// Id of the newest tensor when that record was the newest: what ran after it made newer ones.
std::uint64_t BranchCurveReader::newest_tensor_at(std::uint64_t record) {
  std::uint64_t first = UINT64_MAX;
  const auto from = static_cast<std::uint32_t>(record + 1);
  recorder_.trace().glance(from, from + records_looked_ahead - 1, [&](const RecordGlance& later) {
    for (const std::uint64_t id : later.outputs)
      if (id) first = std::min(first, id);
  });
  return first - 1;
}

// Backwards: of several reads of one number the newest is meant. The points of a list come all at once, after
// all of their reads, so each is read before the one behind it.
void BranchCurveReader::find_tensors(Curve& curve) {
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_number;
  std::unordered_set<std::uint64_t> wanted;
  for (const Point& point : curve.points) wanted.insert(number_key(point.point.value));
  for (std::size_t i = 0; i < reads_.size(); ++i)
    if (reads_[i].single && wanted.contains(number_key(reads_[i].number)))
      by_number[number_key(reads_[i].number)].push_back(i);
  std::size_t before = reads_.size();  // of a list: the read of the point behind
  for (std::size_t at = curve.points.size(); at-- > 0;) {
    if (at % 1024 == 0) check_cancelled(&cancel_);
    Point& point = curve.points[at];
    const bool listed =
        at + 1 < curve.points.size() && curve.points[at + 1].point.record == point.point.record;
    const auto found = by_number.find(number_key(point.point.value));
    std::optional<std::size_t> chosen;
    if (found != by_number.end()) {
      const std::uint64_t newest = listed ? UINT64_MAX : newest_tensor_at(point.point.record);
      for (auto read = found->second.rbegin(); read != found->second.rend() && !chosen; ++read)
        if (reads_[*read].newest <= newest && (!listed || *read < before)) chosen = *read;
    }
    if (chosen) {
      before = *chosen;
      point.tensor = reads_[*chosen].tensor;
      point.depends = reads_[*chosen].depends;
      curve.moving += point.depends;
    } else if (point.point.record >= first_record_) {
      ++curve.unknown;
    }
  }
}

BranchCurves BranchCurveReader::compute(const std::function<void(std::uint64_t done)>& progress) {
  BranchCurves made;
  std::uint64_t done = 0;
  std::vector<std::string> unknown;
  for (const Curve& curve : curves_) {
    if (curve.moving == 0) {
      if (curve.unknown > 0) unknown.push_back(curve.info.name);
      continue;
    }
    made.curves.push_back(curve.info);
    std::uint64_t failed = 0;
    std::string failure;
    std::optional<protocol::SeriesPoint> last_same;
    bool moved = false;
    for (const Point& one : curve.points) {
      check_cancelled(&cancel_);
      const bool known = one.tensor != 0 || one.point.record < first_record_;
      if (!known) continue;
      protocol::SeriesPoint point = one.point;
      if (!one.depends) {
        if (!moved)
          last_same = point;
        else
          made.points.push_back(std::move(point));
        continue;
      }
      if (done == to_compute_) break;
      progress(done++);
      try {
        point.value = branch_.value(one.tensor, original_, &cancel_).on_host().item();
      } catch (const ValueError& error) {
        if (failed++ == 0) failure = error.what();
        continue;
      }
      if (!std::exchange(moved, true) && last_same) made.points.push_back(*last_same);
      made.points.push_back(std::move(point));
    }
    note_curves(curve, failure, failed, made);
  }
  if (!unknown.empty())
    made.notes.push_back(
        (unknown.size() == 1 ? "The curve " : "The curves ") + names_text(unknown) +
        (unknown.size() == 1 ? " is" : " are") +
        " left out: which tensors their points came from is not known. Python calculated these "
        "numbers itself.");
  if (left_ > 0)
    made.notes.push_back(counted(left_, "point") + " of curves after the first " +
                         std::to_string(most_recomputed_points) + " are left out.");
  BranchReads reads = reads_in_branch(recorder_, branch_, reads_, original_, cancel_);
  made.reads = std::move(reads.uses);
  std::ranges::move(reads.notes, std::back_inserter(made.notes));
  return made;
}

void BranchCurveReader::note_curves(const Curve& curve, const std::string& failure, std::uint64_t failed,
                                    BranchCurves& made) const {
  const std::string name = "“" + curve.info.name + "”";
  if (curve.unknown > 0)
    made.notes.push_back(counted(curve.unknown, "point") + " of " + name +
                         (curve.unknown == 1 ? " is" : " are") +
                         " left out: which tensor it came from is not known, Python calculated the number "
                         "itself.");
  if (failed > 0)
    made.notes.push_back(counted(failed, "point") + " of " + name + (failed == 1 ? " is" : " are") +
                         " left out. " + failure);
}

}  // namespace tapedeck::debug
