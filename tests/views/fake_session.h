// A fake session: records and tensors that the test made, answered as the debug server would.
#pragma once

#include <QTimer>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "engine/protocol/record_filter.h"
#include "inspector/model/session/source.h"
#include "tests/model/tape_part.h"

namespace tapedeck::test {

using namespace tapedeck::protocol;

struct FakeTensor {
  std::vector<std::int64_t> shape;
  std::function<double(std::int64_t index)> value;  ///< by row-major index
  std::string gone;                                 ///< not empty: the answer is a Failure with that reason
  std::string dtype = "float32";

  std::int64_t count() const {
    std::int64_t total = 1;
    for (const std::int64_t extent : shape) total *= extent;
    return total;
  }
};

class FakeSession : public inspector::Source {
 public:
  std::vector<Record> records;
  std::map<std::uint64_t, FakeTensor> tensors;
  Status status;
  std::vector<GetTile> tiles_asked;
  std::vector<protocol::Pin> pins_asked;
  std::string pin_refused;  ///< not empty: pinning is answered by a Failure with that reason
  bool silent = false;      ///< tiles stay unanswered until release()

  bool connected() const override { return true; }

  quint64 request(const Request& message, const QString& channel = {}) override {
    const quint64 id = ++last_id_;
    if (protocol::holds_alternative<Cancel>(message)) return id;
    if (!channel.isEmpty()) newest_[channel] = id;
    if (const auto* pin = protocol::get_if<protocol::Pin>(&message)) pins_asked.push_back(*pin);
    if (const auto* get = protocol::get_if<GetTile>(&message)) {
      tiles_asked.push_back(*get);
      if (silent) {
        held_ = [this, id, message] { emit received(id, answer(message)); };
        return id;
      }
    }
    QTimer::singleShot(0, this, [this, id, message, channel] {
      if (!channel.isEmpty() && newest_[channel] != id) return;
      emit received(id, answer(message));
    });
    return id;
  }

  void release() {
    silent = false;
    if (held_) std::exchange(held_, nullptr)();
  }

  /// Stops the gate before the record `number`, as a step does; 0: everything ran.
  void stopBefore(std::uint64_t number) {
    for (Record& record : records) {
      if (number && record.number >= number)
        record.state = RecordState::pending;
      else
        record.state = RecordState::done;
    }
    status.records = number ? number : records.size();
    status.gate = number ? GateState::stopped : GateState::open;
    status.stopped_before = protocol::if_there(number);
    status.finished = number ? number - 1 : records.size();
    status.stop_reason = number ? std::optional<std::string>("step") : std::nullopt;
    emit received(0, status);
  }

  Reply answer(const Request& message) const {
    return protocol::visit([this](const auto& request) { return reply(request); }, message);
  }

 private:
  Reply reply(const GetRecords& get) const {
    Records page;
    page.total = status.records;
    for (const Record& record : records)
      if (record.number >= get.first && record.number < get.first + get.count &&
          record.number <= status.records)
        page.records.push_back(asSeen(record));
    return page;
  }

  Reply reply(const GetTape& get) const {
    std::vector<Record> tape;
    for (const Record& record : records)
      if (record.number <= std::min(get.last.value_or(status.records), status.records) &&
          (record.tape == get.tape || record.parent))
        tape.push_back(asSeen(record));
    return tapePart(tape, get);
  }

  static Record asSeen(Record record) {
    if (record.state == RecordState::pending)
      for (TensorInfo& output : record.outputs) output.id = 0, output.preview.clear();
    return record;
  }

  Reply reply(const GetTile& get) const {
    const auto found = tensors.find(get.tensor);
    if (found == tensors.end())
      return Failure{"No tensor has the number " + std::to_string(get.tensor) + ".", "no_such_tensor"};
    const FakeTensor& tensor = found->second;
    if (!tensor.gone.empty()) return Failure{tensor.gone, "gone"};
    Tile tile;
    tile.tensor = get.tensor;
    tile.dtype = tensor.dtype;
    tile.source = "held";
    tile.shape = get.reshape.value_or(tensor.shape);
    std::vector<std::int64_t> slice = get.slice.value_or(std::vector<std::int64_t>());
    if (!get.slice) {
      slice.assign(tile.shape.size(), 0);
      for (std::size_t axis = slice.size() > 2 ? slice.size() - 2 : 0; axis < slice.size(); ++axis)
        slice[axis] = -1;
    }
    std::int64_t stride = 1, base = 0, row_stride = 0, column_stride = 0;
    tile.total_rows = tile.total_columns = 1;
    bool column_seen = false;
    for (std::size_t axis = slice.size(); axis-- > 0; stride *= tile.shape[axis]) {
      if (slice[axis] >= 0)
        base += slice[axis] * stride;
      else if (!column_seen)
        column_seen = true, column_stride = stride, tile.total_columns = tile.shape[axis];
      else
        row_stride = stride, tile.total_rows = tile.shape[axis];
    }
    tile.row = get.row, tile.column = get.column, tile.rows = get.rows, tile.columns = get.columns;
    tile.row_step = get.row_step, tile.column_step = get.column_step;
    if (tensor.count() == 0) tile.rows = tile.columns = 0;
    for (std::int64_t row = 0; row < tile.rows; ++row)
      for (std::int64_t column = 0; column < tile.columns; ++column) {
        const std::int64_t r = get.row + row * get.row_step, c = get.column + column * get.column_step;
        tile.values.push_back(tensor.value(base + r * row_stride + c * column_stride));
      }
    return tile;
  }

  Reply reply(const GetStatistics& get) const {
    const auto found = tensors.find(get.tensor);
    if (found == tensors.end() || !found->second.gone.empty()) return Failure{"gone", "gone"};
    const FakeTensor& tensor = found->second;
    Statistics result;
    result.tensor = get.tensor;
    result.count = static_cast<std::uint64_t>(tensor.count());
    double minimum = std::numeric_limits<double>::infinity(), maximum = -minimum;
    result.source = "held";
    const std::int64_t stride = std::max<std::int64_t>(1, tensor.count() / 100000);
    double sum = 0, squares = 0;
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.count(); i += stride) {
      const double value = tensor.value(i);
      result.nan += std::isnan(value);
      result.positive_infinity += value == std::numeric_limits<double>::infinity();
      result.negative_infinity += value == -std::numeric_limits<double>::infinity();
      if (!std::isfinite(value)) continue;
      result.zeros += value == 0;
      result.subnormals += value != 0 && std::abs(value) < std::numeric_limits<float>::min();
      ++result.finite;
      values.push_back(value);
      minimum = std::min(minimum, value);
      maximum = std::max(maximum, value);
      sum += value;
      squares += value * value;
    }
    if (result.finite) {
      const auto finite = static_cast<double>(result.finite);
      const double mean = sum / finite;
      result.minimum = minimum;
      result.maximum = maximum;
      result.mean = mean;
      result.deviation = std::sqrt(std::max(0.0, squares / finite - mean * mean));
    }
    result.histogram.assign(get.bins, 0);
    const double width = maximum - minimum;
    for (const double value : values)
      ++result.histogram[width > 0 ? std::min<std::size_t>(
                                         get.bins - 1,
                                         static_cast<std::size_t>((value - minimum) / width * get.bins))
                                   : 0];
    return result;
  }

  Reply reply(const FindElement& find) const {
    const auto found = tensors.find(find.tensor);
    if (found == tensors.end() || !found->second.gone.empty()) return Failure{"gone", "gone"};
    const FakeTensor& tensor = found->second;
    double best = std::numeric_limits<double>::quiet_NaN();
    const bool largest = find.sought == Sought::maximum;
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      if (const double value = tensor.value(i);
          std::isfinite(value) && !(largest ? value <= best : value >= best))
        best = value;
    FoundElement answer;
    answer.tensor = find.tensor;
    answer.source = "held";
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      const double value = tensor.value(i);
      const bool is = find.sought == Sought::nan        ? std::isnan(value)
                      : find.sought == Sought::infinity ? std::isinf(value)
                                                        : value == best;
      if (is) places.push_back(i);
    }
    answer.alike = places.size();
    if (places.empty()) return answer;
    auto at = std::upper_bound(places.begin(), places.end(), find.after.value_or(-1));
    if (at == places.end()) at = places.begin();
    answer.place = *at;
    answer.rank = static_cast<std::uint64_t>(at - places.begin()) + 1;
    answer.value = tensor.value(*at);
    std::int64_t rest = *at;
    for (std::size_t axis = tensor.shape.size(); axis-- > 0; rest /= tensor.shape[axis])
      answer.index.insert(answer.index.begin(), rest % tensor.shape[axis]);
    return answer;
  }

  Reply reply(const protocol::Pin& pin) const {
    if (pin.pinned && !pin_refused.empty()) return Failure{pin_refused, "too_expensive"};
    return status;
  }

  Reply reply(const FindRecords& find) const {
    FoundRecords found;
    found.total = found.scanned = status.records;
    for (const Record& record : records)
      if (record.number >= find.first && record.number <= status.records &&
          find.backward.value_or(asSeen(record).backward) == asSeen(record).backward &&
          matches(parse_filter(find.filter), asSeen(record), find.labels, find.bookmarked))
        found.runs.insert(found.runs.end(), {record.number, record.number});
    return found;
  }

  /// All records are in no group.
  Reply reply(const protocol::GetRecordGroups&) const {
    protocol::RecordGroups none;
    none.covered = none.total = status.records;
    return none;
  }

  Reply reply(const Hello&) const { return Welcome{}; }
  Reply reply(const GetSeries&) const { return Series{}; }
  template <class Any>
  Reply reply(const Any&) const {
    return status;
  }

  quint64 last_id_ = 0;
  std::map<QString, quint64> newest_;
  std::function<void()> held_;
};

}  // namespace tapedeck::test
