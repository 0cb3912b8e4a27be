// A trace file as the recorder reads it.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "engine/record/recorder.h"
#include "engine/record/trace_file/database.h"
#include "engine/record/trace_file/record_page.h"
#include "engine/record/trace_file/tensor_page.h"

namespace tapedeck::trace_file {

/// The content of the table `about`.
struct FileFacts {
  std::string engine_version;
  std::int64_t started_unix_ms = 0, saved_unix_ms = 0;
  std::uint32_t oldest = 1, newest = 0;
  std::uint64_t index_checksum = 0;
  std::uint64_t records_ended = 0, oldest_tensor = 0, newest_tensor = 0, cells_ended = 0;
};

class FileSource final : public TraceSource {
 public:
  /// Checks the file's type and version, and reads names and numbers. Throws TraceFileError.
  explicit FileSource(const std::string& path);
  /// Sets where small values and names are stored. To be called before tensors are read.
  void put_into(Values& values) { values_ = &values; }
  /// Reads the stores beside records and values. Throws TraceFileError.
  void load_sections(Recorder& recorder);
  const FileFacts& facts() const { return facts_; }

  bool records(std::uint32_t first, std::uint32_t last, const std::function<void(StoredRecord&&)>& take,
               std::string& error) override;
  bool has_tensors(std::uint64_t index) const override;
  void tensors(std::uint64_t index,
               const std::function<void(std::uint64_t id, TensorOrigin, TensorTable::Life,
                                        std::uint32_t name)>& take) override;
  Tensor value(std::uint64_t id) override;
  std::string problem_of_value(std::uint64_t id) const override;
  const std::string& path() const override { return path_; }
  const std::string& title() const override { return title_; }
  protocol::TraceFileInfo info() const override;
  std::optional<std::string> source_text(const std::string& cell, const std::string& file) const override;
  std::string problem() const override;
  bool mentions_gpus() const override;
  std::uint64_t cached_bytes() const override;

 private:
  struct Page {
    std::int64_t row = 0;
    std::uint64_t checksum = 0;
  };
  using Pages = std::map<std::uint64_t, Page>;  ///< by number

  void check_header();
  void check_schema();
  void read_facts();
  void read_index();
  void check_extent() const;
  template <class Read>
  void each_page(const char* section, Read&& read);
  const Pages& pages_of(const std::string& section) const;
  /// The bytes of a page, after checking the checksum. Throws DamagedPage.
  std::vector<std::uint8_t> page_bytes(const std::string& section, std::uint64_t number) const;
  std::string read_text(const char* section, std::size_t at) const;
  Tensor read_stored_value(std::uint64_t id, const RecordedSpec& spec);
  void keep_value(std::uint64_t id, const Tensor& value);
  std::string tell(const std::string& what, const std::string& problem) const;
  [[noreturn]] void refuse_file(const std::string& cause) const;

  const std::string path_;
  std::string title_;
  std::uint64_t bytes_ = 0;
  // Declared before the database, because the header is read first.
  std::uint32_t version_ = 0;  ///< of the format that it is written in
  // Serialises access to the database.
  mutable std::mutex mutex_;
  mutable Database database_;
  FileFacts facts_;
  std::map<std::string, Pages> index_;
  ProcessNumbers numbers_;
  TensorCut cut_;
  Values* values_ = nullptr;
  Recorder* recorder_ = nullptr;

  mutable std::mutex state_mutex_;  ///< guards what follows
  mutable std::string problem_;
  std::map<std::uint64_t, std::string> value_problems_;
  // A cache of values read recently, because views read the same values again.
  std::unordered_map<std::uint64_t, Tensor> cache_;
  std::deque<std::uint64_t> cache_order_;
  std::uint64_t cache_bytes_ = 0;
};

}  // namespace tapedeck::trace_file
