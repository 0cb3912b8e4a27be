// The pictures of the guide, each from a real window in which a user does what its page tells, with keys and
// mouse. A run asserts that what a picture must show is there; with TAPEDECK_GUIDE_PICTURES=1 it writes them
// anew into resources/guide.
#include <QComboBox>
#include <QLineEdit>
#include <QProcess>
#include <QRegularExpression>
#include <QScrollArea>
#include <QToolButton>
#include <QTreeWidget>

#include "app/kernel/debug/attached_program.h"
#include "app/kernel/debug/program_list.h"
#include "app/shell/guide/guide_pages.h"
#include "inspector/model/ops/records_model.h"
#include "inspector/model/what_if/why.h"
#include "inspector/panels/compare/compare_view.h"
#include "inspector/panels/health/health_view.h"
#include "inspector/panels/memory/memory_view.h"
#include "inspector/panels/time/time_view.h"
#include "inspector/panels/vjp/vjp_sheet.h"
#include "inspector/panels/vjp/vjp_view.h"
#include "inspector/panels/why/why_view.h"
#include "plots/plot_chart.h"
#include "tests/app/guide_cells.h"
#include "tests/app/guide_picture_window.h"
#include "tests/files.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::app;
using inspector::RecordsModel;
using protocol::RecordKind;

namespace {

constexpr qint64 most_bytes_of_a_picture = 200'000, most_bytes_together = 2'000'000;

struct PagePicture {
  QString page, description, file;
};

QList<PagePicture> picturesOfTheGuide() {
  static const QRegularExpression picture(R"(!\[([^\]]*)\]\(([^)]*)\))");
  QList<PagePicture> list;
  for (const GuidePage& page : guidePages())
    for (auto found = picture.globalMatch(page.source); found.hasNext();) {
      const auto match = found.next();
      list << PagePicture{page.file.section('.', 0, 0), match.captured(1), match.captured(2)};
    }
  return list;
}

QStringList picturesOf(const QString& page) {
  QStringList files;
  for (const PagePicture& picture : picturesOfTheGuide())
    if (picture.page == page) files << picture.file;
  return files;
}

}  // namespace

class TestGuidePictures : public QObject, GuidePictureWindow {
  Q_OBJECT

  QTemporaryDir runtime_{QDir::tempPath() + "/td-XXXXXX"};

  // ---- the pages ----

  void firstSteps() {
    open("noisy_square.ipynb");
    window_->notebook()->setCurrentCell(1, false);
    const auto points = [&] {
      const auto* curve = window_->series()->series("noisy");
      return curve ? curve->values.size() : 0;
    };
    stepTo([&](const protocol::Record& next) { return next.op == "add" && next.backward && points() >= 2; });
    if (QTest::currentTestFailed()) return;
    QTRY_COMPARE(editorOf(1)->markedLine(), 10);
    auto* vjp = view<inspector::VjpView>();
    QTRY_VERIFY2(vjp->isVisible() && vjp->header()->text().startsWith("Custom gradient of noisy"),
                 qPrintable(vjp->header()->text()));
    const auto xGoesIn = [&] {
      const auto& rows = vjp->sheet()->contents().rows;
      return rows.size() < 2 ? QString() : rows[1].spoken;
    };
    // Of the second step, no longer of the first.
    QTRY_VERIFY2_WITH_TIMEOUT(
        xGoesIn().startsWith("x, input 0 · scalar · float32") && xGoesIn().contains("1.75"),
        qPrintable(xGoesIn()), patience);
    QTRY_VERIFY(tape(*window_)->isVisible() && timeline(*window_)->isVisible());
    QTRY_VERIFY(tensor(*window_)->model()->tile() && !tensor(*window_)->model()->loading());
    save("first-steps-window.png");
    goOn(1);
    workspace(Qt::Key_2);
    QTRY_VERIFY(app::plots(*window_)->isVisible());
    QTRY_COMPARE(window_->series()->names(), QStringList({"noisy", "clean"}));
    QTRY_COMPARE(app::plots(*window_)->chart()->series().size(), std::size_t{2});
    savePanel("first-steps-curves.png", app::plots(*window_), {600, 360});
    window_.reset();

    // An element of a result, chosen by mouse, and the terms that it is the sum of.
    open("first_network.ipynb");
    stopInTheNetwork();
    stepTo([](const protocol::Record& next) { return next.kind == RecordKind::vjp && next.op == "matmul"; });
    if (QTest::currentTestFailed()) return;
    vjp = view<inspector::VjpView>();
    QTRY_VERIFY2(vjp->isVisible() && vjp->header()->text().startsWith("VJP of matmul"),
                 qPrintable(vjp->header()->text()));
    press(Qt::Key_G, Qt::AltModifier);
    const auto contribution = [&]() -> const inspector::SheetRow* {
      for (const inspector::SheetRow& row : vjp->sheet()->contents().rows)
        if (row.contribution == 1 && row.grid) return &row;
      return nullptr;
    };
    QTRY_VERIFY_WITH_TIMEOUT(contribution(), patience);
    window_->resizeDocks({dockOf(vjp)}, {640}, Qt::Horizontal);
    window_->resizeDocks({dockOf(vjp)}, {560}, Qt::Vertical);
    waitForFrames(window_.get());
    vjp->findChild<QScrollArea*>()->ensureVisible(0, qRound(contribution()->grid->rect.bottom()));
    QTest::mouseClick(vjp->sheet(), Qt::LeftButton, {}, contribution()->grid->cell(0).center().toPoint());
    const auto formulas = [&] {
      QStringList texts;
      for (const auto& formula : vjp->sheet()->contents().formulas) texts << formula.text;
      return texts.join('\n');
    };
    QTRY_VERIFY2(formulas().contains(" = -") || formulas().contains(QString::fromUtf8(" = −")) ||
                     formulas().contains(" = 0"),
                 qPrintable(formulas()));
    savePanel("first-steps-vjp.png", vjp);
    goOn(cellThatBegins("import tapedeck"));
  }

  void stopping() {
    open("first_network.ipynb");
    stopInTheNetwork();
    if (QTest::currentTestFailed()) return;
    QTRY_VERIFY2(state(*window_).contains("breakpoint 1") && state(*window_).contains("step == 40"),
                 qPrintable(state(*window_)));
    auto* list = window_->findChild<QTreeWidget*>("breakpoints");
    QTRY_VERIFY(list->topLevelItemCount() == 1);
    if (!list->isVisible()) press(Qt::Key_0, Qt::ControlModifier);
    QTRY_VERIFY(list->isVisible());
    savePanel("stopping-breakpoint.png", list, {560, 0});
    // A condition as the filter of Ops.
    auto* filter = timeline(*window_)->filterEdit();
    QTest::keySequence(window_.get(), window_->findChild<QAction*>("panel.ops")->shortcut());
    QTRY_VERIFY(filter->isVisible() && !filter->visibleRegion().isEmpty());
    QTest::mouseClick(filter, Qt::LeftButton);
    QTest::keyClicks(filter, "op:tanh and max(abs(out)) > 0.99");
    QTest::keyClick(filter, Qt::Key_Return);
    const RecordsModel* rows = timeline(*window_)->model();
    QTRY_VERIFY_WITH_TIMEOUT(rows->filterText().startsWith("op:tanh") && !rows->scanning(), patience);
    QVERIFY2(rows->listedCount() > 0 && rows->listedCount() < 41,
             qPrintable(QString::number(rows->listedCount())));
    savePanel("stopping-filter.png", filter, {560, 400});
    goOn(cellThatBegins("import tapedeck"));
  }

  void why() {
    open("softmax_nan.ipynb");
    runAllOf({"import numpy", "for step"});
    showAllRecords();
    auto* answers = view<inspector::WhyView>();
    const auto* question = window_->findChild<QAction*>("why.birth");
    QVERIFY(question);
    const auto* model = window_->findChild<inspector::WhyModel*>();
    QTRY_VERIFY_WITH_TIMEOUT(question->isEnabled() && model->subject().record == session().recordCount(),
                             patience);
    press(Qt::Key_F7);
    QTRY_VERIFY_WITH_TIMEOUT(answers->isVisible() && answers->reasons()->topLevelItemCount() > 0, patience);
    const QString sentence = answers->sentence()->text();
    QVERIFY2(sentence.contains("was born in divide") && sentence.contains("forward op is log"),
             qPrintable(sentence));
    savePanel("why-nan.png", answers, {640, 330});
  }

  void whatIfPage() {
    run({guide_cells::rate_cell});
    show("gradient_descent", 0);
    press(Qt::Key_I, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
    auto* set = field<QLineEdit>("setFilter");
    QTRY_VERIFY(set->isVisible() && set->hasFocus());
    set->selectAll();
    QTest::keyClicks(set, "op:gradient_descent and step >= 60");
    auto* subject = field<QComboBox>("setSubject")->lineEdit();
    subject->setFocus();
    subject->selectAll();
    QTest::keyClicks(subject, "learning_rate");
    auto* value = field<QLineEdit>("setValue");
    value->setFocus();
    value->selectAll();
    QTest::keyClicks(value, "0.1");
    QTest::keyClick(value, Qt::Key_Return);
    QTRY_COMPARE(changes().size(), 1);
    replay();
    QVERIFY2(told("41 ops are changed: gradient_descent, in steps 60 to 100."),
             qPrintable(whatIf()->sentence()->text()));
    savePanel("what-if-answer.png", whatIf(), {640, 360});
    press(Qt::Key_U, Qt::ControlModifier | Qt::AltModifier | Qt::ShiftModifier);
    QTRY_VERIFY(app::plots(*window_)->isVisible());
    const auto& drawn = app::plots(*window_)->chart()->series();
    QTRY_COMPARE_WITH_TIMEOUT(drawn.size(), std::size_t{2}, patience);
    QVERIFY(drawn[1].branchOf == 0 && drawn[1].data->size() == 41);
    savePanel("what-if-curves.png", app::plots(*window_), {600, 360});
  }

  void wholeRuns() {
    openCells(folder_, {guide_cells::waiting_cell});
    click(0);
    runByKey(0);
    auto* time = openPanel<inspector::TimeView>(Qt::Key_5);
    QVERIFY(time);
    QTRY_VERIFY2_WITH_TIMEOUT(time->summary()->text().startsWith("Python took "),
                              qPrintable(time->summary()->text()), patience);
    savePanel("whole-runs-time.png", time, {widest_panel, 0});
    window_.reset();

    open("kept_tapes.ipynb");
    runAllOf({document().cell(1).source.section('\n', 0, 0)});
    for (int cell = 2; cell < document().cellCount(); ++cell)
      if (document().cell(cell).type == CellType::code) {
        click(cell);
        runByKey(cell);
        break;
      }
    auto* memory = openPanel<inspector::MemoryView>(Qt::Key_6);
    QVERIFY(memory);
    QTRY_VERIFY2_WITH_TIMEOUT(memory->growth()->text().contains("Memory grows by") &&
                                  memory->growth()->text().contains("Kept alive by the name"),
                              qPrintable(memory->growth()->text()), patience);
    savePanel("whole-runs-memory.png", memory, {widest_panel, 480});
    window_.reset();

    openCells(folder_, {guide_cells::dying_cell});
    click(0);
    runByKey(0);
    auto* health = openPanel<inspector::HealthView>(Qt::Key_7);
    QVERIFY(health);
    const auto findings = [&] {
      QStringList texts;
      for (int i = 0; i < health->findings()->topLevelItemCount(); ++i)
        texts << health->findings()->topLevelItem(i)->text(1);
      return texts.join('\n');
    };
    QTRY_VERIFY2_WITH_TIMEOUT(findings().contains("relu after W1: 100 % of its 16 units are dead") &&
                                  findings().contains("relu is flat below zero"),
                              qPrintable(findings()), patience);
    // How many of them were sampled live depends on how busy the machine is.
    const auto sampled = [&] { return health->sampling()->text(); };
    QTRY_VERIFY2_WITH_TIMEOUT(sampled().contains("of 200 steps") && sampled().contains("recomputed"),
                              qPrintable(sampled()), patience);
    savePanel("whole-runs-health.png", health, {widest_panel, 480});
    window_.reset();

    open("unequal_runs.ipynb");
    const QString train =
        "for variable, value in zip(variables, start):\n    variable.assign(value)\n"
        "tf.set_random_seed(1)\nfor";
    runAllOf({"import numpy", train, train});
    auto* compare = openPanel<inspector::CompareView>(Qt::Key_8);
    QVERIFY(compare);
    const auto says = [&](const QString& part) {
      return waitFor([&] { return compare->sentence()->text().contains(part); }, patience);
    };
    QVERIFY2(says("8 ops on the left only"), qPrintable(compare->sentence()->text()));
    press(Qt::Key_F);
    QVERIFY2(says("The first difference is an input of op") && says("adam"),
             qPrintable(compare->sentence()->text()));
    savePanel("whole-runs-compare.png", compare, {widest_panel, 480});
  }

  void tracesAndAttach() {
    const QString folder = QFileInfo(folder_.path()).canonicalFilePath();
    test::write(folder + "/train.py", guide_cells::program);
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.insert("TAPEDECK_DEBUG", "1");
    environment.insert("PYTHONPATH", TAPEDECK_BUILD_DIR "/python");
    process.setProcessEnvironment(environment);
    process.start(TAPEDECK_PYTHON, {folder + "/train.py"});
    const auto end = qScopeGuard([&] {
      test::write(folder + "/stop", "");
      if (!process.waitForFinished(static_cast<int>(patience))) process.kill();
    });
    QVERIFY(waitFor([] { return runningPrograms().size() == 1; }, patience));
    window_ = newWindow();
    window_->attachTo(process.processId());
    MainWindow* attached = nullptr;
    const auto shown = [&] {
      for (QWidget* widget : QApplication::topLevelWidgets())
        if (auto* main = qobject_cast<MainWindow*>(widget);
            main && qobject_cast<AttachedProgram*>(main->source()))
          attached = main;
      return attached && attached->session()->recordCount() > 0;
    };
    QVERIFY(waitFor(shown, patience));
    attached->setAttribute(Qt::WA_DeleteOnClose, false);
    if (attached != window_.get()) window_.reset(attached);
    window_->resize(window_size);
    QVERIFY(showActive(window_.get()));
    QTRY_VERIFY_WITH_TIMEOUT(window_->series()->names().contains("loss"), patience);
    press(Qt::Key_F6);
    QTRY_VERIFY_WITH_TIMEOUT(isStopped(*window_), patience);
    stepTo([](const protocol::Record& next) { return next.op == "matmul" && next.kind == RecordKind::op; });
    if (QTest::currentTestFailed()) return;
    QTRY_VERIFY2(
        state(*window_).contains("train.py (pid ") && state(*window_).contains("paused before matmul"),
        qPrintable(state(*window_)));
    save("traces-and-attach-window.png");
    press(Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(state(*window_).contains("detached and still running"));
  }

  void devices() {
    QVERIFY2(qEnvironmentVariableIsSet("TAPEDECK_GPU_LIBRARY"),
             "CTest sets it: a library with emulated GPUs");
    const QByteArray hidden = qgetenv("CUDA_VISIBLE_DEVICES");
    qunsetenv("CUDA_VISIBLE_DEVICES");
    const auto hide = qScopeGuard([&] { qputenv("CUDA_VISIBLE_DEVICES", hidden); });
    run({guide_cells::two_devices_cell});
    showAllRecords();
    const RecordsModel* rows = timeline(*window_)->model();
    QStringList copies;
    for (int place = 0; place < rows->listedCount(); ++place) {
      const QModelIndex op = rows->index(rows->rowOf(rows->listedRecord(place)), RecordsModel::Op);
      QTRY_VERIFY(op.data(RecordsModel::HereRole).toBool());
      if (op.data().toString().startsWith("⇄ ")) copies << op.data().toString();
    }
    QVERIFY2(copies.contains("⇄ copy to /gpu:0") && copies.contains("⇄ copy to /cpu:0"),
             qPrintable(copies.join(", ")));
    savePanel("devices-copies.png", timeline(*window_), {600, 420});
  }

  void teaching() {
    open("first_network.ipynb");
    workspace(Qt::Key_4);
    const int cell = cellThatBegins("import tapedeck");
    click(cell);
    stepTo([](const protocol::Record& next) { return next.kind == RecordKind::vjp && next.op == "tanh"; });
    if (QTest::currentTestFailed()) return;
    QTRY_VERIFY(tape(*window_)->isVisible());
    save("teaching-present.png");
    goOn(cell);
  }

 private slots:
  void initTestCase() {
    useOwnSettingsAndCache();
    QVERIFY(runtime_.isValid());
    qputenv("XDG_RUNTIME_DIR", runtime_.path().toUtf8());
  }
  void cleanup() {
    window_.reset();
    QSettings().clear();
  }

  void everyPictureIsThereDescribedAndSmall() {
    QStringList named;
    qint64 together = 0;
    for (const PagePicture& picture : picturesOfTheGuide()) {
      named << picture.file;
      QVERIFY2(picture.file.startsWith(picture.page + '-'), qPrintable(picture.file));
      QVERIFY2(picture.description.size() >= 20, qPrintable(picture.file));
      QFile file(folderOfTheGuide() + picture.file), resource(":/guide/" + picture.file);
      QVERIFY2(file.open(QIODevice::ReadOnly) && resource.open(QIODevice::ReadOnly),
               qPrintable(picture.file));
      QVERIFY2(file.size() <= most_bytes_of_a_picture, qPrintable(picture.file));
      together += file.size();
      const QByteArray bytes = file.readAll();
      QVERIFY2(bytes == resource.readAll(), qPrintable(picture.file + " differs from the program's"));
      const QSize size = QImage::fromData(bytes, "PNG").size();
      QVERIFY2(!size.isEmpty() && size.boundedTo(window_size) == size, qPrintable(picture.file));
    }
    QVERIFY(together <= most_bytes_together);
    QVERIFY(named.size() >= 10);
    QStringList present = QDir(folderOfTheGuide()).entryList({"*.png"});
    present.sort();
    named.sort();
    QCOMPARE(present, named);
  }

  void eachPagesPictures_data() {
    using Scene = void (TestGuidePictures::*)();
    const std::pair<const char*, Scene> scenes[] = {
        {"first-steps", &TestGuidePictures::firstSteps},
        {"stopping", &TestGuidePictures::stopping},
        {"why", &TestGuidePictures::why},
        {"what-if", &TestGuidePictures::whatIfPage},
        {"whole-runs", &TestGuidePictures::wholeRuns},
        {"traces-and-attach", &TestGuidePictures::tracesAndAttach},
        {"devices", &TestGuidePictures::devices},
        {"teaching", &TestGuidePictures::teaching}};
    QTest::addColumn<std::function<void()>>("scene");
    QStringList pages;
    for (const auto& [page, scene] : scenes) {
      QTest::newRow(page) << std::function<void()>([this, scene = scene] { (this->*scene)(); });
      pages << page;
    }
    for (const PagePicture& picture : picturesOfTheGuide())
      QVERIFY2(pages.contains(picture.page), qPrintable(picture.file + " is made by no scene"));
  }
  void eachPagesPictures() {
    QFETCH(std::function<void()>, scene);
    saved_.clear();
    scene();
    if (QTest::currentTestFailed()) return;
    QStringList wanted = picturesOf(QTest::currentDataTag());
    wanted.sort();
    saved_.sort();
    QCOMPARE(saved_, wanted);
  }
};

Q_DECLARE_METATYPE(std::function<void()>)

TAPEDECK_TEST(TestGuidePictures)
#include "tst_guide_pictures.moc"
