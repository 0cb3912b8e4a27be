#include "engine/record/trace_file/open.h"

#include <filesystem>

#include "engine/record/trace_file/file_source.h"

namespace tapedeck::trace_file {

std::unique_ptr<Recorder> open(const std::string& path, const RecorderOptions& options) {
  std::error_code error;
  const std::filesystem::path full = std::filesystem::weakly_canonical(path, error);
  auto file = std::make_unique<FileSource>(error ? path : full.string());
  FileSource& source = *file;
  const FileFacts& facts = source.facts();
  // A block of the table of tensors belongs either to the file or to this process.
  const std::uint64_t block = TensorTable::block_size;
  detail::skip_tensor_ids((facts.newest_tensor / block + 1) * block);
  auto recorder = std::make_unique<Recorder>(options, std::move(file));
  recorder->restore(facts.started_unix_ms, facts.cells_ended);
  source.put_into(recorder->values());
  recorder->values().read_from(&source);
  TraceExtent extent;
  extent.oldest = facts.oldest;
  extent.newest = extent.finished = facts.newest;
  extent.ended = facts.records_ended;
  extent.oldest_tensor = facts.oldest_tensor;
  recorder->trace().read_from(source, extent);
  source.load_sections(*recorder);
  return recorder;
}

}  // namespace tapedeck::trace_file
