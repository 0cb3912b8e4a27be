#include "app/notebook/document/printed_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <QByteArray>
#include <QLocale>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/notebook/document/stream_text.h"

namespace tapedeck::app {
namespace {

constexpr std::size_t rows_per_checkpoint = 64;
constexpr std::size_t most_in_memory = std::size_t{256} << 10;
/// An unfinished line of more bytes is settled but for its end.
constexpr std::size_t longest_open = std::size_t{1} << 20;
constexpr std::size_t kept_open = std::size_t{64} << 10;
constexpr std::size_t longest_style = 256;

bool continuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

/// Memory is what such a text must not fill, and /tmp is memory on many machines.
QByteArray folder() {
  const QByteArray chosen = qgetenv("TMPDIR");
  if (!chosen.isEmpty()) return chosen;
  return ::access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

/// A file without a name, of its owner alone; -1 and errno.
int openUnnamed() {
  const QByteArray where = folder();
  const int file = ::open(where.constData(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
  QByteArray name = where + "/tapedeck-output-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.constData());
  return named;
}

/// Adds the colour sequences in `text` to those in force.
void follow(std::string_view text, std::string& style) {
  for (std::size_t at = text.find('\x1b'); at != std::string_view::npos; at = text.find('\x1b', at + 1)) {
    if (at + 1 >= text.size() || text[at + 1] != '[') continue;
    std::size_t end = at + 2;
    while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == ';')) ++end;
    if (end >= text.size() || text[end] != 'm') continue;
    const std::string_view codes = text.substr(at + 2, end - at - 2);
    if (codes.empty() || codes == "0" || codes.starts_with("0;")) style.clear();
    if (codes.empty() || codes == "0") continue;
    // A program that never resets repeats its sequences: the last ones decide.
    style += text.substr(at, end + 1 - at);
    if (style.size() > longest_style) style.erase(0, style.find('\x1b', style.size() - longest_style / 2));
  }
}

}  // namespace

std::size_t rowEnd(std::string_view line, std::size_t begin) {
  if (line.size() - begin <= PrintedText::row_bytes) return line.size();
  std::size_t end = begin + PrintedText::row_bytes;
  while (end > begin + PrintedText::row_bytes - 4 && continuesCharacter(line[end])) --end;
  return end;
}

std::string linesText(std::size_t lines) {
  const QLocale english(QLocale::English);
  return english.toString(qulonglong{lines}).toStdString() + (lines == 1 ? " line" : " lines");
}

std::string sizeText(std::size_t bytes) {
  return QLocale(QLocale::English)
      .formattedDataSize(static_cast<qint64>(bytes), bytes < 1'000 ? 0 : 1, QLocale::DataSizeSIFormat)
      .toStdString();
}

PrintedText::Store::~Store() {
  if (file >= 0) ::close(file);
}

PrintedText::PrintedText(std::string text) : tail_(std::move(text)) {
  index();
}

std::size_t PrintedText::append(const std::string& text) {
  if (size() >= most_bytes || (!failure_.empty() && tail_.size() >= most_without_file)) {
    spill();  // there may be room again
    if (size() >= most_bytes || tail_.size() >= most_without_file) {
      const auto breaks = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
      leftOutBytes_ += text.size();
      leftOutLines_ += breaks;
      gapBytes_ += text.size();
      gapLines_ += breaks;
      return size();
    }
  }
  // Finished rows stay as they are: a carriage return takes back what is behind them.
  std::string open = tail_.substr(indexed_ - inFile_);
  tail_.resize(indexed_ - inFile_);
  const std::size_t kept = indexed_ + appendStreamText(open, gapNote() + text);
  gapBytes_ = gapLines_ = 0;
  tail_ += open;
  index();
  spill();
  return kept;
}

void PrintedText::replaceFrom(std::size_t keep, std::string_view rest) {
  keep = std::min(keep, size());
  if (keep < indexed_) {
    const std::string failure = std::move(failure_);
    *this = PrintedText(bytes(0, keep) + std::string(rest));
    failure_ = failure;
    return;
  }
  tail_.resize(keep - inFile_);
  tail_ += rest;
  index();
}

std::size_t PrintedText::lines() const {
  return breaks_ + (openRows_.empty() ? 0 : 1);
}

// ---- rows ----

void PrintedText::index() {
  if (!store_) store_ = std::make_shared<Store>();
  if (store_->end != inFile_ || store_->checkpoints.size() != checkpoints_) fork();
  const std::string_view text(tail_);
  std::size_t begin = indexed_ - inFile_;
  for (std::size_t end = text.find('\n', begin); end != std::string_view::npos;
       end = text.find('\n', begin)) {
    addRows(text.substr(begin, end + 1 - begin));
    ++breaks_;
    begin = end + 1;
    indexed_ = inFile_ + begin;
  }
  if (text.size() - begin > longest_open) {
    std::size_t end = begin;
    while (text.size() - end > kept_open) end = rowEnd(text, end);
    addRows(text.substr(begin, end - begin));
    indexed_ = inFile_ + end;
  }
  findOpenRows();
}

/// Of a whole line, or of whole rows of one.
void PrintedText::addRows(std::string_view line) {
  const bool whole = line.ends_with('\n');
  const std::size_t length = line.size() - (whole ? 1 : 0);
  std::size_t begin = 0;
  do {
    if (indexedRows_ % rows_per_checkpoint == 0) {
      store_->checkpoints.push_back({indexed_ + begin, breaks_, style_});
      ++checkpoints_;
    }
    const std::size_t end = rowEnd(line.substr(0, length), begin);
    if (std::memchr(line.data() + begin, '\x1b', end - begin) != nullptr)
      follow(line.substr(begin, end - begin), style_);
    begin = end;
    ++indexedRows_;
  } while (begin < length);
}

void PrintedText::findOpenRows() {
  openRows_.clear();
  const std::string_view text(tail_);
  for (std::size_t begin = indexed_ - inFile_; begin < text.size(); begin = rowEnd(text, begin))
    openRows_.push_back(inFile_ + begin);
}

std::vector<PrintedText::Row> PrintedText::read(std::size_t first, std::size_t count) const {
  std::vector<Row> found;
  const std::size_t last = std::min(rows(), first + count);
  std::size_t row = first;
  while (row < std::min(last, indexedRows_)) {
    const std::size_t at = row / rows_per_checkpoint;
    const Checkpoint& from = store_->checkpoints[at];
    const std::size_t end = at + 1 < checkpoints_ ? store_->checkpoints[at + 1].offset : indexed_;
    const std::string chunk = bytes(from.offset, end);
    std::string style = from.style;
    std::size_t number = at * rows_per_checkpoint;
    std::size_t begin = 0;
    while (begin < chunk.size() && row < last) {
      const std::size_t line = std::min(chunk.find('\n', begin), chunk.size());
      const std::size_t row_end = rowEnd(std::string_view(chunk).substr(0, line), begin);
      const std::string_view text = std::string_view(chunk).substr(begin, row_end - begin);
      if (number == row) {
        const bool breaks = row_end < chunk.size() && chunk[row_end] == '\n';
        found.push_back({std::string(text), style, !breaks});
        ++row;
      }
      follow(text, style);
      ++number;
      begin = row_end == line ? line + 1 : row_end;
    }
    // What could not be read back.
    for (const std::size_t there = std::min({last, indexedRows_, (at + 1) * rows_per_checkpoint});
         row < there; ++row)
      found.push_back({});
  }
  std::string style = style_;
  for (std::size_t i = 0; i < openRows_.size() && indexedRows_ + i < last; ++i) {
    const std::size_t end = i + 1 < openRows_.size() ? openRows_[i + 1] : size();
    Row open{bytes(openRows_[i], end), style, i + 1 < openRows_.size()};
    follow(open.text, style);
    if (indexedRows_ + i >= first) found.push_back(std::move(open));
  }
  return found;
}

std::size_t PrintedText::rowAt(std::size_t byte) const {
  if (rows() == 0) return 0;
  if (byte >= indexed_ && !openRows_.empty()) {
    const auto after = std::upper_bound(openRows_.begin(), openRows_.end(), byte);
    const auto before = static_cast<std::size_t>(after - openRows_.begin());
    return indexedRows_ + (before > 0 ? before - 1 : 0);
  }
  const auto first = store_->checkpoints.begin();
  const auto after = std::upper_bound(first, first + static_cast<std::ptrdiff_t>(checkpoints_), byte,
                                      [](std::size_t at, const Checkpoint& c) { return at < c.offset; });
  const auto at = static_cast<std::size_t>(after - first) - 1;
  std::size_t row = at * rows_per_checkpoint;
  const std::size_t offset = store_->checkpoints[at].offset;
  const std::string chunk = bytes(offset, std::min(indexed_, byte + row_bytes + 1));
  for (std::size_t from = 0; from < chunk.size() && row + 1 < indexedRows_; ++row) {
    const std::size_t line = std::min(chunk.find('\n', from), chunk.size());
    const std::size_t end = rowEnd(std::string_view(chunk).substr(0, line), from);
    from = end == line ? line + 1 : end;
    if (offset + from > byte) break;
  }
  return row;
}

// ---- the file ----

/// Another copy of this text went on already: what is shared is its.
void PrintedText::fork() {
  auto own = std::make_shared<Store>();
  own->checkpoints.assign(store_->checkpoints.begin(),
                          store_->checkpoints.begin() + static_cast<std::ptrdiff_t>(checkpoints_));
  tail_ = bytes(0, inFile_) + tail_;
  inFile_ = 0;
  store_ = std::move(own);
}

void PrintedText::spill() {
  if (tail_.size() <= most_in_memory || !store_) return;
  const std::size_t done = indexed_ - inFile_;
  if (done == 0 || !writeOut(std::string_view(tail_).substr(0, done))) return;
  tail_.erase(0, done);
  inFile_ += done;
  failure_.clear();
}

bool PrintedText::writeOut(std::string_view text) {
  if (store_->file < 0) store_->file = openUnnamed();
  // After a failure a little shows whether there is room again.
  constexpr std::size_t probe = 4'096;
  std::size_t done = 0;
  while (store_->file >= 0 && done < text.size()) {
    const std::size_t wanted =
        failure_.empty() || done > 0 ? text.size() - done : std::min(probe, text.size());
    const ssize_t wrote =
        ::pwrite(store_->file, text.data() + done, wanted, static_cast<off_t>(store_->end + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  if (done < text.size()) {
    failure_ = std::strerror(errno);
    return false;
  }
  store_->end += text.size();
  return true;
}

std::string PrintedText::bytes(std::size_t begin, std::size_t end) const {
  end = std::min(end, size());
  if (begin >= end) return {};
  std::string text;
  if (begin < inFile_) {
    const std::size_t wanted = std::min(end, inFile_) - begin;
    text.resize(wanted);
    std::size_t done = 0;
    while (done < wanted) {
      const ssize_t got =
          ::pread(store_->file, text.data() + done, wanted - done, static_cast<off_t>(begin + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    text.resize(done);
    if (done < wanted)
      text += "\n[… " + sizeText(wanted - done) + " could not be read back from the temporary file …]\n";
    begin = inFile_;
  }
  if (end > begin) text.append(tail_, begin - inFile_, end - begin);
  return text;
}

// ---- what a file keeps of it ----

PrintedText::Parts PrintedText::parts(std::size_t limit) const {
  if (limit == 0 || size() <= limit) return {size(), size(), 0};
  constexpr std::size_t reach = 64 * 1024;  // lines are longer seldom
  Parts parts;
  const std::size_t half = limit / 2;
  const std::size_t from = half > reach ? half - reach : 0;
  const std::string head = bytes(from, half);
  const std::size_t head_break = head.rfind('\n');
  std::size_t cut = head_break == std::string::npos ? head.size() : head_break + 1;
  while (head_break == std::string::npos && cut > 0 && head.size() - cut < 4 &&
         continuesCharacter(bytes(from + cut, from + cut + 1)[0]))
    --cut;
  parts.headEnd = from + cut;
  const std::size_t tail_from = size() - half;
  const std::string tail = bytes(tail_from, tail_from + reach);
  const std::size_t tail_break = tail.find('\n');
  std::size_t skip = tail_break == std::string::npos ? 0 : tail_break + 1;
  while (tail_break == std::string::npos && skip < tail.size() && continuesCharacter(tail[skip])) ++skip;
  parts.tailBegin = std::max(parts.headEnd, tail_from + skip);
  const std::size_t shown = lineBreaks(0, parts.headEnd) + lineBreaks(parts.tailBegin, size());
  parts.left = breaks_ > shown ? breaks_ - shown : 0;
  return parts;
}

std::size_t PrintedText::lineBreaks(std::size_t begin, std::size_t end) const {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::size_t breaks = 0;
  for (; begin < end; begin += piece) {
    const std::string text = bytes(begin, std::min(end, begin + piece));
    breaks += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }
  return breaks;
}

std::size_t PrintedText::linesNotStored(std::size_t limit) const {
  return parts(limit).left;
}

std::string PrintedText::stored(std::size_t limit) const {
  const Parts kept = parts(limit);
  if (kept.headEnd == kept.tailBegin) return all() + gapNote();
  std::string text = bytes(0, kept.headEnd);
  if (!text.ends_with('\n')) text += '\n';
  text += "[… " + linesText(kept.left) + ", " + sizeText(kept.tailBegin - kept.headEnd) +
          ", of this output are not stored here: up to " + sizeText(limit) + " of an output are …]\n";
  return text + bytes(kept.tailBegin, size()) + gapNote();
}

/// Where something is missing the text says so itself.
std::string PrintedText::gapNote() const {
  if (gapBytes_ == 0) return {};
  return "\n[… " + linesText(gapLines_) + ", " + sizeText(gapBytes_) +
         ", of this output are missing here: there was no room for them …]\n";
}

std::string PrintedText::trouble() const {
  if (leftOutBytes_ == 0) {
    if (failure_.empty()) return {};
    return "The temporary file for this output can't be written (" + failure_ +
           "): further output is kept in memory, up to " + sizeText(most_without_file) + ".";
  }
  const std::string left = linesText(leftOutLines_) + ", " + sizeText(leftOutBytes_) + ", at the end of it";
  if (size() >= most_bytes)
    return left + " are left out: an output keeps at most " + sizeText(most_bytes) + ".";
  return left + " are left out: the temporary file for this output can't be written (" + failure_ + ").";
}

}  // namespace tapedeck::app
