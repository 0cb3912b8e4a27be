#include "engine/data/record_file.h"

#include <bit>
#include <cstring>

#include "engine/data/crc32c.h"
#include "engine/data/data_error.h"

namespace tapedeck::data {

namespace {

static_assert(std::endian::native == std::endian::little, "record files are little-endian");

constexpr std::size_t header_size = 12;
constexpr std::size_t footer_size = 4;

std::uint32_t word_at(const char* bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace

void RecordWriter::write(std::string_view record) {
  char header[header_size];
  const std::uint64_t length = record.size();
  std::memcpy(header, &length, 8);
  const std::uint32_t length_crc = masked_crc32c({header, 8});
  std::memcpy(header + 8, &length_crc, 4);
  const std::uint32_t crc = masked_crc32c(record);
  char footer[footer_size];
  std::memcpy(footer, &crc, 4);
  file_.write({header, header_size});
  file_.write(record);
  file_.write({footer, footer_size});
}

void RecordReader::refuse(const std::string& what) const {
  fail<DataLossError>(path(), ": record ", records_, " at byte ", begin_, ": ", what);
}

bool RecordReader::read_length(std::uint64_t& length) {
  begin_ = file_.position();
  char header[header_size];
  const std::size_t got = file_.read(header, header_size);
  if (got == 0) return false;
  if (got < header_size)
    refuse("the file ends within its header, after " + std::to_string(got) + " of 12 bytes");
  if (word_at(header + 8) != masked_crc32c({header, 8})) refuse("the checksum of its length does not match");
  std::memcpy(&length, header, 8);
  const std::uint64_t left = file_.most_left();
  if (left < footer_size || length > left - footer_size)
    refuse("its length " + std::to_string(length) + " extends beyond the end of the file");
  return true;
}

bool RecordReader::read(std::string& record) {
  std::uint64_t length = 0;
  if (!read_length(length)) return false;
  file_.read(record, length);
  if (record.size() < length)
    refuse("the file ends after " + std::to_string(record.size()) + " of its " + std::to_string(length) +
           " bytes");
  char footer[footer_size];
  if (file_.read(footer, footer_size) < footer_size) refuse("the file ends within its checksum");
  if (word_at(footer) != masked_crc32c(record)) refuse("the checksum of its bytes does not match");
  ++records_;
  return true;
}

bool RecordReader::skip() {
  std::uint64_t length = 0;
  if (!read_length(length)) return false;
  if (!file_.skip(length) || !file_.skip(footer_size)) refuse("the file ends within it");
  ++records_;
  return true;
}

}  // namespace tapedeck::data
