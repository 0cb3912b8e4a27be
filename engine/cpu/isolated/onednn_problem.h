// Whether the oneDNN that isolated_onednn.cpp loads was found.
#pragma once

#include <string>

namespace tapedeck::cpu {

/// Why no function of oneDNN may be called: the linker's sentence. Empty: all were found.
const std::string& onednn_problem();

}  // namespace tapedeck::cpu
