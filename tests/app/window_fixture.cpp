#include "tests/app/window_fixture.h"

#include <QMenu>
#include <QMenuBar>
#include <QTimer>
#include <nlohmann/json.hpp>
#include <optional>

#include "inspector/ui/canvas/canvas_widget.h"

namespace tapedeck::app {

QString writeNotebook(const QTemporaryDir& folder, const QString& name, const QStringList& cells) {
  nlohmann::json notebook = {{"nbformat", 4}, {"nbformat_minor", 5}, {"metadata", nlohmann::json::object()}};
  notebook["cells"] = nlohmann::json::array();
  for (int i = 0; i < cells.size(); ++i)
    notebook["cells"].push_back({{"cell_type", "code"},
                                 {"id", "cell-" + std::to_string(i)},
                                 {"metadata", nlohmann::json::object()},
                                 {"execution_count", nullptr},
                                 {"outputs", nlohmann::json::array()},
                                 {"source", cells[i].toStdString()}});
  QFile file(folder.filePath(name));
  if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write %s", qPrintable(file.fileName()));
  file.write(QByteArray::fromStdString(notebook.dump(1)));
  return file.fileName();
}

std::unique_ptr<MainWindow> newWindow(const QSize& size) {
  auto window = std::make_unique<MainWindow>();
  window->setAttribute(Qt::WA_DeleteOnClose, false);
  window->resize(size);
  if (!showActive(window.get())) qFatal("the window did not become active");
  return window;
}

void waitForFrames(QWidget* window) {
  const auto frames = [window] {
    quint64 sum = 0;
    for (const auto* canvas : window->findChildren<inspector::CanvasWidget*>())
      sum += canvas->framesPainted();
    return sum;
  };
  (void)settled(frames, 8);
}

namespace {

/// Most of what it shows is.
bool looksDark(QWidget* window) {
  const QImage image = window->grab().toImage().scaled(64, 64, Qt::IgnoreAspectRatio, Qt::FastTransformation);
  int dark = 0;
  for (int y = 0; y < image.height(); ++y)
    for (int x = 0; x < image.width(); ++x) dark += image.pixelColor(x, y).lightness() < 128 ? 1 : 0;
  return 2 * dark > image.width() * image.height();
}

}  // namespace

void screenshotIn(inspector::Appearance look, QWidget* window, const QString& name) {
  inspector::applyAppearance(look);
  waitForFrames(window);
  const bool dark = look == inspector::Appearance::dark;
  const bool looks_so = waitFor([&] { return looksDark(window) == dark; }, patience);
  screenshot(window, name);
  QVERIFY2(looks_so, qPrintable(name + (dark ? " is light" : " is dark")));
}

void shots(QWidget* window, const QString& name) {
  for (const QSize& size : {QSize(2560, 1440), QSize(1280, 800)}) {
    window->resize(size);
    for (const auto look : {inspector::Appearance::dark, inspector::Appearance::light}) {
      const char* const shade = look == inspector::Appearance::light ? "light" : "dark";
      screenshotIn(look, window, QString("%1-%2-%3").arg(name).arg(size.width()).arg(shade));
    }
  }
}

bool knowsAllRecords(const MainWindow& window) {
  inspector::Session* session = window.session();
  const auto records = std::make_shared<std::optional<quint64>>();
  session->request<protocol::Status>(
      protocol::GetStatus{}, session,
      [records](const protocol::Status& status) { *records = status.records; },
      [](const protocol::Failure& failure) { qWarning("%s", failure.reason.c_str()); });
  return waitFor([&] { return *records && session->recordCount() == **records; }, patience);
}

static QString plainText(const QAction* action) {
  return action->text().section('\t', 0, 0).remove('&');
}

/// The actions on the way to it, itself the last.
static QList<QAction*> wayTo(const QString& entry, const QList<QAction*>& actions, const QString& path = {}) {
  for (QAction* action : actions) {
    const QString here = path + '/' + plainText(action);
    if (action->menu()) {
      const QList<QAction*> way = wayTo(entry, action->menu()->actions(), here);
      if (!way.isEmpty()) return QList<QAction*>{action} + way;
    } else if (action->objectName() == entry || here.endsWith('/' + entry)) {
      return {action};
    }
  }
  return {};
}

QString chooseInMenus(MainWindow* window, const QString& entry) {
  QMenuBar* bar = window->menuBar();
  const QList<QAction*> way = wayTo(entry, bar->actions());
  if (way.isEmpty()) return "no menu has " + entry;
  if (!waitFor([&] { return way.last()->isEnabled(); }, patience))
    return entry + " is disabled: " + way.last()->toolTip();
  QTest::mouseClick(bar, Qt::LeftButton, {}, bar->actionGeometry(way.first()).center());
  for (qsizetype i = 1; i < way.size(); ++i) {
    QMenu* menu = way[i - 1]->menu();
    if (!waitFor([&] { return menu->isVisible(); }, patience)) return plainText(way[i - 1]) + " stays shut";
    const QRect place = menu->actionGeometry(way[i]);
    if (!menu->rect().contains(place)) return plainText(way[i]) + " is cut off";
    QTest::mouseMove(menu, place.center());
    QTest::mouseClick(menu, Qt::LeftButton, {}, place.center());
  }
  return {};
}

void chooseInNextMenu(QAction* entry) {
  auto* look = new QTimer(entry);
  const QDeadlineTimer end(patience);
  QObject::connect(look, &QTimer::timeout, entry, [look, entry, end] {
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    if (!end.hasExpired() && (!menu || !entry->isEnabled())) return;
    look->stop();
    look->deleteLater();
    QVERIFY2(menu, "no menu opened");
    if (!menu->actions().contains(entry) || !entry->isEnabled()) menu->close();
    QVERIFY(menu->actions().contains(entry) && entry->isEnabled());
    menu->setActiveAction(entry);
    QTest::keyClick(menu, Qt::Key_Return);
  });
  look->start(20);
}

QString outputText(const MainWindow& window, int cell) {
  QString text;
  for (const auto& output : window.document()->cell(cell).outputs) {
    const auto add = [&](const nlohmann::ordered_json& value) {
      if (value.is_string()) text += QString::fromStdString(value.get<std::string>());
      if (value.is_array())
        for (const auto& line : value) text += QString::fromStdString(line.get<std::string>()) + "\n";
    };
    if (output.contains("text")) add(output["text"]);
    if (output.contains("data") && output["data"].contains("text/plain")) add(output["data"]["text/plain"]);
    if (output.contains("evalue")) add(output["ename"]), text += ": ", add(output["evalue"]), text += "\n";
    if (output.contains("traceback")) add(output["traceback"]);
  }
  return text;
}

}  // namespace tapedeck::app
