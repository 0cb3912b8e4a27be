#include "engine/protocol/call_text.h"

#include <algorithm>
#include <utility>

namespace tapedeck::protocol {
namespace {

constexpr std::string_view spaces = " \t\f\r";

bool opens_bracket(char c) {
  return c == '(' || c == '[' || c == '{';
}
bool closes_bracket(char c) {
  return c == ')' || c == ']' || c == '}';
}

class Joiner {
 public:
  explicit Joiner(std::string_view code) : code_(code) {}

  std::string join() {
    while (at_ < code_.size()) {
      const char c = code_[at_];
      if (c == '"' || c == '\'')
        string(c);
      else if (c == '#')
        at_ = std::min(code_.find('\n', at_), code_.size());
      else if (c == '\n' || (c == '\\' && code_.substr(at_, 2) == "\\\n"))
        line_break();
      else
        text_ += code_[at_++];
    }
    drop_spaces();
    return std::move(text_);
  }

 private:
  void drop_spaces() {
    while (!text_.empty() && spaces.find(text_.back()) != std::string_view::npos) text_.pop_back();
  }

  /// Between brackets and what they enclose there is no space, nor before the dot of a method.
  void line_break() {
    at_ += code_[at_] == '\\' ? 2 : 1;
    drop_spaces();
    at_ = std::min(code_.find_first_not_of(" \t\f\r\n", at_), code_.size());
    if (at_ == code_.size() || text_.empty()) return;
    const char next = code_[at_];
    if (next == '#' || next == '\\') return;  // the break behind that counts
    if (!opens_bracket(text_.back()) && !closes_bracket(next) && next != '.') text_ += ' ';
  }

  void string(char quote) {
    const std::string triple(3, quote);
    const bool is_long = code_.substr(at_, 3) == triple;
    const std::string_view end = is_long ? std::string_view(triple) : std::string_view(triple).substr(0, 1);
    const auto take = [&](std::size_t count) {
      for (; count > 0 && at_ < code_.size(); --count, ++at_) {
        if (code_[at_] == '\n')
          text_ += "\\n";
        else
          text_ += code_[at_];
      }
    };
    take(end.size());
    while (at_ < code_.size() && code_.substr(at_, end.size()) != end) take(code_[at_] == '\\' ? 2 : 1);
    take(end.size());
  }

  const std::string_view code_;
  std::size_t at_ = 0;
  std::string text_;
};

}  // namespace

std::string on_one_line(std::string_view code) {
  return code.find('\n') == std::string_view::npos ? std::string(code) : Joiner(code).join();
}

}  // namespace tapedeck::protocol
