// One VJP: its formula, what went into it, what came out, and what an element of that is made of.
#pragma once

#include <QObject>
#include <QString>
#include <memory>
#include <optional>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

/// A tensor's values as the panel shows them: all of a small one, means of a large one.
struct VjpValue {
  protocol::TensorInfo info;
  bool small = false;  ///< every number is there
  std::optional<protocol::Tile> tile;
  std::optional<double> norm, minimum, maximum;  ///< of the finite values; the norm is Euclidean
  quint64 odd = 0;                               ///< NaN and infinities
  QString problem;                               ///< why there is nothing, for the user
};

/// The VJP at the session's cursor: the record itself, one that it runs in, or that of a forward op. While it
/// is not active it asks the session for nothing.
class VjpModel : public QObject {
  Q_OBJECT
 public:
  explicit VjpModel(Session* session, QObject* parent = nullptr);
  ~VjpModel() override;
  Session* session() const;

  /// The panel is visible.
  void setActive(bool active);

  /// A playback was at the cursor once: the panel has something to show from then on.
  bool seen() const;
  /// Without `forward` and `sum` there is nothing to show; then problem() says why.
  const protocol::VjpParts& parts() const;
  QString problem() const;
  /// Where the program is stopped at the cursor, as this gradient is complete; else nullptr.
  const protocol::CompleteGradient* complete() const;
  /// The VJP has not run, and the user has not revealed its results: they are not fetched, so that the user
  /// can work them out first.
  bool hidesResults() const;
  /// nullptr: not asked for yet. `tensor`: one of parts(), or the complete gradient.
  const VjpValue* value(TensorId tensor) const;

  /// Which element is explained; nothing: none. `contribution`: its place in parts().
  struct Element {
    int contribution = 0;
    qint64 element = 0;
    bool operator==(const Element&) const = default;
  };
  std::optional<Element> element() const;
  const protocol::ElementTerms* terms() const;  ///< nullptr: none, or not here yet
  QString termsProblem() const;                 ///< why there are none, or the progress; empty: neither

  /// The element of this index in its contribution: "2, 3", "[2,3]"; for a sentence that says what is wrong
  /// with the text the element is nothing.
  std::optional<qint64> elementAt(int contribution, const QString& index, QString* wrong) const;

 public slots:
  /// Reveals the results of this VJP before it runs; the next one hides its own again.
  void showResults();
  /// Of the contribution in this place of parts(), whose values are shown then, too; out of range: ignored.
  void explain(int contribution, qint64 element);
  void explainNothing();

 signals:
  void seenChanged();
  void partsChanged();
  void valueChanged(tapedeck::inspector::TensorId tensor);
  void termsChanged();

 private:
  struct Private;
  std::unique_ptr<Private> d_;
};

/// "2,3" for the element of a tensor of this shape; empty for a scalar.
QString indexText(const std::vector<std::int64_t>& shape, qint64 element);

}  // namespace tapedeck::inspector
