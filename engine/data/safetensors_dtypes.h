// The dtypes of the safetensors format.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapedeck::data {

struct SafetensorsDType {
  std::string_view name;    ///< in files
  std::string_view engine;  ///< the engine's name; "" if tensors lack it
  std::uint32_t bits;       ///< of one element
};

constexpr SafetensorsDType safetensors_dtypes[] = {
    {"BOOL", "bool", 8},      {"U8", "uint8", 8},       {"I8", "int8", 8},
    {"U16", "uint16", 16},    {"I16", "int16", 16},     {"F16", "float16", 16},
    {"BF16", "bfloat16", 16}, {"U32", "uint32", 32},    {"I32", "int32", 32},
    {"F32", "float32", 32},   {"U64", "uint64", 64},    {"I64", "int64", 64},
    {"F64", "float64", 64},   {"C64", "complex64", 64}, {"F4", "", 4},
    {"F6_E2M3", "", 6},       {"F6_E3M2", "", 6},       {"F8_E5M2", "", 8},
    {"F8_E4M3", "", 8},       {"F8_E8M0", "", 8},
};

}  // namespace tapedeck::data
