// SPDX-License-Identifier: Apache-2.0
// A neighbour's frame: its DCBX taken apart and put together again.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/dcbx/packet.h"

namespace lossless::test {

// Empty: all its DCBX was read, and the frame made of it is the same byte for byte (but for padding).
inline std::string fault_of_frame(ByteView frame) {
  const auto decoded = lldp::decode(frame);
  if (!decoded) return std::string(to_string(decoded.error()));
  const dcbx::Said said = dcbx::decode(decoded->packet.org);
  if (!said.faults.empty()) return said.faults.front();
  lldp::Packet packet = decoded->packet;
  // What CEE 1.00 says is not read; it stays as it is.
  std::erase_if(packet.org, [](const lldp::OrgTlv& tlv) {
    return tlv.oui == dcbx::kIeeeOui || (tlv.oui == dcbx::kCeeOui && tlv.subtype == dcbx::kCee101);
  });
  std::vector<lldp::OrgTlv> tlvs;
  if (said.ieee) tlvs = dcbx::encode(*said.ieee);
  if (said.cee) tlvs.push_back(dcbx::encode(*said.cee));
  packet.org.insert(packet.org.begin(), tlvs.begin(), tlvs.end());
  const Bytes again = lldp::encode(packet, decoded->source);
  if (again.size() > frame.size() || !std::equal(again.begin(), again.end(), frame.begin()))
    return "is not the same when it is encoded again";
  return "";
}

}  // namespace lossless::test
