// How much of a printed text a notebook's file stores: a setting of the user.
#pragma once

#include <QObject>

namespace tapedeck::app {

constexpr std::size_t megabyte = 1'000'000;
constexpr int default_output_megabytes = 10;
constexpr int most_output_megabytes = 500;

/// What a recovery file has of each printed text: it is written again and again while a cell prints.
constexpr std::size_t recovery_output_limit = megabyte;

/// In bytes.
std::size_t storedOutputLimit();
void setStoredOutputLimit(int megabytes);

/// Notifies views that state the limit when it changes.
class OutputLimitNotice : public QObject {
  Q_OBJECT
 public:
  static OutputLimitNotice* instance();

 signals:
  void changed();
};

}  // namespace tapedeck::app
