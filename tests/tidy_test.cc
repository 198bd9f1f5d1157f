// The rules of CONTRIBUTING.md that a machine can check, over every file of the tree: sizes,
// nesting, parameters, banned calls, layers, headers, names, links of the documents.
//
// It reads text, not syntax trees: simple rules that hold for the style of this code base. Each
// rule is first tried on text that breaks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int kFunctionLines = 70;
constexpr int kFileLines = 600;
constexpr int kParameters = 5;
constexpr int kNesting = 4;

struct Source {
  std::string path;  ///< from the root of the tree
  std::string text;
  std::string code;  ///< the text with comments and the insides of literals blanked
};

/// Blanks comments and what stands in quotes; keeps every newline.
std::string blank_comments_and_strings(const std::string& text) {
  std::string code = text;
  const auto blank = [&code](size_t from, size_t to) {
    for (size_t i = from; i < to && i < code.size(); ++i)
      if (code[i] != '\n') code[i] = ' ';
  };
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (text.compare(i, 2, "/*") == 0) {
      end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      blank(i, end);
    } else if (text.compare(i, 2, "R\"") == 0 && text.find('(', i) != std::string::npos) {
      const size_t open = text.find('(', i);
      const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
      end = std::min(text.find(close, open), text.size() - close.size()) + close.size();
      blank(i + 2, end - 1);
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || std::isalnum(text[i - 1]) == 0))) {
      while (end < text.size() && text[end] != text[i])
        end += text[end] == '\\' ? size_t{2} : size_t{1};
      blank(i + 1, end);
      ++end;
    }
    i = end;
  }
  return code;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All files that belong to the project, sorted.
std::vector<Source> load_tree() {
  const fs::path root = ACCL_SOURCE_DIR;
  std::vector<Source> sources;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    const std::string path = fs::relative(it->path(), root).generic_string();
    const std::string name = it->path().filename().string();
    if (it->is_directory()) {
      const bool hidden = name[0] == '.' && name != ".ci";
      if (hidden || name == "build" || name == "shared" || name == "__pycache__")
        it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file() || name[0] == '.') continue;
    Source source{path, read(it->path()), {}};
    source.code = blank_comments_and_strings(source.text);
    sources.push_back(std::move(source));
  }
  std::sort(sources.begin(), sources.end(),
            [](const Source& a, const Source& b) { return a.path < b.path; });
  return sources;
}

const std::vector<Source>& tree() {
  static const std::vector<Source> sources = load_tree();
  return sources;
}

bool ends_with_any(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}
bool starts_with_any(std::string_view path, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return path.starts_with(beginning); });
}
bool is_code(const Source& source) { return ends_with_any(source.path, {".cc", ".h", ".c"}); }

size_t line_of(const std::string& text, size_t offset) {
  return 1 + static_cast<size_t>(
                 std::count(text.begin(), text.begin() + static_cast<long>(offset), '\n'));
}

struct Function {
  std::string name;
  size_t line = 0;
  int lines = 0;
  int parameters = 0;
  int nesting = 0;
};

/// How many parameters stand in `header`, from its first '(' that follows a name.
int count_parameters(const std::string& header) {
  const size_t open = header.find('(');
  int depth = 0;
  int commas = 0;
  bool any = false;
  for (size_t i = open; i < header.size(); ++i) {
    const char c = header[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}' || (c == '>' && header[i - 1] != '-')) --depth;
    if (depth == 0) break;
    if (depth == 1 && c == ',') ++commas;
    if (i > open && std::isspace(static_cast<unsigned char>(c)) == 0) any = true;
  }
  return any ? commas + 1 : 0;
}

/// Finds the functions of blanked code by its braces.
class Scanner {
 public:
  explicit Scanner(const std::string& code) : code_(code) {}

  std::vector<Function> scan() {
    for (size_t i = 0; i < code_.size(); ++i) {
      const char c = code_[i];
      if (c == '#' && (i == 0 || code_[i - 1] == '\n')) {
        i = skip_directive(i);
        statement_ = i + 1;
      }
      if (c == '(') ++parentheses_;
      if (c == ')') --parentheses_;
      if (c == '{') open(i);
      if (c == '}') close(i);
      if ((c == ';' && parentheses_ == 0) || c == '}') statement_ = i + 1;
      if (c == '{' && parentheses_ == 0) statement_ = i + 1;
    }
    return functions_;
  }

 private:
  enum class Kind { kScope, kFunction, kControl, kOther };
  struct Block {
    Kind kind;
    int parentheses;
  };

  size_t skip_directive(size_t i) const {
    while (i < code_.size() && (code_[i] != '\n' || code_[i - 1] == '\\')) ++i;
    return i;
  }

  void open(size_t at) {
    const std::string header = code_.substr(statement_, at - statement_);
    static const std::regex scope(R"(\b(namespace|class|struct|union|enum|extern)\b)");
    static const std::regex control(R"(^\s*(\}?\s*else\b|if|for|while|switch|do|try|catch)\b)");
    static const std::regex value(R"((=|\breturn\b.*|,)\s*$)");
    static const std::regex attribute(R"(\b(alignas|__attribute__|decltype)\s*\([^()]*\))");
    Kind kind = Kind::kOther;
    const bool inside = std::any_of(blocks_.begin(), blocks_.end(), [](const Block& block) {
      return block.kind == Kind::kFunction;
    });
    static const std::regex list(R"([\w>\]=+*/<-]\s*\()");
    const std::string plain = std::regex_replace(header, attribute, "");
    const bool has_list = std::regex_search(plain, list);
    if (inside) {
      if (std::regex_search(header, control)) kind = Kind::kControl;
    } else if (has_list && parentheses_ == 0 && !std::regex_search(header, value)) {
      kind = Kind::kFunction;
      begin_function(plain);
    } else if (std::regex_search(header, scope)) {
      kind = Kind::kScope;
    }
    if (kind == Kind::kControl) {
      const auto depth = 1 + std::count_if(blocks_.begin(), blocks_.end(), [](const Block& block) {
                           return block.kind == Kind::kControl;
                         });
      current_.nesting = std::max(current_.nesting, static_cast<int>(depth));
    }
    blocks_.push_back({kind, parentheses_});
    parentheses_ = 0;
  }

  void begin_function(const std::string& header) {
    static const std::regex name(R"(([~\w:]+)\s*\()");
    std::smatch match;
    current_ = {};
    if (std::regex_search(header, match, name)) current_.name = match[1];
    size_t begin = statement_;
    while (begin < code_.size() && std::isspace(static_cast<unsigned char>(code_[begin])) != 0)
      ++begin;
    current_.line = line_of(code_, begin);
    current_.parameters = count_parameters(header);
  }

  void close(size_t at) {
    if (blocks_.empty()) return;
    const Block block = blocks_.back();
    blocks_.pop_back();
    parentheses_ = block.parentheses;
    if (block.kind != Kind::kFunction) return;
    current_.lines = static_cast<int>(line_of(code_, at) - current_.line) + 1;
    functions_.push_back(current_);
  }

  const std::string& code_;
  size_t statement_ = 0;
  int parentheses_ = 0;
  std::vector<Block> blocks_;
  Function current_;
  std::vector<Function> functions_;
};

std::vector<Function> functions_of(const std::string& text) {
  const std::string code = blank_comments_and_strings(text);
  return Scanner(code).scan();
}

std::string place(const Source& source, size_t line) {
  return source.path + ":" + std::to_string(line) + ": ";
}

TEST(Scanner, SeesSizesOfFunctions) {
  const auto found = functions_of(
      "namespace a {\nstruct S { int x = 0; };\n// not { this\nint f(int a, std::pair<int, int> b) "
      "{\n  if (a) {\n    for (;;) {\n      g(\"}\");\n    }\n  }\n  auto l = [&] { return 1; };\n"
      "  return 0;\n}\n}  // namespace a\n");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "f");
  EXPECT_EQ(found[0].line, 4U);
  EXPECT_EQ(found[0].lines, 9);
  EXPECT_EQ(found[0].parameters, 2);
  EXPECT_EQ(found[0].nesting, 2);
}

TEST(Scanner, SeesMembersAndInitializers) {
  const auto found = functions_of(
      "class C {\n public:\n  C(int a) : a_(a), b_{1, 2} {}\n  int get() const { return a_; }\n"
      "  std::array<int, 2> table = {1, 2};\n};\n");
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0].name, "C");
  EXPECT_EQ(found[0].parameters, 1);
  EXPECT_EQ(found.back().name, "get");
}

TEST(Tidy, FunctionsAndFilesAreSmall) {
  // The functions of nccl.h and their twins have the parameters that NCCL gave them.
  static const std::regex nccl_name(R"((.*::)?p?nccl[A-Z]\w*)");
  for (const Source& source : tree()) {
    if (!is_code(source)) continue;
    const auto lines = std::count(source.text.begin(), source.text.end(), '\n');
    if (source.path != "include/accl/nccl.h") {
      EXPECT_LE(lines, kFileLines) << source.path << " is too long";
    }
    for (const Function& function : functions_of(source.text)) {
      const std::string where = place(source, function.line) + function.name;
      EXPECT_LE(function.lines, kFunctionLines) << where << " is too long";
      EXPECT_LE(function.nesting, kNesting) << where << " is nested too deeply";
      if (!std::regex_match(function.name, nccl_name) && !function.name.starts_with("TEST")) {
        EXPECT_LE(function.parameters, kParameters) << where << " has too many parameters";
      }
    }
  }
}

struct Ban {
  const char* pattern;
  const char* instead;
  std::vector<std::string_view> where;
  std::vector<std::string_view> homes;
};

const std::vector<Ban>& bans() {
  static const std::vector<Ban> list = {
      {R"(\bgetenv\s*\()",
       "settings are rows of src/config/config.h",
       {"src/", "device/", "transport/", "bench/"},
       {"src/config/", "device/host/settings.cc", "bench/perf/options.cc"}},
      {R"(\b(printf|fprintf|puts|cout|cerr)\b|fmt::print\b)",
       "the library speaks through src/base/log.h",
       {"src/", "device/", "transport/"},
       {"src/base/log.cc", "src/base/assert.cc", "src/config/env_document.cc", "src/tools/"}},
      {R"((^|[^.\w>])::sleep\s*\(|\b(usleep|nanosleep|sleep_for|sleep_until)\s*\()",
       "wait for an event, or with src/engine/patience.h",
       {"src/", "device/", "transport/", "bench/"},
       {"src/engine/patience.h"}},
      {R"(\b(rand|srand)\s*\(|\brandom_device\b)",
       "use src/base/rng.h",
       {"src/", "device/", "transport/", "bench/", "tests/"},
       {"src/base/rng.h"}},
      {R"(\bstd::j?thread\b)",
       "use src/base/thread.h",
       {"src/", "device/", "transport/"},
       {"src/base/thread.h"}},
      {R"(\bsystem_clock\b)",
       "use src/base/clock.h",
       {"src/", "device/", "transport/", "bench/", "tests/"},
       {"src/base/clock.h"}},
      {R"(\bgoto\b)", "restructure", {"src/", "device/", "transport/", "bench/", "tests/"}, {}},
      {R"(\b_mm_pause\b|__builtin_ia32_pause)",
       "a paused core of a virtual machine may lose its time slice",
       {"src/", "device/", "transport/", "bench/"},
       {}},
  };
  return list;
}

TEST(Tidy, BannedCallsAreOnlyInTheirHomes) {
  EXPECT_TRUE(std::regex_search("std::printf(\"x\")", std::regex(bans()[1].pattern)));
  for (const Ban& ban : bans()) {
    const std::regex pattern(ban.pattern);
    for (const Source& source : tree()) {
      if (!is_code(source) || !starts_with_any(source.path, ban.where)) continue;
      if (starts_with_any(source.path, ban.homes)) continue;
      std::smatch match;
      if (std::regex_search(source.code, match, pattern))
        ADD_FAILURE() << place(source, line_of(source.code, static_cast<size_t>(match.position())))
                      << "'" << match.str() << "': " << ban.instead;
    }
  }
}

TEST(Tidy, NothingIsLeftForLater) {
  // Written so that this file does not contain the words.
  static const std::regex later(std::string("\\b(TO") + "DO|FIX" + "ME|XX" +
                                "X)\\b(?!\\(#\\d+\\))");
  EXPECT_TRUE(std::regex_search(std::string("// TO") + "DO: more", later));
  for (const Source& source : tree()) {
    std::smatch match;
    if (is_code(source) && std::regex_search(source.text, match, later))
      ADD_FAILURE() << place(source, line_of(source.text, static_cast<size_t>(match.position())))
                    << match.str() << " without an issue number";
  }
}

/// Layers, lowest first; a folder belongs to the first one whose beginning it has.
int layer_of(std::string_view path) {
  if (starts_with_any(path, {"src/base/", "src/config/"})) return 0;
  if (starts_with_any(path, {"src/topology/", "src/plan/", "src/tuner/"})) return 1;
  if (starts_with_any(path, {"transport/", "device/"})) return 2;
  if (starts_with_any(path, {"src/comm/", "src/engine/", "src/bootstrap/", "src/control/",
                             "src/ras/", "src/plugin/"}))
    return 3;
  if (starts_with_any(path, {"src/api/"})) return 4;
  return 5;  // tools, tests, benches, examples: may see everything
}

/// Why `from` must not include `to`; empty when it may.
std::string broken_layer(std::string_view from, std::string_view to) {
  if (layer_of(to) == 5 || layer_of(from) == 5) return {};
  if (layer_of(to) > layer_of(from)) return "includes a higher layer";
  const bool between_ports = (from.starts_with("transport/") && to.starts_with("device/")) ||
                             (from.starts_with("device/") && to.starts_with("transport/"));
  // device/reduce.h is an interface, and the in-process transport copies with it.
  if (between_ports && to != "device/reduce.h") return "transport and device meet in src/base only";
  if (layer_of(from) <= 2) return {};
  // What a communicator owns of shared memory is a resource; the ends in it are the transports'.
  const bool memory = to == "transport/shm/segment.h" || to == "transport/shm/staging_pool.h";
  const bool concrete = to.starts_with("device/host/") ||
                        (to.starts_with("transport/") && to != "transport/transport.h");
  const bool may_name = from.starts_with("src/api/world.") || from == "src/comm/connect.cc" ||
                        from.starts_with("src/comm/sockets.");
  if (concrete && !memory && !may_name)
    return "only the world, src/comm/connect.cc and sockets.* name concrete transports and devices";
  return {};
}

TEST(Tidy, IncludesPointDownTheLayers) {
  EXPECT_NE(broken_layer("src/base/log.cc", "src/plan/program.h"), "");
  EXPECT_NE(broken_layer("src/plan/ring.cc", "transport/transport.h"), "");
  EXPECT_NE(broken_layer("transport/shm/shm.cc", "device/device.h"), "");
  EXPECT_EQ(broken_layer("src/engine/executor.cc", "transport/transport.h"), "");
  static const std::regex include("#include \"([^\"]+)\"");
  for (const Source& source : tree()) {
    if (!is_code(source)) continue;
    for (std::sregex_iterator it(source.text.begin(), source.text.end(), include), end; it != end;
         ++it) {
      const std::string trouble = broken_layer(source.path, (*it)[1].str());
      EXPECT_EQ(trouble, "") << place(source,
                                      line_of(source.text, static_cast<size_t>(it->position())))
                             << (*it)[1].str();
    }
  }
}

TEST(Tidy, HeadersOpenWithACommentAndAreIncludedOnce) {
  for (const Source& source : tree()) {
    if (!source.path.ends_with(".h")) continue;
    EXPECT_TRUE(source.text.starts_with("//") || source.text.starts_with("/*"))
        << source.path << " does not say what it is for";
    if (starts_with_any(source.path, {"src/", "device/", "transport/", "include/", "bench/"})) {
      EXPECT_NE(source.text.find("#pragma once"), std::string::npos) << source.path;
    }
  }
}

TEST(Tidy, NamesAreSnakeCase) {
  static const std::regex snake("[a-z0-9_]+\\.(cc|h|c)");
  for (const Source& source : tree()) {
    if (!is_code(source)) continue;
    EXPECT_TRUE(std::regex_match(fs::path(source.path).filename().string(), snake)) << source.path;
  }
}

TEST(Tidy, NoPathsOfAMachine) {
  const std::array<std::string, 3> paths = {
      std::string("/wor") + "k/", std::string("/tmp/") + "accl/", std::string("/ho") + "me/"};
  for (const Source& source : tree())
    for (const std::string& path : paths) {
      const size_t at = source.text.find(path);
      // docs and comments may speak of "~" and $HOME, never of one machine's folders
      EXPECT_EQ(at, std::string::npos)
          << place(source, line_of(source.text, std::min(at, source.text.size()))) << "names "
          << path;
    }
}

TEST(Tidy, LinksOfDocumentsAreAlive) {
  static const std::regex link(R"(\]\(([^)#\s]+)(#[^)]*)?\))");
  const fs::path root = ACCL_SOURCE_DIR;
  int checked = 0;
  for (const Source& source : tree()) {
    if (!source.path.ends_with(".md")) continue;
    for (std::sregex_iterator it(source.text.begin(), source.text.end(), link), end; it != end;
         ++it) {
      const std::string target = (*it)[1].str();
      if (target.find("://") != std::string::npos) continue;
      ++checked;
      EXPECT_TRUE(fs::exists(root / fs::path(source.path).parent_path() / target))
          << place(source, line_of(source.text, static_cast<size_t>(it->position()))) << target;
    }
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
