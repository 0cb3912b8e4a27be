// A tensor model over a session of a few records, whose tensors hold their elements' numbers.
#pragma once

#include <vector>

#include "inspector/model/tensor/tensor_model.h"
#include "tests/model/fake_source.h"
#include "tests/model/records_text.h"

namespace tapedeck::test {

/// Element i of any tensor is i; answers as the session would.
inline protocol::Reply countingTensor(const protocol::Request& request, std::vector<std::int64_t> shape) {
  if (const auto* get = protocol::get_if<protocol::GetTile>(&request)) {
    protocol::Tile tile;
    tile.tensor = get->tensor;
    tile.shape = get->reshape.value_or(shape);
    std::vector<std::int64_t> strides(tile.shape.size(), 1);
    for (std::size_t axis = tile.shape.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * tile.shape[axis];
    std::int64_t offset = 0, rowStride = 0, columnStride = 0;
    for (std::size_t axis = 0; axis < tile.shape.size(); ++axis) {
      const std::int64_t at = get->slice ? get->slice->at(axis) : -1;
      if (at >= 0) {
        offset += at * strides[axis];
      } else {
        rowStride = columnStride;
        columnStride = strides[axis];
      }
    }
    tile.row = get->row;
    tile.column = get->column;
    tile.rows = get->rows;
    tile.columns = get->columns;
    tile.row_step = get->row_step;
    tile.column_step = get->column_step;
    for (std::int64_t row = 0; row < get->rows; ++row)
      for (std::int64_t column = 0; column < get->columns; ++column)
        tile.values.push_back(static_cast<double>(offset + (get->row + row * get->row_step) * rowStride +
                                                  (get->column + column * get->column_step) * columnStride));
    tile.dtype = "float32";
    tile.source = "held";
    return tile;
  }
  const auto* get = protocol::get_if<protocol::GetStatistics>(&request);
  protocol::Statistics statistics;
  statistics.tensor = get ? get->tensor : 0;
  statistics.count = 17;
  return statistics;
}

struct TensorBench {
  FakeSource source;
  inspector::Session session;
  inspector::TensorModel model{&session};
  RecordsText text;

  explicit TensorBench(const char* records, std::vector<std::int64_t> shape = {784, 196}) : text(records) {
    source.records = text.records;
    source.status.records = source.records.size();
    for (const auto& record : source.records)
      if (record.state == protocol::RecordState::done) source.status.finished = record.number;
    source.tensors = [shape](const protocol::Request& request) { return countingTensor(request, shape); };
  }
  void start() { session.setSource(&source); }
  /// The same record again and again: more than are fetched at once.
  void repeatFirst(quint64 count) {
    protocol::Record record = source.records[0];
    for (record.number = 2; record.number <= count; ++record.number) source.records.push_back(record);
    source.status.records = source.status.finished = count;
  }
  QString shownName() const {
    const auto* tensor = model.tensor();
    for (const char* name : {"x", "W", "y", "z", "g"})
      if (tensor && text.id(QString::fromLatin1(name)) == tensor->id) return QString::fromLatin1(name);
    return tensor ? QStringLiteral("?") : QString();
  }
  std::vector<protocol::GetTile> tiles() const { return source.askedFor<protocol::GetTile>(); }
};

}  // namespace tapedeck::test
