// A page of records: Trace::page_size of them, or fewer in the first and the last page.
#pragma once

#include <functional>

#include "engine/record/trace/trace.h"
#include "engine/record/trace/trace_source.h"
#include "engine/record/trace_file/bytes.h"
#include "engine/record/trace_file/numbering.h"

namespace tapedeck::trace_file {

/// What was there when a save began: what came later does not belong to the file.
struct RecordCut {
  std::uint32_t newest_record = 0;
  std::uint64_t newest_tensor = 0;
};

/// Writes the records [first, last] of one page; false where the trace has forgotten one of them meanwhile,
/// and `page` is of no use then. Records that have not ended, or ended with what came after the cut, are
/// written as running. `ended`: how many have.
bool write_records(const Trace& trace, std::uint32_t first, std::uint32_t last, const RecordCut& cut,
                   FileNumbers& numbers, PageWriter& page, std::uint64_t& ended);

/// What a page is checked against: the file's newest tensor, and where tensors come from.
struct RecordChecks {
  std::uint64_t newest_tensor = 0;
  std::function<TensorOrigin(std::uint64_t id)> origin;
};

/// All records of the page, which are [first, last]. Throws DamagedPage where one is no record that an engine
/// could have written: ops with other attributes or inputs than the registry has, references that do not
/// point backwards.
std::vector<StoredRecord> read_records(PageReader& page, std::uint32_t first, std::uint32_t last,
                                       const ProcessNumbers& numbers, const RecordChecks& checks);

}  // namespace tapedeck::trace_file
