#include "engine/record/trace_file/file_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace_file/format.h"
#include "engine/record/trace_file/sections.h"

namespace tapedeck::trace_file {
namespace {

constexpr std::uint64_t most_cached = std::uint64_t{256} << 20;
constexpr std::size_t most_value_problems = 1000;
// Higher ids would leave too few for recomputed values.
constexpr std::uint64_t highest_tensor = TensorTable::id_limit / 2;

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
         bytes[3];
}

}  // namespace

void FileSource::refuse_file(const std::string& cause) const {
  throw TraceFileError("The trace file " + path_ + " cannot be opened: " + cause + ".");
}

FileSource::FileSource(const std::string& path)
    : path_(path), database_([&] {
        check_header();
        try {
          return Database::open(path);
        } catch (const DatabaseError& error) {
          refuse_file(error.what());
        }
      }()) {
  bytes_ = std::filesystem::file_size(path_);
  try {
    check_schema();
    read_facts();
    read_index();
    for (const char* section : number_sections)
      each_page(section, [&](PageReader& page) { read_numbers(section, page, numbers_); });
  } catch (const DatabaseError& error) {
    refuse_file(std::string("it is damaged (") + error.what() + ")");
  }
  check_extent();
  title_ = info().title;
  cut_.newest_record = facts_.newest;
  cut_.newest_tensor = facts_.newest_tensor;
}

// The file's header has its length: truncation is reported before anything else is read.
void FileSource::check_header() {
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0) refuse_file(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) refuse_file("it is not a regular file");
  std::ifstream stream(path_, std::ios::binary);
  if (!stream) refuse_file(std::strerror(errno));
  unsigned char header[100] = {};
  stream.read(reinterpret_cast<char*>(header), sizeof(header));
  constexpr char begin[] = "SQLite format 3";
  const auto got = static_cast<std::size_t>(stream.gcount());
  if (got < sizeof(begin) || std::memcmp(header, begin, sizeof(begin)) != 0)
    refuse_file(got == 0 ? "it is empty" : "it is not a trace file");
  if (got < sizeof(header)) refuse_file("it is truncated: it has " + std::to_string(got) + " bytes");
  if (static_cast<std::int32_t>(big_endian(header + 68)) != application_id)
    refuse_file("it is a database, but not a trace file");
  const std::uint32_t written = big_endian(header + 60);
  if (written < static_cast<std::uint32_t>(oldest_readable_version) ||
      written > static_cast<std::uint32_t>(format_version))
    refuse_file("it has version " + std::to_string(written) + " of the format, this program reads versions " +
                std::to_string(oldest_readable_version) + " to " + std::to_string(format_version));
  version_ = written;
  const unsigned half = header[16] * 256u + header[17];
  const std::uint64_t page = half == 1 ? 65536 : half;
  const std::uint64_t due = page * big_endian(header + 28);
  const auto size = static_cast<std::uint64_t>(facts.st_size);
  if (size < due)
    refuse_file("it is truncated: it has " + std::to_string(size) + " bytes of " + std::to_string(due));
}

void FileSource::check_schema() {
  std::set<std::string> due(std::begin(tables), std::end(tables)), found;
  Statement rows =
      database_.prepare("SELECT type, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_auto%'");
  while (rows.step()) {
    if (rows.text(0) != "table" || !due.contains(rows.text(1)))
      refuse_file("it has an unexpected " + rows.text(0));
    found.insert(rows.text(1));
  }
  if (found != due) refuse_file("a table is missing");
}

void FileSource::read_facts() {
  std::map<std::string, std::int64_t> numbers;
  Statement rows = database_.prepare("SELECT name, value FROM about");
  while (rows.step()) {
    if (rows.text(0) == "engine_version")
      facts_.engine_version = rows.text(1);
    else
      numbers[rows.text(0)] = rows.integer(1);
  }
  PageWriter all;
  all.text(facts_.engine_version);
  facts_.index_checksum = static_cast<std::uint64_t>(numbers["index_checksum"]);
  all.signed_number(numbers["index_checksum"]);
  const auto number = [&](const char* name, std::uint64_t most) {
    const auto found = numbers.find(name);
    if (found == numbers.end()) refuse_file(std::string("it lacks its ") + name);
    if (found->second < 0 || static_cast<std::uint64_t>(found->second) > most)
      refuse_file(std::string("its ") + name + " is " + std::to_string(found->second) + ", the most is " +
                  std::to_string(most));
    all.signed_number(found->second);
    return static_cast<std::uint64_t>(found->second);
  };
  constexpr std::uint64_t any = INT64_MAX / 2;
  facts_.started_unix_ms = static_cast<std::int64_t>(number("started_unix_ms", any));
  facts_.saved_unix_ms = static_cast<std::int64_t>(number("saved_unix_ms", any));
  facts_.oldest = static_cast<std::uint32_t>(number("oldest_record", Trace::newest_possible));
  facts_.newest = static_cast<std::uint32_t>(number("newest_record", Trace::newest_possible));
  facts_.records_ended = number("records_ended", facts_.newest);
  facts_.oldest_tensor = number("oldest_tensor", highest_tensor);
  facts_.newest_tensor = number("newest_tensor", highest_tensor);
  facts_.cells_ended = number("cells_ended", any);
  if (facts_.oldest == 0 || facts_.oldest > facts_.newest + 1)
    refuse_file("its oldest_record is " + std::to_string(facts_.oldest));
  if (const auto sum = numbers.find("checksum");
      sum == numbers.end() ||
      static_cast<std::uint64_t>(sum->second) != page_checksum("about", 0, all.bytes()))
    refuse_file("its description is damaged: its checksum is wrong");
}

void FileSource::read_index() {
  Statement rows = database_.prepare("SELECT rowid, section, number, checksum FROM pages");
  PageSums sums;
  while (rows.step()) {
    const std::int64_t number = rows.integer(2);
    if (number < 0) refuse_file("a page of " + rows.text(1) + " has a negative number");
    index_[rows.text(1)][static_cast<std::uint64_t>(number)] = {rows.integer(0),
                                                                static_cast<std::uint64_t>(rows.integer(3))};
  }
  for (const auto& [section, pages] : index_)
    for (const auto& [number, page] : pages) sums[section][number] = page.checksum;
  if (index_checksum(sums) != facts_.index_checksum) refuse_file("it has other pages than were written");
}

/// Checks that every page of records exists.
void FileSource::check_extent() const {
  const Pages& pages = pages_of("records");
  if (facts_.oldest > facts_.newest) return;
  const std::uint64_t first = facts_.oldest / Trace::page_size, last = facts_.newest / Trace::page_size;
  if (pages.size() != last - first + 1 || pages.begin()->first != first || pages.rbegin()->first != last)
    refuse_file("it has " + std::to_string(pages.size()) + " pages of records, " +
                std::to_string(last - first + 1) + " are expected");
}

const FileSource::Pages& FileSource::pages_of(const std::string& section) const {
  static const Pages none;
  const auto found = index_.find(section);
  return found == index_.end() ? none : found->second;
}

std::vector<std::uint8_t> FileSource::page_bytes(const std::string& section, std::uint64_t number) const {
  const Pages& pages = pages_of(section);
  const auto found = pages.find(number);
  if (found == pages.end()) throw DamagedPage("it is missing");
  std::vector<std::uint8_t> bytes;
  {
    const std::lock_guard lock(mutex_);
    try {
      Statement row = database_.prepare("SELECT data FROM pages WHERE rowid = ?");
      row.bind(0, found->second.row);
      if (!row.step()) throw DamagedPage("it is missing");
      const auto blob = row.blob(0);
      bytes.assign(blob.begin(), blob.end());
    } catch (const DatabaseError& error) {
      throw DamagedPage(error.what());
    }
  }
  if (page_checksum(section, number, bytes) != found->second.checksum)
    throw DamagedPage("its checksum is wrong");
  return bytes;
}

template <class Read>
void FileSource::each_page(const char* section, Read&& read) {
  for (const auto& [number, page] : pages_of(section)) {
    try {
      const std::vector<std::uint8_t> bytes = page_bytes(section, number);
      PageReader reader(bytes);
      read(reader);
      reader.end();
    } catch (const DamagedPage& damage) {
      refuse_file("page " + std::to_string(number) + " of its " + section + " is damaged: " + damage.what());
    }
  }
}

void FileSource::load_sections(Recorder& recorder) {
  recorder_ = &recorder;
  const SectionIn in{numbers_, facts_.newest, facts_.newest_tensor, version_};
  for (const Section& section : sections())
    each_page(section.name, [&](PageReader& page) { section.load(recorder, page, in); });
}

std::string FileSource::tell(const std::string& what, const std::string& problem) const {
  std::string sentence = "In the trace file " + path_ + " " + what + " is damaged: " + problem + ".";
  const std::lock_guard lock(state_mutex_);
  if (problem_.empty()) problem_ = sentence;
  return sentence;
}

bool FileSource::records(std::uint32_t first, std::uint32_t last,
                         const std::function<void(StoredRecord&&)>& take, std::string& error) {
  try {
    const std::vector<std::uint8_t> bytes = page_bytes("records", first / Trace::page_size);
    PageReader page(bytes);
    const RecordChecks checks{facts_.newest_tensor,
                              [&](std::uint64_t id) { return recorder_->trace().tensors().get(id); }};
    for (StoredRecord& record : read_records(page, first, last, numbers_, checks)) take(std::move(record));
    return true;
  } catch (const DamagedPage& damage) {
    error = tell("the page of the records " + std::to_string(first) + " to " + std::to_string(last),
                 damage.what());
    return false;
  }
}

bool FileSource::has_tensors(std::uint64_t index) const {
  return pages_of("tensors").contains(index);
}

void FileSource::tensors(
    std::uint64_t index,
    const std::function<void(std::uint64_t id, TensorOrigin, TensorTable::Life, std::uint32_t name)>& take) {
  try {
    const std::vector<std::uint8_t> bytes = page_bytes("tensors", index);
    PageReader page(bytes);
    std::vector<StoredTensor> tensors;  // all of them or none
    read_tensors(page, index, cut_, numbers_, [&](const StoredTensor& tensor) { tensors.push_back(tensor); });
    for (const StoredTensor& tensor : tensors) {
      TensorOrigin origin = tensor.origin;
      if (tensor.has_small)
        origin = values_->restore_small(tensor.id, origin, tensor.small.data(), tensor.small.size());
      take(tensor.id, origin, tensor.life, tensor.name);
    }
  } catch (const DamagedPage& damage) {
    const std::uint64_t first = index * TensorTable::block_size;
    tell("the page of the tensors " + std::to_string(first) + " to " +
             std::to_string(first + TensorTable::block_size - 1),
         damage.what());
  }
}

Tensor FileSource::value(std::uint64_t id) {
  {
    const std::lock_guard lock(state_mutex_);
    if (const auto found = cache_.find(id); found != cache_.end()) return found->second;
    if (value_problems_.contains(id)) return {};
  }
  const RecordedSpec spec = spec_of(recorder_->trace().tensors().get(id).spec());
  std::string problem;
  try {
    const Tensor value = read_stored_value(id, spec);
    keep_value(id, value);
    return value;
  } catch (const DamagedPage& damage) {
    problem = damage.what();
  } catch (const DatabaseError& damage) {
    problem = damage.what();
  } catch (const ResourceExhaustedError& error) {
    problem = error.what();
  }
  const std::string sentence = tell("the value of tensor " + std::to_string(id), problem);
  const std::lock_guard lock(state_mutex_);
  if (value_problems_.size() < most_value_problems) value_problems_.emplace(id, sentence);
  return {};
}

Tensor FileSource::read_stored_value(std::uint64_t id, const RecordedSpec& spec) {
  const std::lock_guard lock(mutex_);
  Statement size =
      database_.prepare("SELECT count(*), total(length(data)) FROM value_parts WHERE tensor = ?");
  size.bind(0, static_cast<std::int64_t>(id));
  if (!size.step() || size.integer(0) == 0) throw DamagedPage("it is missing");
  const auto total = static_cast<std::uint64_t>(std::max<std::int64_t>(0, size.integer(1)));
  if (total > bytes_) throw DamagedPage("it is longer than the file");
  Statement parts =
      database_.prepare("SELECT part, checksum, data FROM value_parts WHERE tensor = ? ORDER BY part");
  parts.bind(0, static_cast<std::int64_t>(id));
  std::int64_t due = 0;
  return read_value(spec, total, [&]() -> std::span<const std::uint8_t> {
    if (!parts.step()) return {};
    if (parts.integer(0) != due) throw DamagedPage("a part is missing");
    const std::span<const std::uint8_t> bytes = parts.blob(2);
    if (part_checksum(id, static_cast<std::uint64_t>(due++), bytes) !=
        static_cast<std::uint64_t>(parts.integer(1)))
      throw DamagedPage("a checksum is wrong");
    return bytes;
  });
}

void FileSource::keep_value(std::uint64_t id, const Tensor& value) {
  std::vector<Tensor> released;
  const std::lock_guard lock(state_mutex_);
  const std::uint64_t size = value.storage()->size();
  if (size > most_cached || !cache_.try_emplace(id, value).second) return;
  cache_order_.push_back(id);
  cache_bytes_ += size;
  for (; cache_bytes_ > most_cached; cache_order_.pop_front()) {
    const auto oldest = cache_.find(cache_order_.front());
    cache_bytes_ -= oldest->second.storage()->size();
    released.push_back(std::move(oldest->second));
    cache_.erase(oldest);
  }
}

std::string FileSource::problem_of_value(std::uint64_t id) const {
  const std::lock_guard lock(state_mutex_);
  const auto found = value_problems_.find(id);
  return found == value_problems_.end() ? std::string() : found->second;
}

std::string FileSource::problem() const {
  const std::lock_guard lock(state_mutex_);
  return problem_;
}

bool FileSource::mentions_gpus() const {
  return std::any_of(numbers_.specs.begin(), numbers_.specs.end(),
                     [](std::uint32_t spec) { return spec_of(spec).device.kind == DeviceKind::gpu; });
}

std::uint64_t FileSource::cached_bytes() const {
  const std::lock_guard lock(state_mutex_);
  return cache_bytes_;
}

/// The `at`th text of a section's only page.
std::string FileSource::read_text(const char* section, std::size_t at) const {
  const std::vector<std::uint8_t> bytes = page_bytes(section, 0);
  PageReader page(bytes);
  for (std::size_t i = 0; i < at; ++i) page.text();
  return std::string(page.text());
}

protocol::TraceFileInfo FileSource::info() const {
  protocol::TraceFileInfo info;
  info.path = path_;
  info.bytes = bytes_;
  info.engine_version = facts_.engine_version;
  info.started_unix_ms = facts_.started_unix_ms;
  info.saved_unix_ms = facts_.saved_unix_ms;
  try {
    info.title = read_text("notebook", 0);
    info.notebook = protocol::if_there(read_text("notebook", 1));
    const std::vector<std::uint8_t> labels = page_bytes("labels", 0), sources = page_bytes("sources", 0);
    PageReader label(labels), source(sources);
    while (label.left() > 0) {
      const std::string cell(label.text());
      info.labels.push_back({cell, std::string(label.text())});
    }
    while (source.left() > 0) {
      const std::string cell(source.text());
      info.sources.push_back({cell, std::string(source.text()), ""});
    }
  } catch (const DamagedPage& damage) {
    tell("the page of the notebook, its labels or its sources", damage.what());
  }
  info.problem = protocol::if_there(problem());
  return info;
}

std::optional<std::string> FileSource::source_text(const std::string& cell, const std::string& file) const {
  try {
    const std::vector<std::uint8_t> index = page_bytes("sources", 0);
    PageReader page(index);
    for (std::uint64_t number = 0; page.left() > 0; ++number) {
      const std::string_view known_cell = page.text(), known_file = page.text();
      if (known_cell != cell || known_file != file) continue;
      const std::vector<std::uint8_t> bytes = page_bytes("source_texts", number);
      PageReader text(bytes);
      return std::string(text.text());
    }
  } catch (const DamagedPage& damage) {
    tell("a source", damage.what());
  }
  return std::nullopt;
}

}  // namespace tapedeck::trace_file
