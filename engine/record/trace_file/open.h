// Opens a trace file: a recorder that has its records, values and stores, and runs nothing.
#pragma once

#include <memory>
#include <string>

#include "engine/record/recorder.h"
#include "engine/record/trace_file/format.h"

namespace tapedeck::trace_file {

/// Reads what the whole file shares (names, curves, …); records, tensors and values when somebody looks, with
/// bounded memory. All that is read is checked against what an engine could have written; where a page is
/// damaged, its records are failed ones that say so, and its values cannot be had. The ids of tensors that
/// this process makes from now on are above the file's. The ops must be registered. Throws TraceFileError, a
/// sentence with the path, where it is no trace file, of another version (both are named), cut off, or
/// damaged in what is read at once.
std::unique_ptr<Recorder> open(const std::string& path, const RecorderOptions& options = {});

}  // namespace tapedeck::trace_file
