// The attributes of one op call: everything that is not a tensor (axis, transpose flags, dtype, seed …).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/tensor/dtype.h"

namespace tapedeck {

/// std::monostate represents Python's None.
using Attribute =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, std::vector<std::int64_t>>;

/// An attribute's name for reading it. Its key is computed at compile time: a row compares keys, not
/// characters.
class AttributeName {
 public:
  consteval AttributeName(const char* text) : text_(text), key_(key_of(text)) {}
  constexpr const char* text() const { return text_; }
  constexpr std::uint32_t key() const { return key_; }
  /// FNV-1a.
  static constexpr std::uint32_t key_of(std::string_view text) {
    std::uint32_t key = 2166136261U;
    for (const char letter : text) key = (key ^ static_cast<unsigned char>(letter)) * 16777619U;
    return key;
  }

 private:
  const char* text_;
  std::uint32_t key_;
};

/// Values in the order of the op's AttributeSpecs. Empty if the op has none; otherwise every slot is set.
/// Shared and immutable, so that tape and recorder keep them at the cost of a pointer.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<Attribute> values)
      : values_(std::make_shared<const std::vector<Attribute>>(values)) {}
  explicit Attributes(std::vector<Attribute> values)
      : values_(std::make_shared<const std::vector<Attribute>>(std::move(values))) {}

  std::size_t size() const { return values_ ? values_->size() : 0; }
  /// For loops over all of them; read a single one by its name: OpContext::get, OpDef::value_of.
  const Attribute& operator[](std::size_t i) const { return (*values_)[i]; }

 private:
  std::shared_ptr<const std::vector<Attribute>> values_;
};

/// As Python writes it: "True", "3", "0.5", "'same'", "float32", "[0, 1]", "None".
std::string to_string(const Attribute& attribute);

}  // namespace tapedeck
