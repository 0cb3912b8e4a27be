// A file of named tensors (.npz, safetensors) as one side of a comparison.
#pragma once

#include <memory>
#include <string>

#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// By its name: ".npz", ".safetensors".
bool is_tensor_file(const std::string& path);

/// A recorder that holds the file's tensors: each is what a record takes, "file.tensor", whose scope is the
/// tensor's name up to the last '/' or '.'; the tensor has the whole name. Throws ValueError ("tensor_file")
/// that names file, tensor and byte. A tensor of a dtype that the engine lacks is left out; `left_out` says
/// which.
std::shared_ptr<Recorder> open_tensor_file(const std::string& path, std::string* left_out = nullptr);

/// Whether that op is such a record's.
bool is_file_tensor(const OpDef& op);

}  // namespace tapedeck::debug
