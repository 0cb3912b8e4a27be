#include "app/notebook/document/stream_text.h"

#include <string_view>

namespace tapedeck::app {
namespace {

/// Columns that the text takes: characters, without escape sequences.
std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++columns;
    }
  }
  return columns;
}

/// Byte position behind the first `columns` characters of a text without escape sequences.
std::size_t behind(std::string_view text, std::size_t columns) {
  std::size_t i = 0;
  while (i < text.size() && columns > 0) {
    ++i;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) ++i;
    --columns;
  }
  return i;
}

/// The line `old` after `fresh` was written over its beginning.
std::string overwrite(std::string_view old, std::string_view fresh) {
  const std::size_t columns = width(fresh);
  if (columns >= width(old)) return std::string(fresh);
  if (old.find('\x1b') != std::string_view::npos) return std::string(old) + "\r" + std::string(fresh);
  return std::string(fresh) + std::string(old.substr(behind(old, columns)));
}

}  // namespace

std::size_t appendStreamText(std::string& stream, const std::string& text) {
  const std::size_t line_start = stream.rfind('\n') + 1;  // npos + 1 is 0
  if (text.find('\r') == std::string::npos && stream.find('\r', line_start) == std::string::npos) {
    const std::size_t before = stream.size();
    stream += text;
    return before;
  }
  const std::string tail = stream.substr(line_start) + text;
  stream.resize(line_start);
  std::string line;
  std::size_t i = 0;
  bool fresh_line = true;
  while (i < tail.size()) {
    std::size_t end = tail.find_first_of("\r\n", i);
    if (end == std::string::npos) end = tail.size();
    const std::string_view piece = std::string_view(tail).substr(i, end - i);
    if (fresh_line) {
      line = piece;
    } else if (!piece.empty()) {
      line = overwrite(line, piece);
    }
    fresh_line = false;
    i = end;
    // "\r\n", and repeated returns before it, end a line as "\n" does.
    std::size_t after = i;
    while (after < tail.size() && tail[after] == '\r') ++after;
    if (after < tail.size() && tail[after] == '\n') {
      stream += line;
      stream += '\n';
      line.clear();
      fresh_line = true;
      i = after + 1;
    } else if (after == tail.size()) {
      if (after > i) line += '\r';
      i = after;
    } else {
      i = after;
    }
  }
  stream += line;
  return line_start;
}

}  // namespace tapedeck::app
