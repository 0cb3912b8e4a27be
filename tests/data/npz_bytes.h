// .npz archives for tests, written from the formats' descriptions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace npz_bytes {

inline std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
  return text;
}

/// Bit by bit: ISO 3309.
inline std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       const std::string& fortran = "False") {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + little(header.size(), 2) + header + data;
}

struct Member {
  std::string name, bytes;
  bool deflated = false;
};

/// Deflate's stored blocks (RFC 1951, 3.2.4).
inline std::string deflated(const std::string& bytes) {
  std::string packed;
  std::size_t at = 0;
  do {
    const std::size_t part = std::min<std::size_t>(bytes.size() - at, 0xffff);
    packed += static_cast<char>(at + part == bytes.size());
    packed += little(part, 2) + little(~part & 0xffff, 2) + bytes.substr(at, part);
    at += part;
  } while (at < bytes.size());
  return packed;
}

inline std::string archive(const std::vector<Member>& members) {
  std::string file, directory;
  for (const Member& member : members) {
    const std::string packed = member.deflated ? deflated(member.bytes) : member.bytes;
    const std::string common = little(20, 2) + little(0, 2) + little(member.deflated ? 8 : 0, 2) +
                               little(0, 4) + little(crc32_of(member.bytes), 4) + little(packed.size(), 4) +
                               little(member.bytes.size(), 4) + little(member.name.size(), 2) + little(0, 2);
    directory += "PK\1\2" + little(20, 2) + common + little(0, 2) + little(0, 2) + little(0, 2) +
                 little(0, 4) + little(file.size(), 4) + member.name;
    file += "PK\3\4" + common + member.name + packed;
  }
  const std::size_t begin = file.size();
  return file + directory + "PK\5\6" + little(0, 4) + little(members.size(), 2) + little(members.size(), 2) +
         little(directory.size(), 4) + little(begin, 4) + little(0, 2);
}

}  // namespace npz_bytes
