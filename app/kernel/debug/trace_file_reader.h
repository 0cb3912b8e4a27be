// The process that serves a trace file, for those who want its answers and no window of it.
#pragma once

#include "inspector/model/compare/trace_reader.h"

namespace tapedeck::app {

std::unique_ptr<inspector::TraceReader> makeTraceReader();

}  // namespace tapedeck::app
