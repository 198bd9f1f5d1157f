#include "src/config/form.h"

#include <gtest/gtest.h>

#include <string>

namespace accl::form {
namespace {

TEST(FormTest, FlagTakesOnlyZeroAndOne) {
  bool value = false;
  EXPECT_TRUE(Flag{}.read("1", &value));
  EXPECT_TRUE(value);
  EXPECT_TRUE(Flag{}.read("0", &value));
  EXPECT_FALSE(value);
  for (const char* text : {"2", "-1", "true", "1 ", " 1", "01", "on"}) {
    EXPECT_FALSE(Flag{}.read(text, &value)) << text;
  }
}

TEST(FormTest, SecondsWithDecimals) {
  constexpr Seconds form{.least_ms = 1, .zero_means = ""};
  int64_t value_ms = 0;
  const auto milliseconds = [&](const char* text) {
    return form.read(text, &value_ms) ? value_ms : -1;
  };
  EXPECT_EQ(milliseconds("300"), 300'000);
  EXPECT_EQ(milliseconds("0.5"), 500);
  EXPECT_EQ(milliseconds("1.05"), 1'050);
  EXPECT_EQ(milliseconds("0.001"), 1);
  for (const char* text : {"0", "0.0", "-1", "-0.5", "0.-5", "1.", ".5", "1.0005", "1e3", "30s", "",
                           "1.5.2", "inf", "nan", "99999999999999999999"}) {
    EXPECT_EQ(milliseconds(text), -1) << text;
  }
  EXPECT_EQ(form.print(300'000), "300");
  EXPECT_EQ(form.print(1'050), "1.05");
  EXPECT_EQ(form.print(1), "0.001");
  EXPECT_EQ(form.allowed(), "seconds, such as 30 or 0.5, at least 0.001");
  EXPECT_EQ((Seconds{.zero_means = "never"}).allowed(), "seconds, such as 30 or 0.5; 0: never");
}

TEST(FormTest, WordInAnyCase) {
  enum class Fruit { kApple, kPear };
  constexpr Word<Fruit, 2> form{{{{"APPLE", Fruit::kApple}, {"pear", Fruit::kPear}}}};
  Fruit fruit = Fruit::kApple;
  EXPECT_TRUE(form.read("Pear", &fruit));
  EXPECT_EQ(fruit, Fruit::kPear);
  EXPECT_FALSE(form.read("pea", &fruit));
  EXPECT_FALSE(form.read("pears", &fruit));
  EXPECT_FALSE(form.read("", &fruit));
  EXPECT_EQ(form.print(Fruit::kApple), "APPLE");
  EXPECT_EQ(form.allowed(), "one of APPLE, pear");
}

TEST(FormTest, Subsystems) {
  uint32_t mask = 0;
  EXPECT_TRUE(Subsystems{}.read("init,net", &mask));
  EXPECT_EQ(Subsystems{}.print(mask), "INIT,NET");
  EXPECT_FALSE(Subsystems{}.read("INIT NET", &mask));
  EXPECT_EQ(Subsystems{}.allowed(),
            "a list of INIT,COLL,P2P,SHM,NET,GRAPH,TUNING,ENV,ALLOC,CALL,PROXY,NVLS,BOOTSTRAP,REG,"
            "PROFILE,RAS,DESTROY,ALLOC_HOST, or ALL; a leading ^ means all others");
}

}  // namespace
}  // namespace accl::form
