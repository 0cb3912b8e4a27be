#include "engine/record/trace_file/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

namespace tapedeck::trace_file {
namespace {

/// The system's message, if the error came from the system.
[[noreturn]] void fail_of(sqlite3* database, int code) {
  const int just_now = errno;
  const int noted = database ? sqlite3_system_errno(database) : 0;
  const int error = noted != 0 ? noted : just_now;
  const int kind = code & 0xff;
  if (kind == SQLITE_FULL && error == 0) throw DatabaseError("No space left on device");
  if ((kind == SQLITE_FULL || kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN) && error != 0)
    throw DatabaseError(std::strerror(error));
  throw DatabaseError(database ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

sqlite3* open_database(const std::string& name, int flags) {
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (code == SQLITE_OK) return database;
  struct Closer {
    sqlite3* database;
    ~Closer() { sqlite3_close_v2(database); }
  } closer{database};
  fail_of(database, code);
}

/// As a URI, in which some characters must be escaped.
std::string as_uri(const std::string& path) {
  constexpr const char* digits = "0123456789abcdef";
  std::string uri = "file:";
  for (const char letter : path) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '%' || letter == '?' || letter == '#' || code < 0x20 || code >= 0x7f) {
      uri += '%';
      uri += digits[code >> 4];
      uri += digits[code & 15];
    } else {
      uri += letter;
    }
  }
  return uri;
}

}  // namespace

Statement& Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), at + 1, value);
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  if (sqlite3_bind_text64(statement_.get(), at + 1, text.data() ? text.data() : "", text.size(),
                          SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK)
    throw DatabaseError("a text is too long");
  return *this;
}

Statement& Statement::bind(int at, std::span<const std::uint8_t> bytes) {
  if (sqlite3_bind_blob64(statement_.get(), at + 1,
                          bytes.empty() ? "" : static_cast<const void*>(bytes.data()), bytes.size(),
                          SQLITE_STATIC) != SQLITE_OK)
    throw DatabaseError("a page is too long");
  return *this;
}

bool Statement::step() {
  errno = 0;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  fail_of(database_, code);
}

void Statement::run() {
  while (step()) {
  }
  reset();
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)))
               : std::string();
}

std::span<const std::uint8_t> Statement::blob(int column) const {
  const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
  return {bytes, bytes ? static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)) : 0};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Database Database::create(const std::string& path) {
  // Blobs are long, and no other process reads or writes the file. Its maker may have locked it: on network
  // file systems that would lock SQLite out.
  Database database(open_database(as_uri(path) + "?nolock=1", SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI));
  for (const char* setting : {"PRAGMA page_size=16384", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF",
                              "PRAGMA locking_mode=EXCLUSIVE"})
    database.run(setting);
  return database;
}

Database Database::open(const std::string& path) {
  Database database(open_database(as_uri(path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
  sqlite3* const handle = database.database_.get();
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  for (const char* setting : {"PRAGMA cell_size_check=ON", "PRAGMA mmap_size=0", "PRAGMA query_only=ON"})
    database.run(setting);
  return database;
}

Statement Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr);
  if (code != SQLITE_OK) fail_of(database_.get(), code);
  return {database_.get(), statement};
}

void Database::run(const char* sql) {
  Statement statement = prepare(sql);
  statement.run();
}

std::int64_t Database::pragma(const char* name) {
  Statement statement = prepare((std::string("PRAGMA ") + name).c_str());
  return statement.step() ? statement.integer(0) : 0;
}

void Database::close() {
  sqlite3* const handle = database_.release();
  const int code = sqlite3_close_v2(handle);
  if (code != SQLITE_OK) fail_of(nullptr, code);
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

}  // namespace tapedeck::trace_file
