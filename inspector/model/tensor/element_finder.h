// Searches the shown tensor for NaN, infinities and extremes. The session does it, where the values are.
#pragma once

#include "inspector/model/tensor/tensor_model.h"

namespace tapedeck::inspector {

class ElementFinder : public QObject {
  Q_OBJECT
 public:
  explicit ElementFinder(TensorModel* model, QObject* parent = nullptr);

  bool looking() const;

 public slots:
  /// The first one; where the last search found one of the same kind, the next, wrapping around at the end.
  void find(tapedeck::protocol::Sought sought);
  void stop();

 signals:
  void found(const std::vector<std::int64_t>& element);
  /// "Maximum 9.0 at [0, 4], 1 of 2 equal ones", "No NaN among 12 elements", or why there is no answer.
  void told(const QString& sentence);
  void lookingChanged();

 private:
  void take(const protocol::FoundElement& answer, protocol::Sought sought);

  TensorModel* model_;
  struct Last {
    TensorId tensor = 0;
    protocol::Sought sought = protocol::Sought::nan;
    std::int64_t place = 0;
  };
  std::optional<Last> last_;
};

}  // namespace tapedeck::inspector
