// Record files, plain and compressed; packed bytes; elements of data sets as a cache has them.
#include "engine/data/data_error.h"
#include "engine/data/element_bytes.h"
#include "engine/data/record_file.h"
#include "engine/tensor/strings.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;
using namespace tapedeck::data;

namespace {

constexpr Compression all[] = {Compression::none, Compression::gzip, Compression::zlib};

void read_records(const std::string& path, Compression compression) {
  std::uint64_t read = 0, skipped = 0;
  bool whole = false;
  fuzz::may_refuse<DataLossError>([&] {
    RecordReader reader(path, compression, 64);
    for (std::string record; reader.read(record); ++read) continue;
    whole = true;
  });
  fuzz::may_refuse<DataLossError>([&] {
    for (RecordReader reader(path, compression); reader.skip(); ++skipped) continue;
  });
  if (whole) fuzz::expect(skipped == read, "as many records are skipped as are read");
  fuzz::may_refuse<DataLossError>([&] {
    ByteReader reader(path, compression, 16);
    for (std::string line; reader.read_line(line);) continue;
  });
}

void read_element(std::string_view bytes) {
  const Element element = element_from_bytes(bytes, "cache");
  for (const Component& component : element)
    if (component.tensor.dtype() == DType::string) {
      strings_of(component.tensor);
    } else if (!is_complex(component.tensor.dtype())) {
      component.tensor.to_vector();
    }
  const std::string written = bytes_of_element(element);
  fuzz::expect(written == bytes, "an element has the bytes that it was read from");
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  static const File file;
  file.write(text_of(bytes));
  for (const Compression compression : all) read_records(file.path(), compression);
  for (const Compression compression : all)
    may_refuse<InvalidArgumentError>([&] {
      expect(decompress(text_of(bytes), compression, 1 << 20, "decode_compressed").size() <= 1 << 20,
             "no more is unpacked than the limit");
    });
  may_refuse<DataLossError>([&] { read_element(text_of(bytes)); });
}
