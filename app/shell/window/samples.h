// The sample notebooks that come with the program, and the recently opened notebooks.
#pragma once

#include <QList>
#include <QString>

namespace tapedeck::app {

/// What a sample is for.
enum class SampleKind { learn, puzzle, train, pytorch };

struct Sample {
  SampleKind kind = SampleKind::learn;
  QString title;
  QString summary;
  QString path;
  QString file;               ///< below the samples' folder: "pytorch/where_nan.ipynb"
  QString thumbnail() const;  ///< a picture of 4 by 3
};

/// In the order in which a newcomer should read them; only those whose files are there.
QList<Sample> samples();

/// The file belongs to the program: it is opened as a copy and never written.
bool isSample(const QString& path);
/// "Noisy square (copy)": what the copy of a sample is called.
QString copyName(const QString& path);

/// Newest first, at most 10; files that are gone are left out.
QStringList recentNotebooks();
void addRecentNotebook(const QString& path);

}  // namespace tapedeck::app
