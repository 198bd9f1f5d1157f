// What libnccl.so.2 shows to the linker: the functions of nccl.h under both names, and nothing
// else.
#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>

namespace {

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe != nullptr) {
    const size_t got = fread(part.data(), 1, part.size(), pipe.get());
    if (got == 0) break;
    text.append(part.data(), got);
  }
  return text;
}

// The first group of every match.
std::set<std::string> all_matches(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

std::string contents_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> functions_of_header() {
  return all_matches(contents_of(ACCL_NCCL_HEADER),
                     "\n(?:ncclResult_t|const char\\*|void) (p?nccl[A-Za-z0-9]+)\\(");
}

TEST(AbiTest, HeaderDeclaresEachFunctionUnderBothNames) {
  const std::set<std::string> functions = functions_of_header();
  EXPECT_EQ(functions.size(), 128u);
  for (const std::string& name : functions) {
    const std::string twin = name.starts_with("p") ? name.substr(1) : "p" + name;
    EXPECT_TRUE(functions.contains(twin)) << name << " has no twin";
  }
}

TEST(AbiTest, LibraryExportsTheFunctionsOfTheHeaderAndNothingElse) {
  const std::string symbols = output_of(std::string("nm -D --defined-only ") + ACCL_NCCL_LIBRARY);
  std::map<std::string, char> exported;
  const std::regex line("[0-9a-f]+ (\\S) (\\S+)\n");
  for (std::sregex_iterator match(symbols.begin(), symbols.end(), line), end; match != end;
       ++match) {
    exported[(*match)[2]] = (*match)[1].str()[0];
  }
  const auto lines = static_cast<size_t>(std::count(symbols.begin(), symbols.end(), '\n'));
  EXPECT_EQ(exported.size(), lines) << symbols;
  const std::set<std::string> functions = functions_of_header();
  for (const std::string& name : functions) {
    ASSERT_TRUE(exported.contains(name)) << name << " is declared and not exported";
    EXPECT_EQ(exported[name], name.starts_with("pnccl") ? 'T' : 'W') << name;
  }
  for (const auto& [name, kind] : exported) {
    EXPECT_TRUE(functions.contains(name)) << name << " (" << kind << ") is exported, not declared";
  }
}

TEST(AbiTest, NameAndDependenciesOfTheLibrary) {
  const std::string text = output_of(std::string("readelf -d -V ") + ACCL_NCCL_LIBRARY);
  EXPECT_EQ(all_matches(text, "Library soname: \\[([^\\]]+)\\]"),
            std::set<std::string>{"libnccl.so.2"});
  EXPECT_EQ(text.find("Version definition section"), std::string::npos)
      << "NCCL's symbols carry no versions";
  for (const std::string& needed : all_matches(text, "Shared library: \\[([^\\]]+)\\]")) {
    EXPECT_EQ(needed.find("fmt"), std::string::npos) << needed << ": fmt is header-only here";
    EXPECT_EQ(needed.find("cuda"), std::string::npos) << needed;
  }
}

// docs/compat.md has a row with a known word for every function and every field of ncclConfig_t.
TEST(AbiTest, CompatibilityTableIsComplete) {
  const std::string document = contents_of(ACCL_COMPAT_DOCUMENT);
  const std::set<std::string> rows = all_matches(
      document, "\n\\| `(nccl\\w+)` \\| (?:implemented|accepted without effect|refused) \\|");
  std::set<std::string> functions;
  for (const std::string& name : functions_of_header()) {
    if (name.starts_with("nccl")) functions.insert(name);
  }
  EXPECT_EQ(rows, functions);
  const std::string header = contents_of(ACCL_NCCL_HEADER);
  const size_t begin = header.find("typedef struct ncclConfig_v");
  const std::string config = header.substr(begin, header.find("ncclConfig_t;", begin) - begin);
  const std::set<std::string> fields = all_matches(config, "\n  [a-z][a-z_ *]*[ *](\\w+);");
  EXPECT_EQ(fields.size(), 15u);
  for (const std::string& field : fields) {
    EXPECT_NE(document.find("\n| `" + field + "` | 2."), std::string::npos) << field;
  }
}

}  // namespace
