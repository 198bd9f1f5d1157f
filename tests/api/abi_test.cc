// What libnccl.so.2 shows to the linker: the functions of nccl.h under both names, and nothing
// else.
#include <gtest/gtest.h>
#include <stdio.h>

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

std::set<std::string> functions_of_header() {
  std::ifstream file(ACCL_NCCL_HEADER);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return all_matches(text, "\n(?:ncclResult_t|const char\\*|void) (p?nccl[A-Za-z0-9]+)\\(");
}

TEST(AbiTest, HeaderDeclaresEachFunctionUnderBothNames) {
  const std::set<std::string> functions = functions_of_header();
  EXPECT_EQ(functions.size(), 128u);
  for (const std::string& name : functions) {
    if (name.starts_with("nccl")) EXPECT_TRUE(functions.contains("p" + name)) << name;
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

}  // namespace
