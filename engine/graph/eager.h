// Whether calls of graph functions run their graphs.
#pragma once

namespace tapedeck::graph {

/// True: they run the functions as they are, op by op. For the whole process; any thread may call.
bool functions_run_eagerly();
/// Holds from the next call on.
void set_functions_run_eagerly(bool on);

}  // namespace tapedeck::graph
