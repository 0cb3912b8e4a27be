// Searches a notebook, shows what it finds in the view, and replaces it.
#pragma once

#include <QHash>
#include <QObject>
#include <QPointer>
#include <QSet>
#include <QThreadPool>
#include <QTimer>
#include <memory>
#include <optional>

#include "app/notebook/find/find_pattern.h"
#include "app/notebook/view/notebook_view.h"

namespace tapedeck::app {

class NotebookFinder : public QObject {
  Q_OBJECT
 public:
  NotebookFinder(Document* document, NotebookView* view, QObject* parent = nullptr);
  ~NotebookFinder() override;

  /// Searches anew, in a thread of its own; an empty text: nothing, and no hits are shown.
  void setQuery(const FindQuery& query);
  const FindQuery& query() const { return query_; }
  /// Where the next search begins: the first hit from there on becomes the current one.
  void beginAt(int cell, qsizetype offset);

  /// Where the next step(), by `steps`, begins: at the hit that is selected there, or between the hits before
  /// and behind that place.
  void startAt(int cell, qsizetype first, qsizetype last, int steps);

  bool searching() const { return job_ != 0 || !waiting_.isEmpty(); }
  qsizetype count() const { return static_cast<qsizetype>(hits_.size()); }
  qsizetype current() const { return current_; }  ///< -1: none
  /// "3 of 17", "No matches", or why an expression is invalid.
  QString summary() const;
  /// "cell 4, line 2", "output of cell 4"; empty: no hit is current.
  QString place() const;
  bool wrong() const { return !pattern_.error().isEmpty(); }

  /// By `steps`, wrapping around at the ends. `enter`: the text cursor goes there, else it is only shown.
  void step(int steps, bool enter = false);
  void enterCurrent();

  bool canReplace() const;
  /// The last change, which undoStructure() undoes, is a replacement.
  bool undoesReplacement() const;
  /// The current hit, and goes on to the next.
  void replaceCurrent(const QString& by);
  /// All in sources, as one step of undoStructure(). Returns a sentence on what was done.
  QString replaceAll(const QString& by);

 signals:
  void changed();

 private:
  struct Hit {
    QString cell;
    int output = -1;  ///< in which of the cell's outputs; -1: in its source
    TextHit at;
    QString text;          ///< of a hit in an output
    int line = 0;          ///< from 1
    std::size_t byte = 0;  ///< of a hit in an output: where it begins in what was printed
  };
  struct Part {
    int output = -1;
    QString source;
    std::string text;                    ///< of an output, UTF-8
    std::optional<PrintedText> printed;  ///< all of a long one, which the output has the beginning of
  };
  struct Text {
    QString cell;
    std::vector<Part> parts;
  };
  struct Result {
    QString cell;
    QList<Hit> hits;
    bool more = false;
    bool tooHard = false;
  };

  void connectDocument();
  void searchAgain(int index);
  void searchAll();
  void startJob();
  Text textOf(int index) const;
  static Result search(const Text& text, const FindPattern& pattern, const std::atomic<bool>& stop,
                       qsizetype most);
  void take(quint64 job, const QList<Result>& results);
  void flatten();
  void settle();
  void showHits();
  void showHitsOf(const QString& cell);
  void reveal(bool enter);

  Document* document_;
  NotebookView* view_;
  FindQuery query_;
  FindPattern pattern_;
  QThreadPool pool_;
  std::shared_ptr<std::atomic<bool>> stop_;
  quint64 job_ = 0;  ///< that runs; 0: none
  quint64 lastJob_ = 0;
  QSet<QString> waiting_;  ///< cells to be searched
  QHash<QString, Result> results_;
  std::vector<Hit> hits_;
  qsizetype current_ = -1;
  QSet<QString> shown_;  ///< cells whose hits the view shows
  struct Place {
    QString cell;
    int output = -1;
    qsizetype offset = 0;
  };
  Place from_;  ///< the first hit from there on becomes the current one when the search has ended
  int steps_ = 0;
  bool enter_ = false;
  bool reveal_ = false;
  QTimer soon_;  ///< while the user types
};

}  // namespace tapedeck::app
