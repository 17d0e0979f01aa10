// SPDX-License-Identifier: Apache-2.0
// The form of saved states: what is not whole, or of another version, is refused.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "daemon/restart/image.h"

namespace lossless::restart {
namespace {

RC_GTEST_PROP(RestartImage, ComesBack, (const Bytes& body, std::uint16_t version)) {
  const Bytes image = wrap(Kind::Inof, version, body);
  const auto back = unwrap(image, Kind::Inof, version);
  RC_ASSERT(back.has_value());
  RC_ASSERT(std::ranges::equal(*back, body));
}

RC_GTEST_PROP(RestartImage, AnyChangedBitIsFound, (const Bytes& body, std::uint32_t at)) {
  Bytes image = wrap(Kind::Bgp, 1, body);
  const std::size_t bit = at % (image.size() * 8);
  image[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
  RC_ASSERT(!unwrap(image, Kind::Bgp, 1).has_value());
}

TEST(RestartImage, SaysWhatIsWrong) {
  const Bytes image = wrap(Kind::Bgp, 1, Bytes(100, 7));
  EXPECT_EQ(unwrap(image, Kind::Bgp, 2).error(), "its version is 1, this losslessd reads 2");
  EXPECT_EQ(unwrap(image, Kind::Bfd, 1).error(), "it is of another subject");
  EXPECT_EQ(unwrap(ByteView(image).first(99), Kind::Bgp, 1).error(), "it is cut short");
  EXPECT_EQ(unwrap(ByteView(image).first(27), Kind::Bgp, 1).error(), "it is cut short");
  EXPECT_EQ(unwrap({}, Kind::Bgp, 1).error(), "it is no saved state");
  Bytes behind = image;
  behind.resize(8192);
  EXPECT_TRUE(unwrap(behind, Kind::Bgp, 1)) << "a file is longer than what is in it";
}

TEST(RestartImage, ValuesComeBack) {
  Writer out;
  const std::uint8_t v4[] = {10, 0, 0, 1};
  out.u64(UINT64_MAX).flag(true).text("a name").address(IpAddress::v4_of(v4));
  out.time(std::optional<std::chrono::microseconds>()).time(std::chrono::microseconds(7));
  const Bytes bytes = out.take();
  Reader in(bytes);
  EXPECT_EQ(in.u64(), UINT64_MAX);
  EXPECT_TRUE(in.flag());
  EXPECT_EQ(in.text(), "a name");
  EXPECT_EQ(in.address(), IpAddress::v4_of(v4));
  EXPECT_FALSE(in.optional_time());
  EXPECT_EQ(in.time().count(), 7);
  EXPECT_TRUE(in.ok() && in.at_end());
  (void)in.u8();
  EXPECT_FALSE(in.ok());
}

TEST(RestartImage, CountsBeyondWhatIsThereAreRefused) {
  Writer out;
  out.u32(0x7fffffff).u32(1);
  const Bytes bytes = out.take();
  Reader in(bytes);
  EXPECT_EQ(in.count(1), 0U);
  EXPECT_FALSE(in.ok());
  Writer flags;
  flags.u8(2);
  const Bytes two = flags.take();
  Reader flag(two);
  (void)flag.flag();
  EXPECT_FALSE(flag.ok());
}

}  // namespace
}  // namespace lossless::restart
