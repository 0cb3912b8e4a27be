// What is asked before something is lost, from a notebook with a real session: Return and Escape lose
// nothing, and every button says what it does.
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPainter>
#include <QPushButton>
#include <QTimer>

#include "app/shell/opening/file_control.h"
#include "app/shell/window/message_bar.h"
#include "inspector/ui/confirm.h"
#include "tests/app/window_fixture.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

/// Presses a key in the next question, and keeps what it said and pictures of it over its window.
class KeyToQuestion : public QObject {
 public:
  KeyToQuestion(QWidget* window, Qt::Key key, const QString& name) {
    connect(&timer_, &QTimer::timeout, this, [this, window, key, name] {
      auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
      if (!box || !box->isVisible() || !text.isEmpty()) return;
      timer_.stop();
      text = box->text() + " " + box->informativeText();
      for (QAbstractButton* button : box->buttons()) buttons << button->text().remove('&');
      if (const auto* pressed = box->defaultButton()) preset = pressed->text().remove('&');
      mnemonics = repeated(box);
      if (!name.isEmpty()) pictures(window, box, name);
      QTimer::singleShot(0, box, [box, key] { QTest::keyClick(box, key); });
    });
    timer_.start(20);
  }
  QString text, preset, mnemonics;
  QStringList buttons;

 private:
  static QString repeated(QMessageBox* box) {
    QStringList keys;
    for (const QAbstractButton* button : box->buttons()) {
      const QString key = QKeySequence::mnemonic(button->text()).toString();
      if (!key.isEmpty() && keys.contains(key)) return key;
      keys << key;
    }
    return {};
  }
  static void pictures(QWidget* window, QWidget* box, const QString& name) {
    for (const auto look : {inspector::Appearance::dark, inspector::Appearance::light}) {
      inspector::applyAppearance(look);
      QCoreApplication::processEvents();
      for (const QSize& size : {QSize(2560, 1440), QSize(1280, 800)}) {
        window->resize(size);
        QPixmap whole = window->grab();
        const QPixmap question = box->grab();
        QPainter painter(&whole);
        painter.drawPixmap((whole.width() - question.width()) / 2, (whole.height() - question.height()) / 3,
                           question);
        QDir().mkpath(TAPEDECK_BUILD_DIR "/screenshots");
        whole.save(QString(TAPEDECK_BUILD_DIR "/screenshots/%1-%2-%3.png")
                       .arg(name)
                       .arg(size.width())
                       .arg(look == inspector::Appearance::dark ? "dark" : "light"));
      }
    }
  }
  QTimer timer_;
};

}  // namespace

class TestQuestions : public QObject {
  Q_OBJECT

  std::unique_ptr<MainWindow> window_;
  QTemporaryDir folder_;

  QString open(const QStringList& cells) {
    window_ = newWindow();
    const QString path = writeNotebook(folder_, "asked.ipynb", cells);
    window_->openNotebook(path);
    [&] { QTRY_COMPARE(window_->document()->cellCount(), static_cast<int>(cells.size())); }();
    window_->notebook()->setFocus();
    return path;
  }
  static void press(Qt::Key key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QVERIFY(QApplication::focusWidget());
    QTest::keyClick(QApplication::focusWidget(), key, modifiers);
  }
  void runForever() {
    open({"import time\nprint('before')\nwhile True: time.sleep(.01)", "print('waits')"});
    press(Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(outputText(*window_, 0).contains("before"), patience);
  }

 private slots:
  void initTestCase() { useOwnSettingsInLight(); }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void closingWhileACellRuns() {
    runForever();
    KeyToQuestion asked(window_.get(), Qt::Key_Escape, "question-close-running");
    press(Qt::Key_W, Qt::ControlModifier);
    QVERIFY2(asked.text.contains("cell [1] is running, and a cell waits behind it"), qPrintable(asked.text));
    QCOMPARE(asked.preset, QString("Keep it running"));  // which ends nothing
    QCOMPARE(asked.mnemonics, QString());
    QVERIFY(window_->isVisible());
    QCOMPARE(cellStateOf(*window_, 0), CellState::busy);
  }

  void restartingWhileACellRuns() {
    runForever();
    for (const Qt::Key key : {Qt::Key_Return, Qt::Key_Escape}) {
      QVERIFY(showActive(window_.get()));
      window_->notebook()->setFocus();
      KeyToQuestion asked(window_.get(), key, key == Qt::Key_Return ? "question-restart" : "");
      press(Qt::Key_R, Qt::ControlModifier | Qt::ShiftModifier);
      QVERIFY2(asked.text.contains("ell [1] is running"), qPrintable(asked.text));
      QCOMPARE(asked.preset, QString("Cancel"));
      QCOMPARE(asked.mnemonics, QString());
      QCOMPARE(cellStateOf(*window_, 0), CellState::busy);
    }
  }

  void quittingWhileACellRuns() {
    runForever();
    KeyToQuestion asked(window_.get(), Qt::Key_Return, "question-quit-running");
    press(Qt::Key_Q, Qt::ControlModifier);
    QTRY_VERIFY(!asked.text.isEmpty());
    QCOMPARE(asked.preset, QString("Cancel"));
    QCOMPARE(asked.mnemonics, QString());
    QVERIFY(window_->isVisible());
    QCOMPARE(cellStateOf(*window_, 0), CellState::busy);
  }

  void closingWhatIsNotSaved() {
    const QString path = open({"old = 1"});
    press(Qt::Key_Return);
    press(Qt::Key_Z);
    const QByteArray before = tapedeck::test::contents(path);
    KeyToQuestion asked(window_.get(), Qt::Key_Escape, "question-close-unsaved");
    press(Qt::Key_W, Qt::ControlModifier);
    QVERIFY2(asked.text.contains("unsaved changes"), qPrintable(asked.text));
    QVERIFY2(asked.preset.contains("Save"), qPrintable(asked.preset));
    QCOMPARE(asked.mnemonics, QString());
    QVERIFY(window_->isVisible() && window_->document()->modified());
    QCOMPARE(tapedeck::test::contents(path), before);
  }

  void reloadingOverChanges() {
    const QString path = open({"old = 1"});
    press(Qt::Key_Return);
    press(Qt::Key_Z);
    QVERIFY(window_->document()->modified());
    tapedeck::test::write(path, tapedeck::test::contents(path).replace("old", "new"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->messages()->text().contains("changed"), patience);
    QPushButton* reload = nullptr;
    QTRY_VERIFY([&] {
      for (QPushButton* button : window_->messages()->findChildren<QPushButton*>())
        if (button->text().contains("eload") && button->isVisible()) reload = button;
      return reload != nullptr;
    }());
    KeyToQuestion asked(window_.get(), Qt::Key_Return, "question-reload");
    QTest::mouseClick(reload, Qt::LeftButton);
    QTRY_VERIFY(!asked.text.isEmpty());
    QCOMPARE(asked.preset, QString("Cancel"));
    QCOMPARE(asked.buttons.contains("Reload it"), true);
    QVERIFY(window_->document()->cell(0).source.contains("z"));
  }

  void deletingAWorkspaceOfOnesOwn() {
    open({"x"});
    QWidget* parent = window_.get();
    for (const auto& [key, done] :
         {std::pair(Qt::Key_Return, false), std::pair(Qt::Key_Escape, false), std::pair(Qt::Key_D, true)}) {
      KeyToQuestion asked(parent, key, key == Qt::Key_Return ? "question-confirm" : "");
      QCOMPARE(inspector::confirm(parent, "Delete workspace",
                                  "Delete the workspace Mine? The panels themselves stay.", "&Delete it"),
               done);
      QCOMPARE(asked.preset, QString("Cancel"));
      QCOMPARE(asked.mnemonics, QString());
    }
  }
};

TAPEDECK_TEST(TestQuestions)
#include "tst_questions.moc"
