// The process that serves a trace file, for callers that need its answers without a window.
#pragma once

#include "inspector/model/compare/trace_reader.h"

namespace tapedeck::app {

std::unique_ptr<inspector::TraceReader> makeTraceReader();

}  // namespace tapedeck::app
