// Histograms and images as a session sends them, and a plots panel that shows them, for the tests of its
// pages.
#pragma once

#include <QBuffer>
#include <QTest>
#include <QtWidgets>
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "plots/histogram_ridges.h"
#include "plots/image_grid.h"
#include "plots/image_steps.h"
#include "plots/picture_pages.h"
#include "tests/plots/plots_window.h"

namespace tapedeck::test {

inline protocol::Picture named(const char* name, int step) {
  protocol::Picture picture;
  picture.name = name;
  picture.step = step;
  picture.record = static_cast<std::uint64_t>(10 * (step + 1));
  return picture;
}

inline protocol::Picture bars(const char* name, int step, std::vector<double> limits,
                              std::vector<double> counts) {
  protocol::Picture picture = named(name, step);
  picture.limits = std::move(limits);
  picture.counts = std::move(counts);
  return picture;
}

inline protocol::Picture bell(const char* name, int step) {
  protocol::Picture picture = named(name, step);
  const double centre = -1 + 0.1 * step;
  for (int i = 0; i <= 20; ++i) picture.limits.push_back(-3 + 0.3 * i);
  for (int i = 0; i < 20; ++i) {
    const double x = -2.85 + 0.3 * i - centre;
    picture.counts.push_back(std::round(100 * std::exp(-x * x)));
  }
  return picture;
}

inline protocol::Picture batch(const char* name, int step, std::vector<QColor> colors, QSize size = {8, 4}) {
  protocol::Picture picture = named(name, step);
  picture.width = size.width();
  picture.height = size.height();
  for (const QColor& color : colors) {
    QImage made(size, QImage::Format_RGB32);
    made.fill(color);
    QBuffer buffer;
    made.save(&buffer, "PNG");
    picture.pngs.push_back(buffer.data().toBase64().toStdString());
  }
  return picture;
}

inline protocol::Picture grey(const char* name, int step, QSize size = {8, 4}) {
  return batch(name, step, {QColor(10 * step, 10 * step, 10 * step)}, size);
}

struct PicturesWindow : PlotsWindow {
  void put(std::vector<protocol::Picture> pictures) {
    std::map<std::string, std::uint64_t> counts;
    for (const protocol::Picture& picture : source.pictures) ++counts[picture.name];
    for (protocol::Picture& picture : pictures) {
      picture.number = counts[picture.name]++;
      source.pictures.push_back(picture);
    }
    source.status.pictures = source.pictures.size();
    source.sendStatus();
    rest();
  }
  plots::HistogramRidges* ridges() const { return view.pictures()->ridges(); }
  std::size_t steps() const { return ridges()->drawing().shown().size(); }
  plots::ImageSteps* images() const { return view.pictures()->images(); }
  /// Of the image that is shown, once it is unpacked.
  QString caption() const {
    rest();
    return images()->caption();
  }
  QImage image(std::size_t place = 0) const {
    const auto& all = images()->grid()->images().images;
    return place < all.size() ? all[place].levels.front() : QImage();
  }
  QAction* action(const QString& text) const {
    for (QAction* one : view.actions())
      if (one->text() == text) return one;
    return nullptr;
  }
};

inline std::vector<protocol::Picture> histograms(int count) {
  std::vector<protocol::Picture> all;
  for (int step = 0; step < count; ++step) all.push_back(bell("weights", step));
  return all;
}
inline std::vector<protocol::Picture> images(int count) {
  std::vector<protocol::Picture> all;
  for (int step = 0; step < count; ++step) all.push_back(grey("digits", step));
  return all;
}

inline QPalette darkPalette() {
  QPalette palette(QColor(0x2b, 0x2b, 0x2f));
  palette.setColor(QPalette::Base, QColor(0x1e, 0x1e, 0x22));
  palette.setColor(QPalette::Text, QColor(0xe6, 0xe6, 0xe6));
  palette.setColor(QPalette::WindowText, QColor(0xe6, 0xe6, 0xe6));
  palette.setColor(QPalette::ButtonText, QColor(0xe6, 0xe6, 0xe6));
  return palette;
}

}  // namespace tapedeck::test
