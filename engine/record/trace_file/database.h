// A thin wrapper of SQLite for trace files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tapedeck::trace_file {

/// The cause only ("No space left on device"); the caller adds the file's name.
struct DatabaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Database;

/// One prepared statement; parameters and columns are numbered from 0. Not thread-safe.
class Statement {
 public:
  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, std::string_view text);
  /// The bytes must stay valid until the next step.
  Statement& bind(int at, std::span<const std::uint8_t> bytes);
  /// Whether there is a row. Throws DatabaseError.
  bool step();
  /// For a statement without rows; it can be bound again afterwards.
  void run();
  void reset();
  std::int64_t integer(int column) const;
  std::string text(int column) const;
  /// Valid until the next step or reset.
  std::span<const std::uint8_t> blob(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  /// Opens an existing empty file. Nothing is safe from a crash until finish(); the writer renames the file
  /// afterwards.
  static Database create(const std::string& path);
  /// Opens read-only; the file must not change meanwhile. Its schema is not trusted.
  static Database open(const std::string& path);

  Statement prepare(const char* sql);
  void run(const char* sql);
  std::int64_t pragma(const char* name);
  /// Closes it; throws if the last bytes could not be written.
  void close();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace tapedeck::trace_file
