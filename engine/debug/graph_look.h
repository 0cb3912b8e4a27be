// Graph functions and their graphs as the protocol's messages. Reads the engine's own data alone, so it
// answers whatever the program does at the moment.
#pragma once

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"

namespace tapedeck::debug {

/// Throws BadRequest for more than 200 functions at once.
protocol::GraphFunctions describe_functions(const protocol::GetGraphFunctions& request);

/// Nodes have the numbers of the trace in every stage, so that one node keeps its name. What a pass merged or
/// removed is a row where it was. Throws BadRequest for a stage that is not there or more than 2000 rows at
/// once; a Failure "gone" where the trace is not alive any longer, "played" for a gradient that is no graph.
/// A gradient's graph is traced when it is first asked for.
protocol::Reply describe_graph(const protocol::GetGraph& request, const CancelFlag* cancel);

}  // namespace tapedeck::debug
