// The language in which records are looked for: what a text means, and that no text does harm.
#include <QtTest>
#include <random>

#include "engine/protocol/record_filter.h"
#include "tests/test_program.h"

using namespace tapedeck::protocol;

namespace {

Record a_record() {
  Record record;
  record.op = "MatMul";
  record.scope = "net/Größe eins";
  record.cell = "a1b2";
  record.file = "/home/ada/my file.py";
  record.call = "net(x,\n    'a  b',  # the input\n)";
  record.inputs.resize(2);
  record.inputs[0].name = "W:0";
  record.outputs.resize(1);
  record.outputs[0].name = "ΔE";
  return record;
}

bool finds(const char* text, const Record& record = a_record()) {
  return matches(parse_filter(text), record, {{"a1b2", "[17]"}, {"other", "[3]"}});
}

}  // namespace

class TestRecordFilter : public QObject {
  Q_OBJECT
 private slots:
  void words_are_looked_for_in_every_part_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<bool>("expected");
    const auto row = [](const char* text, bool expected) {
      QTest::newRow(*text ? text : "nothing") << QByteArray(text) << expected;
    };
    row("", true);
    row("  \t\n ", true);
    row("matmul", true);
    row("MATMUL", true);
    row("atmu", true);
    row("matmul relu", false);
    row("forward w:0", true);
    row("vjp", false);
    row("[17]", true);
    row("[3]", false);
    row("a1b2", false);  // the cell goes by its label
    row("größe", true);
    row("GRÖSSE", false);
    row("GRÖßE", true);
    row("δe", true);
    row("my", true);
    row("op:matmul", true);
    row("OP:MatMul", true);
    row("op:net", false);
    row("scope:net", true);
    row("scope:matmul", false);
    row("cell:17", true);
    row("file:ada", true);
    row("file:net", false);
    row("name:w", true);
    row("name:matmul", false);
    row("call:net", true);
    row("call:\"net(x, 'a  b',\"", true);
    row("call:input", false);  // a comment
    row("call:matmul", false);
    row("call:net*", true);
    row("call:*net", false);
    row("call:", true);
    row("'a", false);  // a word alone looks at no call
    row("kind:forward", true);
    row("kind:playback", false);
    row("is:forward", true);
    row("is:f", true);
    row("is:orward", false);
    row("is:backward", false);
    row("is:done", true);
    row("is:running", false);
    row("is:", true);
    row("op:", true);
    row("opp:matmul", false);
    row("\"größe eins\"", true);
    row("\"eins größe\"", false);
    row("scope:\"größe eins\"", true);
    row("scope:\"größe eins", true);
    row("\"op:matmul\"", false);  // quoted, it is a word as it is
    row("\"", true);
    row("\"\"", true);
    row("mat\"mul", false);
  }
  void words_are_looked_for_in_every_part() {
    QFETCH(QByteArray, text);
    QFETCH(bool, expected);
    QCOMPARE(finds(text.constData()), expected);
  }

  // A name's last part is a name, too; that of a file is none.
  void what_python_calls_model_w_is_called_w() {
    const TextTerm w{FilterPart::writes, "w1", true};
    QVERIFY(w.finds(FilterPart::writes, "model.W1"));
    QVERIFY(w.finds(FilterPart::writes, "W1:0"));
    QVERIFY(!w.finds(FilterPart::writes, "model.w1.other"));
    QVERIFY(!w.finds(FilterPart::writes, "model.aw1"));
    const TextTerm file{FilterPart::file, "py", true};
    QVERIFY(!file.finds(FilterPart::file, "train.py"));
  }

  void states_and_directions_are_told_apart() {
    Record record = a_record();
    record.backward = true;
    record.kind = RecordKind::vjp;
    record.custom_gradient = true;
    record.state = RecordState::failed;
    QVERIFY(finds("is:backward is:failed vjp custom", record));
    QVERIFY(!finds("is:forward", record));
    QVERIFY(!finds("is:done", record));
  }

  void bookmarks_are_known_by_number() {
    Record record = a_record();
    record.number = 7;
    const std::vector<std::uint64_t> marked{3, 7, 90};
    const auto marks = [&](const char* text) { return matches(parse_filter(text), record, {}, marked); };
    QVERIFY(marks("bookmarked"));
    QVERIFY(marks("matmul bookmarked"));
    QVERIFY(marks("matmul and not (bookmarked and failed)"));
    QVERIFY(!marks("not bookmarked"));
    QVERIFY(!marks("bookmarked and op:add"));
    record.number = 8;
    QVERIFY(!marks("bookmarked"));
    QVERIFY(!finds("bookmarked", record));
    QVERIFY(asks_for_bookmarks(parse_filter("add or not bookmarked")));
    // Quotes make a word of it.
    QVERIFY(!asks_for_bookmarks(parse_filter("\"bookmarked\"")));
    QCOMPARE(filter_problem("bookmarked"), std::string());
  }

  // What does not fit the language is looked for word by word; what only ends too early means what is there.
  void unfinished_texts_mean_what_is_there() {
    QVERIFY(finds("matmul and"));
    QVERIFY(finds("matmul or"));
    QVERIFY(finds("(matmul or rel"));
    QVERIFY(finds("matmul record>"));
    QVERIFY(finds("matmul and not"));
    QVERIFY(finds("matmul max(abs("));
    QVERIFY(finds("matmul shape:("));
    QVERIFY(!finds("relu and"));
    QVERIFY(!finds("matmul )"));
    QVERIFY(finds("or"));  // a word of "forward op"
    QVERIFY(filter_problem("matmul and").empty());
    QVERIFY(filter_problem("matmul )").ends_with("The text is searched for word by word."));
  }

  void what_is_not_recorded_is_refused_with_a_sentence() {
    QVERIFY(filter_problem("out.rank > 2 or loss rose").find("breakpoints") != std::string::npos);
    for (const char* text : {"nan(out)", "op:add max(in0) > 3", "out.size > 2*max(in0)", "not zeros(out)"}) {
      QVERIFY2(filter_problem(text).empty(), text);
      QVERIFY2(asks_for_values(parse_filter(text)), text);
    }
    for (const char* text : {"out.rank > 2", "matmul", "line:7 or bytes>1M", "out.shape != in0.shape"}) {
      QVERIFY2(filter_problem(text).empty(), text);
      QVERIFY2(!asks_for_values(parse_filter(text)), text);
    }
    for (const char* text :
         {"step == 30", "matmul and mode != 'train'", "max(out) > limit", "step % 3 == 1 or relu"}) {
      QVERIFY2(filter_problem(text).find("they work in breakpoints only") != std::string::npos, text);
      QVERIFY2(filter_problem(text).find("are not recorded") != std::string::npos, text);
    }
    QVERIFY(!finds("step == 30"));
    QVERIFY(!finds("not step == 30"));
    Record record = a_record();
    record.outputs[0].dtype = "float32";
    QVERIFY(!finds("nan(out)", record));
    QVERIFY(!finds("not nan(out)", record));
  }

  void numbers_shapes_and_logic() {
    Record record = a_record();
    record.number = 120;
    record.line = 7;
    record.duration_ns = 2'000'000;
    record.inputs[0].dtype = "float32";
    record.inputs[0].shape = {10000, 784};
    record.outputs[0].dtype = "float32";
    record.outputs[0].shape = {10000, 196};
    const struct {
      const char* text;
      bool expected;
    } rows[] = {{"record>100", true},
                {"record >= 121", false},
                {"record != 120", false},
                {"line:7", true},
                {"line:7-12", true},
                {"line:8-12", false},
                {"duration>1ms", true},
                {"duration > 3 or duration<1s", true},
                {"duration>2001us", false},
                {"bytes>7M", true},
                {"bytes>7.6M", true},
                {"bytes>8M", false},
                {"shape:784", true},
                {"shape:785", false},
                {"shape:(10000,784)", true},
                {"shape:(10000, 783)", false},
                {"shape:(*,196)", true},
                {"dtype:float32", true},
                {"dtype:int", false},
                {"reads:W", true},
                {"reads:w:0", true},
                {"reads:V", false},
                {"writes:W", false},
                {"writes:\xce\x94"
                 "E",
                 true},
                {"op=matmul", true},
                {"op=mat", false},
                {"op:mat*", true},
                {"op:*pool*", false},
                {"forward", true},
                {"backward", false},
                {"not backward", true},
                {"vjp or playback or failed", false},
                {"relu or matmul", true},
                {"relu or matmul and vjp", false},
                {"(relu or matmul) and not vjp", true},
                {"not (relu or matmul)", false},
                {"out.shape != in0.shape", true},
                {"out.shape == (10000, *)", true},
                {"out.rank == 2", true},
                {"out0.size < in0.size", true},
                {"out1.size > 0", false},
                {"in.dtype == float64", false},
                {"any.dtype != float64", true}};
    for (const auto& row : rows) {
      const bool unit_missing = std::string_view(row.text).starts_with("duration > 3");
      if (!unit_missing) QVERIFY2(finds(row.text, record) == row.expected, row.text);
    }
    QVERIFY(filter_problem("duration > 3 or x").starts_with("A duration needs its unit"));
  }

  // Whatever the bytes, folding keeps them apart from each other and keeps their number.
  void folding_keeps_bytes_that_are_no_letters() {
    QCOMPARE(folded("Az0 ÄÖÜßéÉ ΑΩ ЖЁ Ā"), std::string("az0 äöüßéé αω жё ā"));
    const std::string bytes("\xc3", 1), more("\xff\xc3\x28\xe2\x82", 5);
    QCOMPARE(folded(bytes), bytes);
    QCOMPARE(folded(more), more);
  }

  void truncated_and_mutated_texts_do_no_harm() {
    const std::string text =
        "op:\"größe eins\" is:backward \xce\x94"
        "E scope:\"net\" [17] name:";
    for (std::size_t length = 0; length <= text.size(); ++length) finds(text.substr(0, length).c_str());
    std::mt19937 random(7);
    for (int round = 0; round < 20'000; ++round) {
      std::string mutated = text;
      for (int change = 0; change < 1 + round % 5; ++change)
        mutated[random() % mutated.size()] = static_cast<char>(random());
      const Condition filter = parse_filter(mutated);
      std::size_t kept = 0;
      for_each_term(filter, [&](const Condition& leaf) {
        const auto* term = std::get_if<TextTerm>(&leaf.term);
        if (!term) return;
        QVERIFY(!term->text.empty());
        kept += term->text.size();
      });
      QVERIFY(kept <= mutated.size());
      // A filter means the same wherever it is compiled.
      QVERIFY(parse_filter(mutated) == filter);
      matches(filter, a_record(), {});
    }
  }
};

TAPEDECK_TEST(TestRecordFilter)
#include "tst_record_filter.moc"
