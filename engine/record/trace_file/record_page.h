// A page of records: Trace::page_size of them, or fewer in the first and the last page.
#pragma once

#include <functional>

#include "engine/record/trace/trace.h"
#include "engine/record/trace/trace_source.h"
#include "engine/record/trace_file/bytes.h"
#include "engine/record/trace_file/numbering.h"

namespace tapedeck::trace_file {

/// The extent of the trace when a save began; later data is not saved.
struct RecordCut {
  std::uint32_t newest_record = 0;
  std::uint64_t newest_tensor = 0;
};

/// Writes the records [first, last] of one page; false if the trace has forgotten one of them meanwhile;
/// `page` is then unusable. Records that have not ended, or whose outputs are newer than the cut, are written
/// as running. `ended`: how many have.
bool write_records(const Trace& trace, std::uint32_t first, std::uint32_t last, const RecordCut& cut,
                   FileNumbers& numbers, PageWriter& page, std::uint64_t& ended);

/// The data against which a page is checked: the file's newest tensor, and the origins of tensors.
struct RecordChecks {
  std::uint64_t newest_tensor = 0;
  std::function<TensorOrigin(std::uint64_t id)> origin;
};

/// Reads the page's records [first, last]. Since version 4 of the format their calls may follow. Throws
/// DamagedPage for a record that no engine could have written: attributes or inputs that do not match the
/// registry, references that do not point backwards.
std::vector<StoredRecord> read_records(PageReader& page, std::uint32_t first, std::uint32_t last,
                                       const ProcessNumbers& numbers, const RecordChecks& checks);

}  // namespace tapedeck::trace_file
