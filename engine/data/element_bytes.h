// Elements as bytes, for a cache in a file: for each component its dtype's number, its rank, its extents, and
// its values.
#pragma once

#include "engine/data/dataset.h"

namespace tapedeck::data {

/// UnimplementedError for a component that is a data set.
std::string bytes_of_element(const Element& element);
/// DataLossError naming `path` if the bytes are malformed.
Element element_from_bytes(std::string_view bytes, const std::string& path);

}  // namespace tapedeck::data
