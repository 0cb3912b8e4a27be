// The source from which a trace file's parts are loaded on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/record/trace/tensor_table.h"
#include "engine/record/trace/trace.h"

namespace tapedeck {

/// A record as stored in a page of the file.
struct StoredRecord {
  std::uint32_t number = 0;
  RecordState state = RecordState::done;
  RecordHead head;            ///< its start in ticks
  std::int64_t duration = 0;  ///< ticks
  DeviceTime device;
  TensorIds inputs, outputs;
  std::string error;
};

/// All functions are thread-safe. None throws because of the file's content: unreadable parts are left out,
/// and problem() says so.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  /// Reads the records [first, last] of one page. Returns false, and no records, if the page is damaged;
  /// `error` then says how.
  virtual bool records(std::uint32_t first, std::uint32_t last,
                       const std::function<void(StoredRecord&&)>& take, std::string& error) = 0;
  /// Data about the tensors of block `index` of the table; `name`: 0 for none.
  virtual bool has_tensors(std::uint64_t index) const = 0;
  virtual void tensors(std::uint64_t index,
                       const std::function<void(std::uint64_t id, TensorOrigin, TensorTable::Life,
                                                std::uint32_t name)>& take) = 0;
  /// The value of a tensor whose origin is stored(); undefined if it cannot be read.
  virtual Tensor value(std::uint64_t id) = 0;
  /// The reason; empty if it can be read.
  virtual std::string problem_of_value(std::uint64_t id) const = 0;

  virtual const std::string& path() const = 0;
  virtual const std::string& title() const = 0;  ///< the recorded notebook or program
  virtual protocol::TraceFileInfo info() const = 0;
  virtual std::optional<std::string> source_text(const std::string& cell, const std::string& file) const = 0;
  /// The first damage that was found; empty: none so far.
  virtual std::string problem() const = 0;
  /// Whether some of its ops ran on a GPU.
  virtual bool mentions_gpus() const = 0;
  /// The size of the cache of values read.
  virtual std::uint64_t cached_bytes() const = 0;
};

}  // namespace tapedeck
