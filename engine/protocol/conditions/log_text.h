// The line that a log point writes, and the point that it adds to a curve.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/protocol/conditions/condition.h"

namespace tapedeck::protocol {

/// What is known of the op: its name, record, line and shape. Where there is none, the text says so.
using LogFact = std::function<std::string(std::string_view name)>;
using LogMeasure = std::function<std::string(const Quantity& quantity)>;

class LogText {
 public:
  LogText() = default;
  /// "norm is {norm(grad)} at {op}". Facts are {op}, {record}, {line}, {hits} and {shape}, the first
  /// output's. Throws ConditionError with the position in the text.
  static LogText line(std::string_view text);
  /// "NAME = norm(grad)", or only the quantity, which is then also the name.
  static LogText point(std::string_view text);

  /// Whether it uses a fact that is known only after the op has ended.
  bool needs_end() const;
  /// Whether it uses a fact of an op, i.e. anything but the line and the number of hits.
  bool looks_at_ops() const;
  std::string write(const LogFact& fact, const LogMeasure& measure) const;
  const std::string& curve() const { return curve_; }
  const Quantity& quantity() const { return std::get<Quantity>(pieces_.front()); }

 private:
  struct Fact {
    std::string name;
  };
  std::vector<std::variant<std::string, Fact, Quantity>> pieces_;
  std::string curve_;
};

/// "1.5", "0.001", "1.2e-09", "nan": six significant digits.
std::string quantity_text(double value);
/// "7,840".
std::string count_text(std::uint64_t count);

}  // namespace tapedeck::protocol
