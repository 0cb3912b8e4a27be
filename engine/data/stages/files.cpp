// The lines or records of files, one file after the other.
#include <optional>

#include "engine/data/data_error.h"
#include "engine/data/record_file.h"
#include "engine/data/stages/stage.h"
#include "engine/tensor/strings.h"

namespace tapedeck::data {

namespace {

/// The parts of one file.
class FileParts {
 public:
  virtual ~FileParts() = default;
  virtual bool next(std::string& part) = 0;
  virtual std::uint64_t position() const = 0;
  /// Skips to `position`, a result of position().
  virtual void go_to(std::uint64_t position) = 0;
};

class Lines final : public FileParts {
 public:
  Lines(const std::string& path, const FileFormat& format)
      : reader_(path, format.compression, format.buffer_size) {}
  bool next(std::string& part) override {
    if (!reader_.read_line(part)) return false;
    if (part.ends_with('\r')) part.pop_back();
    return true;
  }
  std::uint64_t position() const override { return reader_.position(); }
  void go_to(std::uint64_t position) override {
    if (!reader_.skip(position))
      fail<DataLossError>(reader_.path(), ": ends before byte ", position, ", to which it had been read");
  }

 private:
  ByteReader reader_;
};

class FixedParts final : public FileParts {
 public:
  FixedParts(const std::string& path, const FileFormat& format)
      : reader_(path, format.compression, format.buffer_size),
        length_(static_cast<std::uint64_t>(format.record_bytes)),
        footer_(static_cast<std::uint64_t>(format.footer_bytes)) {
    if (!reader_.skip(static_cast<std::uint64_t>(format.header_bytes)))
      fail<DataLossError>(path, ": is shorter than its header of ", format.header_bytes, " bytes");
    begin_ = reader_.position();
    // For a plain file it is known in advance whether it is complete.
    const std::uint64_t left = reader_.most_left();
    if (format.compression == Compression::none && (left < footer_ || (left - footer_) % length_ != 0))
      fail<InvalidArgumentError>(path, ": ", left,
                                 " bytes after its header are not a whole number of records of ", length_,
                                 " bytes and a footer of ", footer_);
  }
  bool next(std::string& part) override {
    // Reads ahead by the length of the footer, because the end of a compressed file is unknown until it is
    // reached.
    while (ahead_.size() < length_ + footer_) {
      std::string more;
      reader_.read(more, length_ + footer_ - ahead_.size());
      if (more.empty()) break;
      ahead_ += more;
    }
    if (ahead_.size() < length_ + footer_) {
      if (ahead_.size() != footer_)
        fail<DataLossError>(reader_.path(), ": ends in the middle of a record, at byte ", reader_.position());
      return false;
    }
    part.assign(ahead_, 0, static_cast<std::size_t>(length_));
    ahead_.erase(0, static_cast<std::size_t>(length_));
    return true;
  }
  std::uint64_t position() const override { return reader_.position() - ahead_.size(); }
  void go_to(std::uint64_t position) override {
    if (position < begin_ || !reader_.skip(position - begin_))
      fail<DataLossError>(reader_.path(), ": ends before byte ", position, ", to which it had been read");
  }

 private:
  ByteReader reader_;
  std::uint64_t length_, footer_, begin_ = 0;
  std::string ahead_;
};

class Records final : public FileParts {
 public:
  Records(const std::string& path, const FileFormat& format)
      : reader_(path, format.compression, format.buffer_size) {}
  bool next(std::string& part) override { return reader_.read(part); }
  std::uint64_t position() const override { return reader_.records_read(); }
  void go_to(std::uint64_t position) override {
    while (reader_.records_read() < position)
      if (!reader_.skip())
        fail<DataLossError>(reader_.path(), ": ends before record ", position, ", to which it had been read");
  }

 private:
  RecordReader reader_;
};

std::unique_ptr<FileParts> open(const std::string& path, const FileFormat& format) {
  switch (format.kind) {
    case FileFormat::Kind::lines:
      return std::make_unique<Lines>(path, format);
    case FileFormat::Kind::fixed_length:
      return std::make_unique<FixedParts>(path, format);
    case FileFormat::Kind::records:
      break;
  }
  return std::make_unique<Records>(path, format);
}

std::string stage_name(FileFormat::Kind kind) {
  return kind == FileFormat::Kind::lines     ? "text_line"
         : kind == FileFormat::Kind::records ? "tf_record"
                                             : "fixed_length_record";
}

class FilesIterator;
class Files final : public Stage<Files, FilesIterator> {
 public:
  Files(std::vector<std::string> paths, FileFormat format)
      : Stage(stage_name(format.kind), {}), paths_(std::move(paths)), format_(format) {}
  const std::vector<std::string>& paths() const { return paths_; }
  const FileFormat& format() const { return format_; }

 private:
  std::vector<std::string> paths_;
  FileFormat format_;
};

class FilesIterator final : public Iterator {
 public:
  FilesIterator(std::shared_ptr<const Files> dataset, const Start& how)
      : dataset_(std::move(dataset)), place_(*dataset_, how) {}
  bool next(Element& element) override {
    element.clear();
    return place_.at(taken_, [&] {
      while (file_ < dataset_->paths().size()) {
        const std::size_t reading = file_;
        ++file_;  // the next call skips a file that cannot be read
        if (!parts_) parts_ = open(dataset_->paths()[reading], dataset_->format());
        if (read_part()) {
          file_ = reading;
          element.emplace_back(string_tensor({}, std::vector<std::string>{part_}));
          ++taken_;
          return true;
        }
      }
      return false;
    });
  }
  void save(StateWriter& writer) override {
    writer.begin("files");
    writer.number(taken_);
    writer.number(static_cast<std::int64_t>(file_));
    writer.number(parts_ ? static_cast<std::int64_t>(parts_->position()) : -1);
  }
  void restore(StateReader& reader) override {
    reader.begin("files");
    taken_ = reader.number(INT64_MAX);
    file_ = static_cast<std::size_t>(reader.number(std::ssize(dataset_->paths())));
    const std::int64_t position = reader.number();
    parts_.reset();
    if (position < 0 || file_ == dataset_->paths().size()) return;
    place_.at(taken_, [&] {
      parts_ = open(dataset_->paths()[file_], dataset_->format());
      parts_->go_to(static_cast<std::uint64_t>(position));
    });
  }

 private:
  /// Closes the open file at its end, or if it is damaged.
  bool read_part() {
    std::unique_ptr<FileParts> parts = std::move(parts_);
    if (!parts->next(part_)) return false;
    parts_ = std::move(parts);
    return true;
  }
  std::shared_ptr<const Files> dataset_;
  Place place_;
  std::unique_ptr<FileParts> parts_;
  std::string part_;
  std::size_t file_ = 0;
  std::int64_t taken_ = 0;
};

}  // namespace

DatasetPointer from_files(std::vector<std::string> paths, FileFormat format) {
  return std::make_shared<Files>(std::move(paths), format);
}

}  // namespace tapedeck::data
