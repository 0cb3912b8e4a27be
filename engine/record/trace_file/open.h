// Opens a trace file as a recorder with its records, values and stores, which runs nothing.
#pragma once

#include <memory>
#include <string>

#include "engine/record/recorder.h"
#include "engine/record/trace_file/format.h"

namespace tapedeck::trace_file {

/// Reads what the whole file shares (names, curves, …) at once; records, tensors and values on demand, with
/// bounded memory. Everything read is checked against what an engine could have written; the records of a
/// damaged page become failed ones that say so, and its values are unavailable. Tensors that this process
/// creates from now on have ids above the file's. The ops must be registered. Throws TraceFileError, a
/// sentence with the path, if the file is no trace file, has another version (both are named), is truncated,
/// or is damaged in a part that is read at once.
std::unique_ptr<Recorder> open(const std::string& path, const RecorderOptions& options = {});

}  // namespace tapedeck::trace_file
