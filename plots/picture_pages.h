// The pages of the plots panel beside its curves: histograms over steps, and images.
#pragma once

#include <QAction>
#include <QImage>
#include <QTimer>
#include <QWidget>
#include <functional>

#include "inspector/model/runs/picture_model.h"

class QComboBox;
class QStackedWidget;
class QToolBar;

namespace tapedeck::plots {

class HistogramRidges;
class ImageSteps;

class PicturePages : public QWidget {
  Q_OBJECT
 public:
  enum class Kind { histograms, images };

  PicturePages(inspector::PictureModel* model, inspector::Session* session, QWidget* parent = nullptr);
  /// Their keys work wherever in the panel the focus is.
  void addActions(QWidget* panel, QToolBar* bar);

  bool has(Kind kind) const;
  Kind kind() const { return kind_; }
  void showKind(Kind kind);
  void setShown(bool shown);                    ///< one of them is the panel's page: its actions show
  void fit();                                   ///< images: as large as there is room for
  QWidget* focusTarget() const;                 ///< what takes the keys
  QComboBox* choice() const { return names_; }  ///< which name is shown
  HistogramRidges* ridges() const { return ridges_; }
  ImageSteps* images() const { return images_; }

  /// What is shown, black on white; images pixel for pixel; the histogram as text. The returned functions do
  /// the long work, on any thread. Where there is nothing a sentence is in `error`.
  std::function<QByteArray()> svg(QString* error) const;
  std::function<QImage()> picture(QString* error) const;
  std::function<QByteArray()> csv(QString* error) const;
  QString fileName() const;  ///< that they should get, without a suffix

 signals:
  void filled();  ///< has() changed

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void fill();
  void refresh();
  bool nothing(QString* error) const;
  QString name() const;   ///< the model's key of what is shown
  QString title() const;  ///< its name
  QStringList namesOf(Kind kind) const;

  inspector::PictureModel* model_;
  Kind kind_ = Kind::histograms;
  QStringList chosen_{QString(), QString()};  ///< the name of each kind
  QComboBox* names_;
  QStackedWidget* stack_;
  HistogramRidges* ridges_;
  ImageSteps* images_;
  QAction *choose_ = nullptr, *overlay_ = nullptr, *heat_ = nullptr;
  bool shown_ = false;
  QTimer frame_;  ///< what comes within a frame is drawn at its end
};

}  // namespace tapedeck::plots
