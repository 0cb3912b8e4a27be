// Bookmarks with notes: ops that a user wants to find again, of this session and of those before.
#pragma once

#include <QHash>
#include <QObject>
#include <optional>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

/// An op of one session, by its number there; the op's description remains when that session is gone.
struct Bookmark {
  qint64 session = 0;  ///< when that began, in milliseconds since 1970
  RecordNumber record = 0;
  QString op;             ///< also to see whether the record is the one that was meant
  QString cell;           ///< id; empty outside a notebook
  quint64 execution = 0;  ///< of that cell; 0: not known
  QString file;           ///< where no cell
  int line = 0;           ///< from 1; 0: not known
  QString note;           ///< one line
  bool operator==(const Bookmark&) const = default;
};

/// Where the op of a bookmark is now.
enum class BookmarkState {
  here,       ///< a record of this session
  forgotten,  ///< of this session, whose record was dropped
  gone        ///< a record of another session, or of none
};

/// A bookmark is never moved to another op: where the session that made its record is not the one that is
/// looked at, it is gone until a trace of that session is.
class Bookmarks : public QObject {
  Q_OBJECT
 public:
  static constexpr std::size_t most = 1000;
  static constexpr int longest_note = 1000;  ///< characters

  explicit Bookmarks(Session* session, QObject* parent = nullptr);

  /// By session and record.
  const std::vector<Bookmark>& all() const { return all_; }
  BookmarkState state(const Bookmark& bookmark) const;
  /// That of a record of this session; nullptr: none.
  const Bookmark* find(RecordNumber record) const;
  /// Records of this session that have one, ascending.
  const std::vector<RecordNumber>& here() const { return order_; }
  /// The next record of this session that has one, or the one before; 0: none.
  RecordNumber beside(RecordNumber record, bool after) const;

  /// What a bookmark of the record would be, without a note; nullopt: the record is not here, is forgotten,
  /// or it is not known which session it is of.
  std::optional<Bookmark> of(RecordNumber record) const;
  /// Adds it, or gives the one of the same record another note. False: there are too many.
  bool set(const Bookmark& bookmark);
  void remove(const Bookmark& bookmark);
  /// What a file has, in any order.
  void restore(std::vector<Bookmark> bookmarks);

  /// As a note is kept: in one line, no longer than notes may be.
  static QString noteOf(const QString& typed);

 signals:
  /// By the user: what keeps them writes them.
  void edited();
  /// Also where states have changed.
  void changed();

 private:
  std::vector<Bookmark>::iterator placeOf(const Bookmark& bookmark);
  void look();
  void tell();

  Session* session_;
  std::vector<Bookmark> all_;
  std::vector<BookmarkState> states_;      ///< as last reported
  QHash<RecordNumber, std::size_t> here_;  ///< places of those that are here
  std::vector<RecordNumber> order_;        ///< ascending, those that are here
};

}  // namespace tapedeck::inspector
