#include "engine/record/trace_file/save.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace_file/database.h"
#include "engine/record/trace_file/record_page.h"
#include "engine/record/trace_file/sections.h"
#include "engine/record/trace_file/tensor_page.h"

namespace tapedeck::trace_file {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t longest_source = std::uintmax_t{4} << 20;  // bytes
constexpr std::uintmax_t most_source_bytes = std::uintmax_t{64} << 20;

[[noreturn]] void refuse_saving(const std::string& path, const std::string& cause) {
  throw TraceFileError("The trace cannot be saved as " + path + ": " + cause + ".");
}

std::int64_t unix_ms_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// A trace, also a damaged one.
bool has_trace(const std::string& path) {
  constexpr std::string_view begin = "SQLite format 3", traces = "TAPE";
  constexpr std::size_t place_of_id = 68;
  std::string header(place_of_id + traces.size(), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(header.data(), static_cast<std::streamsize>(header.size()));
  return header.starts_with(begin) && header.substr(place_of_id) == traces;
}

/// A temporary file beside the target, of mode 0600; removed unless it is renamed to it. It is locked as long
/// as its process lives: an unlocked one was left by a process that died, and the next save of the same
/// target removes it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : target_(path) {
    check_place(path);
    const fs::path target(path);
    const std::string stem = target.filename().string().substr(0, longest_stem) + '.';
    remove_left(target.parent_path(), stem);
    while (!make((target.parent_path() / stem).string())) {
    }
  }
  ~TemporaryFile() { remove(); }
  TemporaryFile(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

  /// To be called after everything is written. Makes the file's name safe from a crash as well as its
  /// contents.
  void put_in_place() {
    if (::fsync(descriptor_) != 0 || ::rename(path_.c_str(), target_.c_str()) != 0)
      refuse_saving(target_, std::strerror(errno));
    path_.clear();
    const int folder = ::open(fs::path(target_).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return;
    ::fsync(folder);  // some file systems have nothing to sync of a folder
    ::close(folder);
  }

 private:
  static void remove_left(const fs::path& folder, const std::string& stem) {
    const std::size_t length = stem.size() + std::strlen(any) + std::strlen(ending);
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.size() != length || !name.starts_with(stem) || !name.ends_with(ending)) continue;
      const int left = ::open(entry->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
      if (left < 0) continue;
      if (::flock(left, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
      ::close(left);
    }
  }
  /// False if another save mistook the new file for an abandoned one before it was locked.
  bool make(const std::string& stem) {
    path_ = stem + any + ending;
    descriptor_ = ::mkostemps(path_.data(), static_cast<int>(std::strlen(ending)), O_CLOEXEC);
    if (descriptor_ < 0) refuse_saving(target_, std::strerror(errno));
    // On a file system without locks no other process can lock it either.
    const bool taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    std::error_code ignored;
    if (!taken && fs::exists(path_, ignored)) return true;
    remove();
    return false;
  }
  void remove() {
    if (!path_.empty()) ::unlink(path_.c_str());
    ::close(descriptor_);
  }
  static constexpr const char* any = "XXXXXX";  // mkostemps puts others in their place
  static constexpr const char* ending = ".writing";
  static constexpr std::size_t longest_stem = 180;  // bytes; a file's name may have 255
  const std::string target_;
  std::string path_;  ///< empty: it is in place
  int descriptor_ = -1;
};

class Saving {
 public:
  Saving(const Recorder& recorder, const protocol::SaveTrace& request, const std::string& file,
         const CancelFlag* cancel, const ReplayProgress& progress)
      : recorder_(recorder),
        trace_(recorder.trace()),
        request_(request),
        database_(Database::create(file)),
        cancel_(cancel),
        progress_(progress) {
    newest_ = trace_.newest_finished();
    oldest_ = trace_.oldest_kept();
    cut_.newest_record = newest_;
    cut_.newest_tensor = detail::newest_tensor_id();
    held_ = recorder.values().held_ids();
    total_ = newest_ + 1 - std::min(oldest_, newest_ + 1) + held_.size();
  }

  protocol::TraceSaved run() {
    database_.run(("PRAGMA application_id=" + std::to_string(application_id)).c_str());
    database_.run(("PRAGMA user_version=" + std::to_string(version_without_foreign_ops)).c_str());
    for (const char* table : tables) database_.run(table);
    database_.run("BEGIN");
    {
      Statement pages = database_.prepare("INSERT INTO pages VALUES(?, ?, ?, ?)");
      put_page_ = [&](const char* section, std::uint64_t number, const PageWriter& page) {
        check_cancelled(cancel_);
        pages.bind(0, std::string_view(section)).bind(1, static_cast<std::int64_t>(number));
        const std::uint64_t sum = page_checksum(section, number, page.bytes());
        pages.bind(2, static_cast<std::int64_t>(sum));
        pages.bind(3, page.bytes()).run();
        pages_[section][number] = sum;
      };
      recorder_.collect_device_times();
      save_records();
      save_values();
      save_tensors();
      save_sections();
      save_sources();
      write_numbers(numbers_, put_page_);
      const std::int32_t version = !numbers_.calls.keys().empty() ? format_version
                                   : has_foreign_ops(numbers_)    ? version_without_calls
                                                                  : version_without_foreign_ops;
      database_.run(("PRAGMA user_version=" + std::to_string(version)).c_str());
      put_page_ = {};
    }
    save_about();
    database_.run("COMMIT");
    database_.close();
    protocol::TraceSaved saved;
    if (oldest_ <= newest_) {
      saved.first = oldest_;
      saved.last = newest_;
    }
    saved.values = cut_.stored.size();
    return saved;
  }

 private:
  void report(std::uint64_t more) {
    check_cancelled(cancel_);
    done_ += more;
    const auto now = std::chrono::steady_clock::now();
    if (!progress_ || now < next_progress_) return;
    next_progress_ = now + std::chrono::milliseconds(100);
    progress_(std::min(done_, total_), total_);
  }

  void save_records() {
    PageWriter page;
    for (std::uint64_t first = oldest_; first <= newest_;) {
      const std::uint64_t index = first / Trace::page_size;
      const std::uint64_t last = std::min<std::uint64_t>(newest_, (index + 1) * Trace::page_size - 1);
      page.clear();
      if (write_records(trace_, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last),
                        {newest_, cut_.newest_tensor}, numbers_, page, ended_)) {
        put_page_("records", index, page);
      } else if (trace_.oldest_kept() > first) {  // it was forgotten meanwhile
        oldest_ = trace_.oldest_kept();
        ended_ = 0;
        first = std::max<std::uint64_t>(oldest_, last + 1);
        oldest_ = static_cast<std::uint32_t>(first);
        continue;
      } else {
        refuse_saving(request_.path, "record " + std::to_string(first) + " is not written yet");
      }
      report(last - first + 1);
      first = last + 1;
    }
    oldest_tensor_ = trace_.oldest_tensor();
  }

  void save_values() {
    Statement parts = database_.prepare("INSERT INTO value_parts VALUES(?, ?, ?, ?)");
    std::sort(held_.begin(), held_.end());
    for (const std::uint64_t id : held_) {
      report(1);
      const TensorOrigin origin = trace_.tensors().get(id);
      if (!origin.known() || id > cut_.newest_tensor || origin.producer() > newest_) continue;
      if (recorder_.values().small_value(id)) continue;
      const Tensor value = recorder_.values().held(id);
      if (!value) continue;  // it was dropped meanwhile
      std::int64_t part = 0;
      write_value(value, [&](std::span<const std::uint8_t> bytes) {
        check_cancelled(cancel_);
        parts.bind(0, static_cast<std::int64_t>(id)).bind(1, part);
        const std::uint64_t sum = part_checksum(id, static_cast<std::uint64_t>(part++), bytes);
        parts.bind(2, static_cast<std::int64_t>(sum)).bind(3, bytes).run();
      });
      cut_.stored.insert(id);
    }
  }

  void save_tensors() {
    PageWriter page;
    for (const std::uint64_t block : trace_.tensors().used_blocks()) {
      check_cancelled(cancel_);
      page.clear();
      write_tensors(trace_.tensors(), recorder_.values(), block, cut_, numbers_, page);
      if (page.size() > 0) put_page_("tensors", block, page);
    }
  }

  void save_sections() {
    for (const Section& section : sections()) {
      std::uint64_t number = 0;
      SectionOut out{numbers_, newest_, cut_.newest_tensor,
                     [&](const PageWriter& page) { put_page_(section.name, number++, page); }};
      section.save(recorder_, out);
    }
  }

  /// Each source is a separate page, read on demand; the first page is the list of sources.
  void save_sources() {
    std::vector<protocol::SourceText> sources = request_.sources;
    std::set<std::string> files;
    for (const std::uint32_t number : numbers_.locations.keys())
      if (const SourceLocation location = location_of(number); !location.file.empty())
        files.insert(location.file);
    std::uintmax_t bytes = 0;
    for (const protocol::SourceText& source : sources) files.erase(source.cell);  // a file that is a cell
    for (const std::string& file : files) {
      std::error_code error;
      const std::uintmax_t size = fs::is_regular_file(file, error) ? fs::file_size(file, error) : 0;
      if (error || size == 0 || size > longest_source || (bytes += size) > most_source_bytes) continue;
      std::ifstream stream(file, std::ios::binary);
      std::string text((std::istreambuf_iterator<char>(stream)), {});
      if (stream) sources.push_back({"", file, std::move(text)});
    }
    PageWriter index, page;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      index.text(sources[i].cell);
      index.text(sources[i].file);
      page.clear();
      page.text(sources[i].text);
      put_page_("source_texts", i, page);
    }
    put_page_("sources", 0, index);
    page.clear();
    for (const protocol::CellLabel& label : request_.labels) {
      page.text(label.cell);
      page.text(label.label);
    }
    put_page_("labels", 0, page);
    page.clear();
    page.text(request_.title);
    page.text(request_.notebook.value_or(""));
    put_page_("notebook", 0, page);
  }

  void save_about() {
    Statement facts = database_.prepare("INSERT INTO about VALUES(?, ?)");
    PageWriter all;
    const auto put = [&](std::string_view name, std::int64_t value) {
      facts.bind(0, name).bind(1, value).run();
      all.signed_number(value);
    };
    facts.bind(0, std::string_view("engine_version")).bind(1, std::string_view(TAPEDECK_VERSION)).run();
    all.text(TAPEDECK_VERSION);
    put("index_checksum", static_cast<std::int64_t>(index_checksum(pages_)));
    put("started_unix_ms", recorder_.started_unix_ms());
    put("saved_unix_ms", unix_ms_now());
    put("oldest_record", oldest_);
    put("newest_record", newest_);
    put("records_ended", static_cast<std::int64_t>(ended_));
    put("oldest_tensor", static_cast<std::int64_t>(oldest_tensor_));
    put("newest_tensor", static_cast<std::int64_t>(cut_.newest_tensor));
    put("cells_ended", static_cast<std::int64_t>(recorder_.cells_ended()));
    facts.bind(0, std::string_view("checksum"));
    facts.bind(1, static_cast<std::int64_t>(page_checksum("about", 0, all.bytes()))).run();
  }

  const Recorder& recorder_;
  const Trace& trace_;
  const protocol::SaveTrace& request_;
  Database database_;
  const CancelFlag* cancel_;
  const ReplayProgress& progress_;
  PutPage put_page_;
  FileNumbers numbers_;
  TensorCut cut_;
  std::vector<std::uint64_t> held_;
  std::uint32_t oldest_ = 1, newest_ = 0;
  PageSums pages_;
  std::uint64_t oldest_tensor_ = 0, ended_ = 0, done_ = 0, total_ = 0;
  std::chrono::steady_clock::time_point next_progress_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
};

}  // namespace

void check_place(const std::string& path) {
  const fs::path target(path);
  if (target.filename().empty()) refuse_saving(path, "that is not a file name");
  std::error_code ignored;
  const fs::file_status status = fs::status(target, ignored);
  if (!fs::exists(status)) return;
  if (fs::is_directory(status)) refuse_saving(path, "that is a folder");
  if (!fs::is_regular_file(status)) refuse_saving(path, "that is no regular file");
  if (target.extension() != ".tapetrace" && fs::file_size(target, ignored) != 0 && !has_trace(path))
    refuse_saving(path, "there is a file with something else than a trace, which would be lost");
}

protocol::TraceSaved save(const Recorder& recorder, const protocol::SaveTrace& request,
                          const CancelFlag* cancel, const ReplayProgress& progress) {
  if (const TraceSource* file = recorder.file())
    refuse_saving(request.path, "this is already a trace file, " + file->path() + ", which can be copied");
  std::error_code error;
  // A bare name is a file in the working folder; a link is its target.
  const fs::path whole = request.path.empty() ? fs::path() : fs::absolute(request.path, error);
  const std::string path = whole.empty() ? "" : fs::weakly_canonical(whole, error).string();
  if (path.empty() || error) refuse_saving("'" + request.path + "'", "that is not a file name");
  TemporaryFile file(path);
  try {
    protocol::TraceSaved saved = Saving(recorder, request, file.path(), cancel, progress).run();
    saved.path = path;
    saved.bytes = fs::file_size(file.path(), error);
    check_cancelled(cancel);
    file.put_in_place();
    return saved;
  } catch (const DatabaseError& failure) {
    refuse_saving(path, failure.what());
  }
}

}  // namespace tapedeck::trace_file
